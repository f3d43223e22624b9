"""Hostile `.keras` files: one line, no memory given to what they declare, nothing run."""

import io
import json
import re
import tracemalloc
import zipfile

import h5py
import keras
import numpy as np
import pytest
from keras.src.backend.common import global_state

from kerastrans import zoo
from kerastrans.utils import model_files
from kerastrans.utils.files import load_model

WEIGHTS = "model.weights.h5"


@pytest.fixture(scope="module")
def members(tmp_path_factory):
    """Dict from the names of a compiled model's files to their content."""
    model = zoo.build("nlinear", 12, 4, 2)
    model.compile("adam", "mse")
    model.optimizer.build(model.trainable_variables)
    path = tmp_path_factory.mktemp("members") / "m.keras"
    model.save(path)
    return read(path)


def read(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(path, members, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


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


def refused(path, message):
    """Assert that loading is refused in one line with `message`; returns the peak of memory."""
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=message) as caught:
            load_model(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"cannot load {path}: ")
    return peak


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
    peak = refused(path, re.escape("declares the shape (30000, 30000) and stores"))
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
    refused(path, r"'layers/dense/vars/7' in model.weights.h5 has shape \(11, 3\), which the model")


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
    refused(path, r"has shape \(10, 10\), which the model has not")
    # And with nothing stored that does not fit.
    weights = io.BytesIO()
    h5py.File(weights, "w").close()
    path = write(path, {**with_config(members, change), WEIGHTS: weights.getvalue()})
    assert refused(path, "describes 11000000000 weights, model.weights.h5 holds 0 numbers") < 50e6


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
    assert refused(path, "it unpacks to 41.* bytes, at most 1048576 are read") < 2**21


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("[]", "config.json must hold a JSON object, got a list"),
        ("null", "config.json must hold a JSON object, got a NoneType"),
        ('"text"', "config.json must hold a JSON object, got a str"),
        ("{", "Expecting property name"),
        ("[" * 100_000, "recursion"),
        ("{}", ""),
        ('{"class_name": "Functional"}', ""),
        ('{"module": "os", "class_name": "system", "config": {}}', ""),
        ('{"module": "keras.layers", "class_name": "Dense", "config": {"units": 2}}', "no model"),
        ('{"module": "keras.layers", "class_name": "JaxLayer", "config": {}}', ""),
        ('{"module": "keras.layers", "class_name": "TorchModuleWrapper", "config": {}}', ""),
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

    refused(write(tmp_path / "m.keras", with_config(members, change)), "")


def test_missing_members_are_named(members, tmp_path):
    for name in ("config.json", WEIGHTS):
        rest = {key: value for key, value in members.items() if key != name}
        refused(write(tmp_path / "m.keras", rest), f"it holds no {name}, so it is no .keras file")


def _loads_the_same_or_is_refused(path, expected):
    model, message = None, ""
    try:
        model = load_model(path)
    except ValueError as error:
        message = str(error)
    assert "\n" not in message
    if model is None:
        return False
    for weight, value in zip(model.get_weights(), expected, strict=True):
        np.testing.assert_array_equal(weight, value)
    return True


def _flipped(members, tmp_path, monkeypatch, offsets_of, mask):
    """How many of a file's copies, each with one byte changed, are refused."""
    path = write(tmp_path / "whole.keras", members)
    content = path.read_bytes()
    # What is after the checks is Keras's alone, and takes most of the time.
    built = keras.saving.load_model(path)
    monkeypatch.setattr(keras.saving, "load_model", lambda *args, **kwargs: built)
    offsets = offsets_of(content)
    count = 0
    for offset in offsets:
        spoilt = bytearray(content)
        spoilt[offset] ^= mask
        path.write_bytes(spoilt)
        count += not _loads_the_same_or_is_refused(path, built.get_weights())
    return count, len(offsets)


def test_every_byte_of_the_headers_flipped(members, tmp_path, monkeypatch):
    def headers(content):
        found = [m.start() + i for m in re.finditer(rb"PK\x03\x04", content) for i in range(46)]
        return found + list(range(content.index(b"PK\x01\x02"), len(content)))

    model = model_files._symbolic(json.loads(members["config.json"]))
    monkeypatch.setattr(model_files, "_symbolic", lambda config: model)
    refused_count, tried = _flipped(members, tmp_path, monkeypatch, headers, 0xFF)
    assert tried > 300
    assert refused_count > 0.4 * tried  # times, versions and attributes do not matter


def test_every_byte_of_the_content_flipped_is_noticed(members, tmp_path, monkeypatch):
    def content_bytes(content):
        end = content.index(b"PK\x01\x02")
        headers = {m.start() + i for m in re.finditer(rb"PK\x03\x04", content) for i in range(60)}
        return [i for i in range(0, end, 97) if i not in headers]

    refused_count, tried = _flipped(members, tmp_path, monkeypatch, content_bytes, 0x01)
    assert refused_count == tried > 100


def test_every_byte_of_the_weights_header_changed_inside_a_sound_archive(members, tmp_path):
    """The checksums are right, what HDF5 says of itself is not."""
    model = load_model(write(tmp_path / "m.keras", members))
    expected = model.get_weights()
    for offset in range(48):
        weights = bytearray(members[WEIGHTS])
        weights[offset] ^= 0xFF
        path = write(tmp_path / "m.keras", {**members, WEIGHTS: bytes(weights)})
        _loads_the_same_or_is_refused(path, expected)


def test_truncations_end_in_one_line(members, tmp_path):
    content = write(tmp_path / "m.keras", members).read_bytes()
    for size in range(0, len(content), len(content) // 60):
        (tmp_path / "m.keras").write_bytes(content[:size])
        refused(tmp_path / "m.keras", "")
