"""Forecasts over windows, of a model and of the baselines that it has to beat."""

import keras
import numpy as np
import pandas as pd

from kerastrans.decoding.generation import generate, is_autoregressive
from kerastrans.evaluation import metrics
from kerastrans.utils.validation import check_prediction_length


def forecast_windows(model, contexts, prediction_length, scaler=None, batch_size=256):
    """Forecasts behind each window, of any model of this package.

    An autoregressive model decodes step by step from the last observed value; a direct one, as
    the zoo builds them, puts out the horizon it was built for.

    Args:
        model: functional Keras model.
        contexts: `(windows, context_length, num_channels)`, in units of the series where a
            `scaler` is given; for a model of further inputs a dict of all, this one as "history".
        prediction_length: int, steps to forecast.
        scaler: `StandardScaler` the model was trained behind, or None.
        batch_size: int, windows decoded at once; it bounds the memory.

    Returns:
        `(windows, prediction_length, num_channels)`, in the units of `contexts`.

    Raises:
        ValueError: a direct model that was built for another `prediction_length`.
    """
    inputs = contexts if isinstance(contexts, dict) else {"history": contexts}
    autoregressive = is_autoregressive(model)
    if not autoregressive:
        check_prediction_length(model, prediction_length)
    parts = []
    for start in range(0, len(inputs["history"]), batch_size):
        batch = {name: values[start : start + batch_size] for name, values in inputs.items()}
        if scaler is not None:
            batch["history"] = scaler.transform(batch["history"])
        if autoregressive:
            parts.append(generate(model, batch["history"], prediction_length))
        else:
            parts.append(model.predict_on_batch(batch if len(batch) > 1 else batch["history"]))
    forecasts = np.concatenate(parts)
    return forecasts if scaler is None else scaler.inverse_transform(forecasts)


def last_value(contexts, prediction_length):
    """Forecast that repeats the last observed value: `(windows, prediction_length, channels)`."""
    return np.repeat(contexts[:, -1:], prediction_length, axis=1)


def seasonal_naive(contexts, prediction_length, season):
    """Forecast that repeats the last observed period of `season` steps.

    Raises:
        ValueError: contexts shorter than one period.
    """
    if not 1 <= season <= contexts.shape[1]:
        raise ValueError(
            f"season must be from 1 to the context's {contexts.shape[1]} steps, got {season!r}."
        )
    steps = np.arange(prediction_length) % season - season
    return contexts[:, steps]


def compare(forecasts, targets, train, season):
    """Table of errors: one row per forecast, columns MAE, RMSE and MASE.

    Args:
        forecasts: dict of name -> `(windows, prediction_length, num_channels)`.
        targets: the same shape.
        train: `(time, num_channels)`, training rows, which scale the MASE.
        season: int, period of the MASE.
    """
    rows = {
        name: {
            "MAE": metrics.mae(targets, forecast),
            "RMSE": metrics.rmse(targets, forecast),
            "MASE": metrics.mase(targets, forecast, train, season),
        }
        for name, forecast in forecasts.items()
    }
    return pd.DataFrame.from_dict(rows, orient="index")


class ForecastError(keras.callbacks.Callback):
    """Adds `val_forecast_mae` to the logs: the error of forecasts decoded step by step.

    The validation loss under teacher forcing shows the decoder the true past; this shows it its
    own, as in use. Give it to `fit` in front of `ModelCheckpoint(monitor="val_forecast_mae")`.

    Args:
        contexts, targets: validation windows, scaled as in training; see `sliding_windows`. The
            error is in their units.
    """

    def __init__(self, contexts, targets):
        super().__init__()
        self.contexts, self.targets = contexts, targets

    def on_epoch_end(self, epoch, logs=None):
        forecasts = forecast_windows(self.model, self.contexts, self.targets.shape[1])
        if logs is not None:
            logs["val_forecast_mae"] = metrics.mae(self.targets, forecasts)
