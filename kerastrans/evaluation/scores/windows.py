"""Forecasts of windows in arrays, by models and by naive baselines, and their errors."""

from typing import Any

import keras
import numpy as np
import pandas as pd

from kerastrans.decoding.generation import generate
from kerastrans.decoding.graph import is_autoregressive
from kerastrans.evaluation.scores import metrics
from kerastrans.utils.validation import check_prediction_length


def forecast_windows(model, contexts, prediction_length, scaler=None, batch_size=256):
    """Forecast the steps after each window with any model of this package.

    An autoregressive model decodes step by step, starting from the last observed value. A direct
    model, such as those built by the zoo, returns the horizon it was built for.

    Args:
        model: Functional Keras model.
        contexts: Array `(windows, context_length, num_channels)`, in the units of the series if a
            `scaler` is given. For a model with additional inputs, a dict of all inputs whose
            entry "history" is this array.
        prediction_length: int, number of steps to forecast.
        scaler: `StandardScaler` fitted on the data that the model was trained on, or None.
        batch_size: int, number of windows forecast at once; it bounds the memory.

    Returns:
        Array `(windows, prediction_length, num_channels)`, in the units of `contexts`.

    Raises:
        ValueError: If a direct model was built for another `prediction_length`.

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
    """Return forecasts that repeat the last observed value.

    Args:
        contexts: Array `(windows, context_length, num_channels)`.
        prediction_length: int, number of steps to forecast.

    Returns:
        Array `(windows, prediction_length, num_channels)`.

    Example:
        >>> last_value(np.array([[[1.0], [2.0]]]), 2).tolist()
        [[[2.0], [2.0]]]
    """
    return np.repeat(contexts[:, -1:], prediction_length, axis=1)


def seasonal_naive(contexts, prediction_length, season):
    """Return forecasts that repeat the last observed season.

    Args:
        contexts: Array `(windows, context_length, num_channels)`.
        prediction_length: int, number of steps to forecast.
        season: int, number of steps in a season.

    Returns:
        Array `(windows, prediction_length, num_channels)`.

    Raises:
        ValueError: If the contexts are shorter than a season.

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
    """Return a table of errors with one row per forecast and the columns MAE, RMSE and MASE.

    Args:
        forecasts: Dict of name -> array `(windows, prediction_length, num_channels)`.
        targets: Array of the same shape.
        train: Array `(time, num_channels)` of the training rows, which define the scale of MASE.
        season: int, number of steps in the season of MASE.

    Returns:
        DataFrame.

    Raises:
        ValueError: If a forecast and the targets differ in shape.
        ValueError: If there are no more training rows than steps in a season, or a channel repeats
            itself exactly.

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
    """Callback that adds `val_forecast_mae`, the error of autoregressive forecasts, to the logs.

    The validation loss is computed under teacher forcing: the decoder receives the true previous
    values; this error is computed on forecasts that feed the decoder its own output, as in
    use. Put it first in the list of callbacks, and give those that monitor it, such as
    `EarlyStopping("val_forecast_mae", mode="min")`, the mode, which Keras does not know.

    Args:
        contexts: Array `(windows, context_length, num_channels)` of validation windows, scaled as
            in training, see `kerastrans.data.sliding_windows`.
        targets: Array `(windows, prediction_length, num_channels)` in the same units; the error is
            reported in these units.

    Example:
        >>> callback = ForecastError(np.ones((4, 8, 1)), np.ones((4, 2, 1)))
    """

    def __init__(self, contexts: Any, targets: Any) -> None:
        super().__init__()
        self.contexts, self.targets = contexts, targets

    def on_epoch_end(self, epoch, logs=None):
        """Forecast the validation windows and add the error to `logs`."""
        forecasts = forecast_windows(self.model, self.contexts, self.targets.shape[1])
        if logs is not None:
            logs["val_forecast_mae"] = metrics.mae(self.targets, forecasts)
