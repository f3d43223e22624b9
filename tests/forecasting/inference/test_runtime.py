"""What is compiled for a model belongs to the model: copies are whole, and nothing is stale."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

from kerastrans import Forecaster
from kerastrans.forecasting.inference import state

TIMES = pd.date_range("2024-01-01", periods=90, freq="h")
WAVES = np.array([10, 20]) + np.sin(np.arange(90)[:, None] / 4 + np.arange(2))
WIDE = pd.DataFrame(WAVES, TIMES, ["a", "b"])
LONG = WIDE.melt(var_name="unique_id", value_name="y", ignore_index=False).rename_axis("ds")
LONG = LONG.reset_index()
pytestmark = pytest.mark.filterwarnings("ignore:epochs=")


def trained(frame=LONG, **options):
    return Forecaster("nlinear", 12, 6, **options).fit(frame, epochs=1, verbose=0)


def points(forecaster, frame=LONG, **options):
    rows = forecaster.predict(frame, **options).sort_values(["unique_id", "ds"])
    return rows[forecaster.alias].to_numpy()


def without_weights(model):
    model.set_weights([np.zeros_like(x) for x in model.get_weights()])


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_copy_after_a_forecast_is_whole(copied, tmp_path):
    original = trained()
    expected = points(original)
    points(original, prediction_length=9)
    other = copied(original)
    np.testing.assert_array_equal(points(other), expected)
    without_weights(other.model)
    moved = points(other)
    assert np.abs(moved - expected).max() > 0.01
    np.testing.assert_array_equal(points(original), expected)
    other.save(tmp_path / "other")
    np.testing.assert_allclose(points(Forecaster.load(tmp_path / "other")), moved, rtol=1e-6)
    original.fit(LONG, epochs=1, verbose=0)
    np.testing.assert_array_equal(points(other), moved)


def test_a_copy_of_a_forecaster_of_a_keras_model_has_one_model():
    given = trained().model
    forecaster = Forecaster(given).fit(LONG, epochs=1, verbose=0)
    other = copy.deepcopy(forecaster)
    assert other.config.model is other.model is not given


def test_calibrated_states_of_a_model_share_what_it_compiled(monkeypatch):
    compiled, compile_inference = [], state.compile_inference
    monkeypatch.setattr(
        state, "compile_inference", lambda graph: compiled.append(1) or compile_inference(graph)
    )
    forecaster = trained()
    points(forecaster)
    count = len(compiled)
    for _ in range(2):
        forecaster.calibrate(LONG, windows=4, levels=[50])
        points(forecaster)
    assert (count, len(compiled)) == (1, 1)


@pytest.mark.parametrize("length", [None, 9])
def test_long_frames_see_weights_that_were_set(length):
    forecaster = trained(WIDE)
    before = points(forecaster, LONG, prediction_length=length)
    without_weights(forecaster.model)
    after = points(forecaster, LONG, prediction_length=length)
    assert np.abs(after - before).max() > 0.01
    wide = points(forecaster, WIDE, prediction_length=length)
    # Beyond the model's horizon, the paths that it continues are drawn in another order.
    np.testing.assert_allclose(after[:6], wide[:6], rtol=1e-5)
