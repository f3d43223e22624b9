"""Time limits by a clock that counts steps: a fit ends in time, with all of its parts."""

import keras
import numpy as np
import pandas as pd
import pytest

from kerastrans import Forecaster, heads
from kerastrans.forecasting.training import early_stopping, extra_steps, loop, time_limit
from kerastrans.forecasting.training.time_limit import StopInTime, TimeLimit, TimeLimitWarning

# Seconds of a training step, a validation batch and a forecast of the hold-out set, and what the
# first step and batch take in addition.
STEP, TEST_BATCH, FORECAST = 1.0, 2.0, 2.0
COMPILATION, TEST_COMPILATION = 8.0, 4.0


class Clock:
    """Clock that only proceeds when something is computed."""

    now = 100.0

    def __call__(self):
        return self.now


class Ticks(keras.callbacks.Callback):
    """Callback that lets the clock proceed."""

    def __init__(self, clock):
        super().__init__()
        self.clock, self.is_first = clock, {"train", "test"}

    def on_train_batch_end(self, batch, logs=None):
        self.clock.now += STEP + (COMPILATION if "train" in self.is_first else 0)
        self.is_first -= {"train"}

    def on_test_batch_end(self, batch, logs=None):
        self.clock.now += TEST_BATCH + (TEST_COMPILATION if "test" in self.is_first else 0)
        self.is_first -= {"test"}


@pytest.fixture
def clock(monkeypatch):
    """A clock whose seconds are training steps, validation batches and forecasts."""
    clock = Clock()
    ticks = Ticks(clock)
    monkeypatch.setattr(time_limit, "monotonic", clock)
    monkeypatch.setattr(early_stopping, "monotonic", clock)
    fit_model, forecast = extra_steps.fit_model, extra_steps.forecast_windows

    def ticking_fit(*args, **kwargs):
        return fit_model(*args, **kwargs | {"callbacks": [ticks]})

    def ticking_forecast(*args):
        clock.now += FORECAST
        return forecast(*args)

    monkeypatch.setattr("kerastrans.forecasting.training.fit.fit_model", ticking_fit)
    monkeypatch.setattr(extra_steps, "fit_model", ticking_fit)
    monkeypatch.setattr(extra_steps, "forecast_windows", ticking_forecast)
    monkeypatch.setattr("kerastrans.forecasting.training.spread.forecast_windows", ticking_forecast)
    return clock


def noisy(length=2000):
    """A series long enough for many steps per epoch."""
    rng = np.random.default_rng(0)
    times = pd.date_range("2024-01-01", periods=length, freq="h")
    y = 50 + 5 * np.sin(np.arange(length) / 4) + rng.normal(size=length)
    return pd.DataFrame({"unique_id": "s", "ds": times, "y": y})


@pytest.mark.parametrize(
    ("seconds", "least"), [(60, 0.7), pytest.param(300, 0.85, marks=pytest.mark.slow)]
)
def test_a_fit_ends_in_time_with_all_of_its_parts(clock, capsys, seconds, least):
    forecaster = Forecaster("nlinear", 24, 6).fit(noisy(), time_limit=seconds)
    taken = clock.now - 100
    assert least * seconds <= taken <= 1.1 * seconds
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("training 1,260 weights, ")
    assert lines[-2] == "forecasting the held-out rows, to measure the errors"
    assert lines[-1].endswith("extra steps on all rows")
    steps = int(forecaster.model.optimizer.iterations)
    assert 0.5 * (seconds - COMPILATION) <= steps * STEP <= seconds - COMPILATION
    assert heads.of(forecaster.model).spread != 1
    assert forecaster.fitted.trained == forecaster.fitted.chosen_by


def test_batches_for_which_the_model_is_compiled_again_are_no_measure():
    limit = TimeLimit(1000)
    stop, clock = limit.callback(lambda steps: 0.0), Clock()
    stop.on_train_begin()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time_limit, "monotonic", clock)
        stop.on_epoch_begin(0)
        for seconds in (60.0, 1.0, 1.0, 1.0, 60.0):  # the last batch is smaller
            clock.now += seconds
            stop.on_train_batch_end(0)
        stop.on_test_begin()
        for seconds in (30.0, 2.0, 2.0, 2.0, 30.0):
            clock.now += seconds
            stop.on_test_batch_end(0)
        stop.on_test_end()
    assert (limit.step, limit.compilation, limit.validation) == (1.0, 59.0, 10.0)


@pytest.mark.slow
def test_an_epoch_that_is_cut_is_compared_and_recorded(clock):
    history = Forecaster("nlinear", 24, 6).fit(noisy(), time_limit=40, verbose=0).history.history
    assert len(history["loss"]) == len(history["val_loss"]) == 1


def test_a_limit_shorter_than_a_step_is_exceeded_by_one_compilation_and_one_step(clock):
    with (
        pytest.warns(UserWarning, match="time_limit=1 is too short to measure the errors"),
        pytest.warns(UserWarning, match=r"by 14 s: .*; the first training step took 9 s\.$"),
    ):
        forecaster = Forecaster("nlinear", 24, 6).fit(noisy(), time_limit=1, verbose=0)
    assert clock.now - 100 == COMPILATION + STEP + TEST_COMPILATION + TEST_BATCH
    assert int(forecaster.model.optimizer.iterations) == 1
    assert heads.of(forecaster.model).spread == 1


@pytest.mark.slow
def test_a_compilation_that_takes_long_is_named(clock, monkeypatch):
    forecast, seconds = extra_steps.forecast_windows, iter([70.0])

    def slow_forecast(*args):
        clock.now += next(seconds, 0.0)
        return forecast(*args)

    monkeypatch.setattr(extra_steps, "forecast_windows", slow_forecast)
    with pytest.warns(TimeLimitWarning, match="time_limit=60 was exceeded by .*forecast took 72 s"):
        Forecaster("nlinear", 24, 6).fit(noisy(), time_limit=60, verbose=0)


@pytest.mark.slow
def test_a_limit_that_is_not_reached_changes_no_bit(clock, monkeypatch):
    monkeypatch.setattr(loop, "MAX_EPOCHS", 2)
    frame = noisy(400)
    whole = Forecaster("nlinear", 24, 6).fit(frame, time_limit=None, verbose=0)
    limited = Forecaster("nlinear", 24, 6).fit(frame, time_limit=1e6, verbose=0)
    for one, other in zip(whole.model.get_weights(), limited.model.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)
    pd.testing.assert_frame_equal(whole.predict(frame), limited.predict(frame), check_exact=True)


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [60, 200])
def test_the_spread_of_an_autoregressive_model_is_measured_within_the_limit(clock, seconds):
    options = {"num_samples": 4, "units": 4}
    forecaster = Forecaster("deepar", 24, 6, **options).fit(
        noisy(600), time_limit=seconds, verbose=0
    )
    assert clock.now - 100 <= 1.1 * seconds
    assert heads.of(forecaster.model).spread != 1


def test_the_reserve_counts_the_steps_after_the_last_one(clock):
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    stop = StopInTime(TimeLimit(50), lambda steps: 0.5 * steps)
    stop.set_model(model)
    stop.on_train_begin()
    model.stop_training = False
    while not model.stop_training:
        clock.now += 2.0 if stop.steps else 12.0
        stop.on_train_batch_end(stop.steps)
    # 12 + 2 (n - 1) seconds for n steps, 0.5 n after them: the largest n within 50
    assert stop.steps == 16
    assert (stop.limit.step, stop.limit.compilation) == (2.0, 10.0)
