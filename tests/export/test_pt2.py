"""Programs of PyTorch (.pt2), which PyTorch alone runs."""

import json
import subprocess
import sys

import keras
import numpy as np
import pandas as pd
import pytest

import kerastrans
from kerastrans import zoo
from kerastrans.data import StandardScaler
from kerastrans.evaluation.scores.windows import forecast_windows
from kerastrans.export import export, export_pt2
from tests.helpers.architectures import (
    HORIZON,
    NAMES,
    build_shallow,
    example_inputs,
    moved,
    walks,
)

on_torch = pytest.mark.skipif(keras.backend.backend() != "torch", reason="PyTorch writes them")
SCALER = StandardScaler(np.array([5.0, -2.0, 0.0]), np.array([2.0, 0.5, 1.0]))
QUICK = ("nlinear",)
ONE_BATCH_SIZE = ("deepar",)
ALONE = """
import sys, numpy, torch
given = {name: torch.tensor(x) for name, x in numpy.load("inputs.npz").items()}
facts = {"metadata.json": ""}
run = torch.export.load("model.pt2", extra_files=facts).module()
numpy.savez("found.npz", **{name: x.numpy() for name, x in run(**given).items()})
assert not {"keras", "kerastrans", "tensorflow"} & set(sys.modules)
print(facts["metadata.json"])
"""


def run_pt2(path, **inputs):
    import torch

    outputs = torch.export.load(path).module()(**{x: torch.tensor(y) for x, y in inputs.items()})
    return {name: x.numpy() for name, x in outputs.items()}


def cases():
    marks = {name: [pytest.mark.slow, pytest.mark.exhaustive] for name in NAMES}
    marks |= dict.fromkeys(QUICK, ())
    return [pytest.param(name, marks=marks.get(name, ())) for name in NAMES]


@on_torch
@pytest.mark.parametrize("name", cases())
def test_an_architecture_forecasts_the_same(name, tmp_path):
    keras.utils.set_random_seed(1)
    model = moved(build_shallow(name))
    inputs = example_inputs(model, walks(3))
    named = inputs if isinstance(inputs, dict) else {"history": inputs}
    options = {"batch_size": 3} if name in ONE_BATCH_SIZE else {}
    options |= {"scaler": SCALER, "prediction_length": HORIZON}
    path = export(model, tmp_path / "model.pt2", **options)
    expected = forecast_windows(model, inputs, HORIZON, SCALER)
    longer = {**named, "history": np.concatenate([walks(3) + 9, named["history"]], axis=1)}
    for given in (named, longer):
        found = run_pt2(path, **given)["forecast"]
        assert abs(found - expected).max() < 1e-5 * abs(expected).max()


@on_torch
def test_a_forecaster_forecasts_the_same_without_kerastrans(tmp_path):
    days = pd.date_range("2024-01-01", periods=80)
    frame = pd.DataFrame({"unique_id": "a", "ds": days, "y": 10 + np.sin(np.arange(80.0))})
    frame["sky"] = np.where(np.arange(80) % 3, "sun", "rain")
    known = frame.head(60)
    forecaster = kerastrans.Forecaster("nlinear", 14, 3, calendar=True, future=["sky"])
    forecaster.fit(known, epochs=1, verbose=0, validation_size=20)
    expected = forecaster.predict(known, future=frame.drop(columns="y")[60:63])
    forecaster.export(tmp_path / "model.pt2")
    codes = 1 + (frame["sky"].to_numpy() == "sun")[None, 46:63, None].astype("int32")
    inputs = {
        "history": known["y"].to_numpy("float32")[None, :, None],
        "last_time": np.array([days[59].timestamp()], "int64"),
        "future_categories": codes,
    }
    np.savez(tmp_path / "inputs.npz", **inputs)
    command = [sys.executable, "-c", ALONE]
    done = subprocess.run(command, check=False, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    facts = json.loads(done.stdout.splitlines()[-1])
    assert facts["architecture"] == "nlinear"
    found = np.load(tmp_path / "found.npz")["forecast"].ravel()
    np.testing.assert_allclose(found, expected["nlinear"], rtol=1e-5)


@on_torch
@pytest.mark.slow
def test_random_numbers_are_in_the_file(tmp_path):
    frame = pd.DataFrame({"y": 10 + np.sin(np.arange(60.0))}, pd.date_range("2024", periods=60))
    forecaster = kerastrans.Forecaster("deepar", 8, 3, units=8, num_samples=20)
    forecaster.fit(frame, epochs=1, verbose=0, validation_size=20)
    with pytest.raises(RuntimeError, match=r"cannot trace 'deepar' .*give batch_size, such as 1"):
        forecaster.export(tmp_path / "model.pt2")
    path = forecaster.export(tmp_path / "model.pt2", batch_size=2)
    history = np.repeat(frame.to_numpy("float32")[None, -8:], 2, axis=0)
    samples, again = (run_pt2(path, history=history)["samples"] for _ in range(2))
    assert samples.shape == (2, 3, 1, 20)
    np.testing.assert_array_equal(samples, again)
    np.testing.assert_allclose(samples[0], samples[1], rtol=1e-5)
    assert samples.std() > 0


@on_torch
def test_short_histories_are_refused_or_padded(tmp_path):
    model = zoo.build("nlinear", 8, 4, 1)
    history = np.random.default_rng(0).normal(size=(2, 5, 1)).astype("float32")
    padded = np.concatenate([np.full((2, 3, 1), np.nan, "float32"), history], axis=1)
    path = export_pt2(model, tmp_path / "refused.pt2")
    with pytest.raises((IndexError, RuntimeError)):
        run_pt2(path, history=history)
    path = export_pt2(model, tmp_path / "padded.pt2", short="pad")
    expected = run_pt2(path, history=padded)["forecast"]
    assert np.isfinite(expected).all()
    np.testing.assert_allclose(run_pt2(path, history=history)["forecast"], expected, rtol=1e-6)


@on_torch
def test_existing_files_stay(tmp_path):
    (tmp_path / "m.pt2").write_text("mine")
    with pytest.raises(FileExistsError):
        export(zoo.build("nlinear", 8, 4, 1), tmp_path / "m.pt2")
    assert (tmp_path / "m.pt2").read_text() == "mine"


@pytest.mark.skipif(keras.backend.backend() == "torch", reason="PyTorch writes them")
def test_other_backends_say_which_one_writes_it(tmp_path):
    message = r"written by the backend torch, Keras runs on .*with KERAS_BACKEND=torch"
    with pytest.raises(RuntimeError, match=message):
        export(zoo.build("nlinear", 8, 4, 1), tmp_path / "m.pt2")
    assert not list(tmp_path.iterdir())
