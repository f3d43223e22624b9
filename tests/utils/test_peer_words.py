"""Arguments of other libraries are answered with what they are called here."""

import numpy as np
import pandas as pd
import pytest

from kerastrans import Forecaster, backtesting

FRAME = pd.DataFrame({"y": np.arange(60.0) % 7}, pd.date_range("2024-01-01", periods=60))


@pytest.fixture(scope="module")
def naive():
    return Forecaster("seasonal_naive", 14, 7, season=7).fit(FRAME)


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (
            {"futr_exog_list": ["a"]},
            "'futr_exog_list' is not an argument of Forecaster: use future",
        ),
        ({"stat_exog_list": ["a"]}, r"use fit\(frame, static="),
        ({"random_state": 1}, "use seed"),
        ({"max_steps": 1}, r"use fit\(frame, epochs=...\) or fit\(frame, time_limit="),
        ({"h": 3}, "use prediction_length"),
        ({"seed": -1}, "seed must be an int of at least 0, got -1"),
    ],
)
def test_the_constructor_answers(arguments, answer):
    with pytest.raises(ValueError, match=answer):
        Forecaster("nlinear", 14, 7, **arguments)


@pytest.mark.parametrize(
    ("method", "arguments", "answer"),
    [
        ("predict", {"h": 3}, "predict has no argument 'h': use prediction_length"),
        ("predict", {"level": [80]}, "predict has no argument 'level': use levels"),
        ("predict", {"levles": [80]}, "predict has no argument 'levles': did you mean 'levels'"),
        ("backtest", {"n_windows": 3}, "backtest has no argument 'n_windows': use windows"),
        ("backtest", {"step_size": 1}, "backtest has no argument 'step_size': use step"),
        ("fit", {"max_steps": 10}, "fit has no argument 'max_steps': use epochs"),
        ("fit", {"val_size": 10}, "fit has no argument 'val_size': use validation_size"),
        ("fit", {"verbos": 0}, "fit has no argument 'verbos': did you mean 'verbose'"),
    ],
)
def test_methods_answer_before_any_work(naive, method, arguments, answer):
    with pytest.raises(TypeError, match=answer):
        getattr(naive, method)(FRAME, **arguments)


def test_functions_of_frames_answer():
    with pytest.raises(TypeError, match="score has no argument 'train_df': did you mean 'train'"):
        backtesting.score(FRAME, train_df=FRAME)


def test_a_step_of_zero_is_refused_for_one_origin_too(naive):
    with pytest.raises(ValueError, match="step must be an integer of at least 1, got 0"):
        naive.backtest(FRAME, windows=1, step=0)


def test_a_backtest_has_the_probabilities_of_a_forecast(naive):
    calibrated = naive.clone().fit(FRAME[:50]).calibrate(FRAME, windows=6, levels=[50])
    rows = calibrated.backtest(FRAME, windows=1, exceeds=[2, 3.5])
    expected = calibrated.predict(FRAME[:-7], exceeds=[2, 3.5])
    for threshold in ("2", "3.5"):
        name = f"seasonal_naive-exceeds-{threshold}"
        np.testing.assert_allclose(rows[name], expected[name])
    with pytest.raises(ValueError, match="exceeds"):
        naive.backtest(FRAME, windows=1, exceeds=2)
    refitted = naive.backtest(FRAME, windows=2)
    assert not [name for name in refitted if "exceeds" in name]


def test_the_repr_has_no_address():
    import keras

    forecaster = Forecaster("nlinear", 14, 7, optimizer=keras.optimizers.Adam())
    assert repr(forecaster) == "Forecaster('nlinear', 14, 7, optimizer=Adam())"
