"""Importances of covariates by permutation, for a model whose forecast is a covariate."""

import keras
import numpy as np
import pandas as pd
import pytest

from kerastrans import Forecaster

ROWS, WINDOWS = 400, 150


@pytest.fixture(scope="module")
def frame():
    """Values that are one above the covariate "used", of mean 0 and deviation 1."""
    used = np.random.default_rng(0).permutation(np.repeat([-1.0, 1.0], ROWS // 2))
    ignored = np.random.default_rng(1).permutation(used)
    times = pd.date_range("2024-01-01", periods=ROWS, freq="D")
    columns = {"unique_id": "s", "ds": times, "y": used + 1, "ignored": ignored, "used": used}
    return pd.DataFrame(columns)


def forecaster_of(frame, future=("ignored", "used")):
    """A model that forecasts the covariate "used", which is the last one, one step ahead."""
    history = keras.Input((4, 1), name="history")
    covariates = keras.Input((5, len(future)), name="future_covariates")
    model = keras.Model([history, covariates], covariates[:, -1:, -1:])
    options = {"scaler": None, "future": list(future), "alias": "own"}
    return Forecaster(model, 4, 1, **options).fit(frame, epochs=0, verbose=0)


def test_the_error_grows_by_its_expectation_and_only_for_the_covariate_that_is_used(frame):
    forecaster = forecaster_of(frame)
    table = forecaster.covariate_importances(frame, windows=WINDOWS, step=2, repeats=20)
    assert table["variable"].tolist() == ["used", "ignored"]
    assert (table["kind"] == "future").all()
    # The forecast errs by 1. An exchanged value differs by 0, 2 or -2 with the probabilities 1/2,
    # 1/4 and 1/4, so that the error is 1, 1 or 3: by a half more on average.
    used = table.iloc[0]
    assert used["increase"] == pytest.approx(0.5, abs=0.1)
    assert 0 < used["low"] < used["increase"] < used["high"]
    assert (table.iloc[1][["increase", "low", "high"]] == 0).all()
    again = forecaster.covariate_importances(frame, windows=WINDOWS, step=2, repeats=20)
    pd.testing.assert_frame_equal(again, table)


def test_an_origin_without_an_outcome_does_not_count(frame):
    gap = frame.assign(y=frame["y"].where(frame.index != ROWS - 3))
    table = forecaster_of(frame).covariate_importances(gap, windows=WINDOWS, step=2, repeats=20)
    assert table.iloc[0]["increase"] == pytest.approx(0.5, abs=0.1)
    assert table.notna().all(axis=None)
    with pytest.raises(ValueError, match="no value after an origin is known"):
        forecaster_of(frame).covariate_importances(
            frame.assign(y=frame["y"].where(frame.index < ROWS - 2)), windows=2, step=1
        )


def test_one_origin_has_no_interval(frame):
    table = forecaster_of(frame).covariate_importances(frame, windows=1)
    assert table[["low", "high"]].isna().all(axis=None)


def test_a_model_without_covariates_has_no_importances(frame):
    forecaster = Forecaster("seasonal_naive", 4, 1, season=2).fit(frame[["unique_id", "ds", "y"]])
    with pytest.raises(ValueError, match="the forecaster has no covariates: give past, future or"):
        forecaster.covariate_importances(frame)
