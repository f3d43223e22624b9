"""Forecasts of windows in arrays, by a model and by the baselines that it has to beat."""

from typing import Any

import keras
import numpy as np
import pandas as pd

from kerastrans.decoding.generation import generate, is_autoregressive
from kerastrans.evaluation import metrics
from kerastrans.utils.validation import check_prediction_length


def forecast_windows(model, contexts, prediction_length, scaler=None, batch_size=256):
    """Forecasts of the steps after each window, by any model of this package.

    An autoregressive model decodes step by step from the last observed value; a direct one, as
    the zoo builds them, returns the horizon it was built for.

    Args:
        model: functional Keras model.
        contexts: `(windows, context_length, num_channels)`, in units of the series where a
            `scaler` is given; for a model with further inputs a dict of all, this one as
            "history".
        prediction_length: int, steps to forecast.
        scaler: `StandardScaler` of the data that the model was trained on, or None.
        batch_size: int, windows forecast at once, which bounds the memory.

    Returns:
        `(windows, prediction_length, num_channels)`, in the units of `contexts`.

    Raises:
        ValueError: a direct model that was built for another `prediction_length`.

    Example:
        >>> from kerastrans import zoo
        >>> model = zoo.build("last_value", 8, 2, 1)
        >>> forecast_windows(model, np.ones((5, 8, 1)), 2).shape
        (5, 2, 1)
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
    """Forecasts that repeat the last observed value.

    Args:
        contexts: `(windows, context_length, num_channels)`.
        prediction_length: int, steps to forecast.

    Returns:
        `(windows, prediction_length, num_channels)`.

    Example:
        >>> last_value(np.array([[[1.0], [2.0]]]), 2).tolist()
        [[[2.0], [2.0]]]
    """
    return np.repeat(contexts[:, -1:], prediction_length, axis=1)


def seasonal_naive(contexts, prediction_length, season):
    """Forecasts that repeat the last observed season.

    Args:
        contexts: `(windows, context_length, num_channels)`.
        prediction_length: int, steps to forecast.
        season: int, steps in a season.

    Returns:
        `(windows, prediction_length, num_channels)`.

    Raises:
        ValueError: contexts shorter than a season.

    Example:
        >>> seasonal_naive(np.array([[[1.0], [2.0]]]), 3, season=2).tolist()
        [[[1.0], [2.0], [1.0]]]
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
        season: int, steps in the season of the MASE.

    Returns:
        DataFrame.

    Raises:
        ValueError: forecasts of another shape than the targets.
        ValueError: training rows no longer than the season, or a channel that repeats itself.

    Example:
        >>> train, targets = np.array([[1.0], [2.0], [4.0]]), np.array([[[4.0], [7.0]]])
        >>> compare({"last value": np.full((1, 2, 1), 4.0)}, targets, train, 1).round(2)
                    MAE  RMSE  MASE
        last value  1.5  2.12   1.0
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
    """Callback that adds `val_forecast_mae` to the logs: the error of forecasts step by step.

    The validation loss under teacher forcing shows the decoder the true past; this shows it its
    own, as in use. In the list of callbacks it comes before
    `ModelCheckpoint(monitor="val_forecast_mae")`.

    Args:
        contexts: validation windows `(windows, context_length, num_channels)`, scaled as in
            training, see `kerastrans.data.sliding_windows`.
        targets: `(windows, prediction_length, num_channels)`, in the same units, which are those
            of the error.

    Example:
        >>> callback = ForecastError(np.ones((4, 8, 1)), np.ones((4, 2, 1)))
    """

    def __init__(self, contexts: Any, targets: Any) -> None:
        super().__init__()
        self.contexts, self.targets = contexts, targets

    def on_epoch_end(self, epoch, logs=None):
        """Forecast the validation windows, and add the error to `logs`."""
        forecasts = forecast_windows(self.model, self.contexts, self.targets.shape[1])
        if logs is not None:
            logs["val_forecast_mae"] = metrics.mae(self.targets, forecasts)
