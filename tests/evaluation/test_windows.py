import keras
import numpy as np
import pytest

from kerastrans.data import StandardScaler, random_sequences, sliding_windows
from kerastrans.evaluation.scores.windows import (
    ForecastError,
    compare,
    forecast_windows,
    last_value,
    seasonal_naive,
)
from tests.conftest import XLA

RAMP = np.arange(12.0).reshape(1, 12, 1)


def test_naive_forecasts_repeat_observed_values():
    np.testing.assert_array_equal(last_value(RAMP, 3)[0, :, 0], [11, 11, 11])
    np.testing.assert_array_equal(seasonal_naive(RAMP, 3, 4)[0, :, 0], [8, 9, 10])
    np.testing.assert_array_equal(seasonal_naive(RAMP, 6, 4)[0, :, 0], [8, 9, 10, 11, 8, 9])
    np.testing.assert_array_equal(seasonal_naive(RAMP, 2, 1), last_value(RAMP, 2))


@pytest.mark.parametrize("season", [0, 13])
def test_season_longer_than_the_context_is_refused(season):
    with pytest.raises(ValueError, match="season must be from 1 to the context's 12 steps"):
        seasonal_naive(RAMP, 3, season)


def test_seasonal_naive_is_exact_on_a_periodic_series():
    values = np.tile(np.arange(5.0), 8)[:, None]
    contexts, targets = sliding_windows(values, 10, 7)
    table = compare({"naive": seasonal_naive(contexts, 7, 5)}, targets, values[:20], season=3)
    assert table.loc["naive"].tolist() == [0, 0, 0]


@pytest.mark.slow
@pytest.mark.parametrize("batch_size", [3, 100])
def test_forecast_windows_scales_inputs_and_unscales_outputs(small_model, batch_size):
    contexts = 50 + 10 * random_sequences(7, 8, 3, seed=0)
    scaler = StandardScaler.fit(contexts.reshape(-1, 3))
    result = forecast_windows(small_model, contexts, 4, scaler, batch_size)
    expected = small_model.generate(scaler.transform(contexts), 4)
    np.testing.assert_allclose(result, scaler.inverse_transform(expected), rtol=1e-4)


@pytest.mark.slow
def test_forecast_error_is_logged_each_epoch(small_model):
    contexts, targets = random_sequences(5, 8, 3, seed=0), random_sequences(5, 4, 3, seed=1)
    small_model.compile("adam", "mse", **XLA)
    history = small_model.fit(
        [contexts, targets],
        targets,
        epochs=2,
        callbacks=[
            ForecastError(contexts, targets),
            keras.callbacks.EarlyStopping("val_forecast_mae", mode="min", patience=9),
        ],
        verbose=0,
    ).history
    last = np.abs(small_model.generate(contexts, 4) - targets).mean()
    assert len(history["val_forecast_mae"]) == 2
    assert history["val_forecast_mae"][-1] == pytest.approx(last, rel=1e-4)
