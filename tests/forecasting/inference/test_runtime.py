"""What is compiled for a model belongs to the model: copies are whole, and nothing is stale."""

import copy
import pickle

import keras
import numpy as np
import pandas as pd
import pytest

from kerastrans import Forecaster, zoo
from kerastrans.forecasting.inference import state
from kerastrans.utils.model_files import copy_to_train

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


class PredictsMeanwhile(keras.callbacks.Callback):
    """Forecasts in the middle of every epoch, as another thread would."""

    def __init__(self, forecaster):
        super().__init__()
        self.forecaster, self.forecasts = forecaster, []

    def on_train_batch_end(self, batch, logs=None):
        self.forecasts.append(points(self.forecaster))


def test_a_further_fit_forecasts_from_the_former_weights_until_its_end():
    forecaster = trained()
    model, before = forecaster.model, points(forecaster)
    meanwhile = PredictsMeanwhile(forecaster)
    forecaster.fit(LONG, epochs=2, callbacks=meanwhile, verbose=0)
    assert len(meanwhile.forecasts) > 2
    for forecast in meanwhile.forecasts:
        np.testing.assert_array_equal(forecast, before)
    assert forecaster.model is not model
    assert np.abs(points(forecaster) - before).max() > 1e-4


def test_a_further_fit_goes_on_as_the_optimizer_had_stopped():
    forecaster = trained()
    steps = int(forecaster.model.optimizer.iterations)
    momentum = [np.array(x) for x in forecaster.model.optimizer.variables]
    copied = copy_to_train(forecaster.model)
    for x, y in zip(copied.optimizer.variables, momentum, strict=True):
        np.testing.assert_array_equal(np.array(x), y)
    forecaster.fit(LONG, epochs=1, verbose=0)
    assert int(forecaster.model.optimizer.iterations) == 2 * steps


def test_the_first_fit_trains_the_model_that_was_passed():
    given = zoo.build("nlinear", 12, 6, 1)
    forecaster = Forecaster(given).fit(LONG, epochs=1, verbose=0)
    assert forecaster.model is given
    assert forecaster.fit(LONG, epochs=1, verbose=0).model is not given


def test_a_model_with_a_loss_that_cannot_be_written_trains_further():
    given = zoo.build("nlinear", 12, 6, 1, head="point")
    given.compile("adam", lambda y, x: keras.ops.mean(keras.ops.square(y - x)))
    forecaster = Forecaster(given).fit(LONG, epochs=1, verbose=0)
    before = points(forecaster)
    assert np.abs(points(forecaster.fit(LONG, epochs=1, verbose=0)) - before).max() > 1e-5
