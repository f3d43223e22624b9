"""Hostile `.keras` files: one line, no memory given to what they declare, nothing run."""

import io
import json
import re
import zipfile

import h5py
import keras
import numpy as np
import pytest
from keras.src.backend.common import global_state

from kerastrans.utils import model_files
from kerastrans.utils.files import load_model
from tests.attack.model_file import WEIGHTS, read, refused, write


def with_dataset(content, add):
    """An HDF5 file's content after `add(file)`."""
    file = io.BytesIO(content)
    with h5py.File(file, "a") as opened:
        add(opened)
    return file.getvalue()


def with_config(members, change):
    config = json.loads(members["config.json"])
    change(config)
    return {**members, "config.json": json.dumps(config)}


def test_the_file_as_it_is_loads(members, tmp_path):
    model = load_model(write(tmp_path / "m.keras", members))
    assert model.count_params() == 12 * 4 + 4
    assert model.optimizer.built


@pytest.mark.parametrize(
    "options",
    [{}, {"chunks": (100, 100)}, {"compression": "gzip"}],
    ids=["plain", "chunks", "gzip"],
)
def test_a_declared_size_is_refused_before_it_is_read(options, members, tmp_path, monkeypatch):
    def declare(file):
        kernel = next(
            path for path in _datasets(file) if file[path].ndim == 2 and "optimizer" not in path
        )
        del file[kernel]
        file.create_dataset(kernel, (30_000, 30_000), "float32", **options)

    weights = with_dataset(members[WEIGHTS], declare)
    path = write(tmp_path / "m.keras", {**members, WEIGHTS: weights})
    assert path.stat().st_size < 10**6  # and declares 3.6 GB

    def fail(*args):
        raise AssertionError("a dataset was read")

    monkeypatch.setattr(h5py.Dataset, "__getitem__", fail)
    peak = refused(path, re.escape("declares the shape (30000, 30000) but stores"))
    assert peak < 50e6


def _datasets(file):
    paths = []
    file.visititems(lambda path, x: paths.append(path) if isinstance(x, h5py.Dataset) else None)
    return paths


def test_weights_that_the_model_has_not_are_refused(members, tmp_path):
    def add(file):
        file["layers/dense/vars/7"] = np.zeros((11, 3), "float32")

    weights = with_dataset(members[WEIGHTS], add)
    path = write(tmp_path / "m.keras", {**members, WEIGHTS: weights})
    refused(
        path,
        r"'layers/dense/vars/7' in model.weights.h5 has shape \(11, 3\) of floats, which the model",
    )


def test_weights_outside_the_file_are_refused(members, tmp_path):
    (tmp_path / "secret").write_bytes(b"0" * 16)

    def add(file):
        file.create_dataset("x", (4,), "float32", external=[(tmp_path / "secret", 0, 16)])

    weights = with_dataset(members[WEIGHTS], add)
    refused(write(tmp_path / "m.keras", {**members, WEIGHTS: weights}), "'x' in model.weights.h5")


def test_a_model_larger_than_its_file_is_refused_before_it_is_built(tmp_path):
    model = keras.Sequential([keras.Input((10,)), keras.layers.Dense(10, name="wide")])
    model.save(tmp_path / "m.keras")
    members = read(tmp_path / "m.keras")

    def change(config):
        config["config"]["layers"][1]["config"]["units"] = 10**9  # 40 GB

    path = write(tmp_path / "wide.keras", with_config(members, change))
    refused(path, r"has shape \(10, 10\) of floats, which the model does not have")
    # And with nothing stored that does not fit.
    weights = io.BytesIO()
    h5py.File(weights, "w").close()
    path = write(path, {**with_config(members, change), WEIGHTS: weights.getvalue()})
    assert (
        refused(path, "describes 11000000000 weights, but model.weights.h5 contains 0 numbers")
        < 50e6
    )


def test_variables_that_were_put_off_stay_off(members, tmp_path):
    """The canary of the one private name: Keras lists them, and the list is as it was."""
    model = model_files._symbolic(json.loads(members["config.json"]))
    with keras.StatelessScope():
        dense = keras.layers.Dense(2)
        dense.build((None, 3))
        listed = global_state.get_global_attribute("uninitialized_variables")
        assert [id(x) for x in listed] == [id(x) for x in dense.weights]
    assert [tuple(x.shape) for x in model.weights] == [(12, 4), (4,)]
    assert all(x._value is None for x in model.weights)
    assert all(x._value is not None for x in dense.weights)


def test_a_zip_bomb_is_refused_by_its_declared_size(members, tmp_path, monkeypatch):
    bomb = {**members, WEIGHTS: bytes(2**22)}
    path = write(tmp_path / "m.keras", bomb, zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 2**15
    monkeypatch.setattr(model_files, "MAX_BYTES", 2**20)
    assert refused(path, "it unpacks to 41.* bytes, the limit is 1048576") < 2**21


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("[]", "config.json must contain a JSON object, got a list"),
        ("null", "config.json must contain a JSON object, got a NoneType"),
        ('"text"', "config.json must contain a JSON object, got a str"),
        ("{", "Expecting property name"),
        ("[" * 100_000, "recursion"),
        ("{}", None),
        ('{"class_name": "Functional"}', None),
        ('{"module": "os", "class_name": "system", "config": {}}', None),
        (
            '{"module": "keras.layers", "class_name": "Dense", "config": {"units": 2}}',
            "not a model",
        ),
        ('{"module": "keras.layers", "class_name": "JaxLayer", "config": {}}', None),
        pytest.param(
            '{"module": "keras.layers", "class_name": "TorchModuleWrapper", "config": {}}',
            None,
            marks=pytest.mark.slow,  # Keras imports PyTorch
        ),
    ],
)
def test_hostile_configurations_end_in_one_line(config, message, members, tmp_path):
    refused(write(tmp_path / "m.keras", {**members, "config.json": config}), message)


def test_a_layer_of_another_back_end_ends_in_one_line(members, tmp_path):
    other = {
        "module": "keras.layers",
        "class_name": "TorchModuleWrapper",
        "config": {"name": "other", "module": {"value": "AAAA"}},
    }

    def change(config):
        layer = config["config"]["layers"][-1]
        layer.update(other)

    refused(write(tmp_path / "m.keras", with_config(members, change)))


def test_missing_members_are_named(members, tmp_path):
    for name in ("config.json", WEIGHTS):
        rest = {key: value for key, value in members.items() if key != name}
        refused(
            write(tmp_path / "m.keras", rest), f"contains no {name}, so it is not a .keras file"
        )
