"""The spread of a forecast, measured where the training did not look."""

import numpy as np
from scipy.optimize import minimize_scalar

from kerastrans import heads
from kerastrans.forecasting.fitted import Fitted
from kerastrans.forecasting.predicting import forecast_windows
from kerastrans.utils.keras_internals import forget_functions

LEVELS = (0.025, 0.1, 0.25, 0.75, 0.9, 0.975)
WIDEST = 5.0  # the largest factor, and 1 over the smallest
FEW = {"wider": 1, "narrower": 10}  # forecasts: of as many a factor counts half


def measure_spread(config, reader, model, examples):
    """Fit the spread of a model's head to the part that was held out, see `fit_spread`."""
    head = heads.of(model)
    fitted = Fitted(model, reader.clock, reader.covariates, reader.channels)
    if examples.validates_any and head.num_spreads and not fitted.decodes:
        windows = examples.windows(0)[1]  # of a folder: the first file's
        if len(windows):
            fit_spread(config, fitted, windows)


def fit_spread(config, fitted, windows):
    """Scale the spread of a model's head by what the outcomes of some windows ask for.

    A network that has seen its training windows often is surer of them than of others, so that its
    intervals are too narrow. One number, by which all distances from the median are multiplied,
    makes the quantile loss of these windows least. It is a part of the head, and so of the file,
    of an export and of the service. It is drawn towards 1 where there are few windows, whose
    errors are alike, and a number below 1 more so: that a network is too sure is the rule.

    Args:
        config: `Config`.
        fitted: `Fitted`, whose model's head is changed.
        windows: `Windows` that did not train, at least one.

    Source: temperature scaling, Guo et al. (2017), for the spread in place of the logits.
    """
    head = heads.of(fitted.model)
    forecasts = forecast_windows(config, fitted, windows)
    factor = best_factor(head, forecasts.parameters, forecasts.targets, forecasts.scale)
    blocks = windows.cuts // config.prediction_length
    count = len(np.unique(np.stack([windows.series, blocks]), axis=1).T)
    set_spread(
        fitted.model,
        head.spread * factor ** (count / (count + FEW["wider" if factor > 1 else "narrower"])),
    )


def set_spread(model, spread):
    """Give the head of a model this spread."""
    heads.of(model).spread = spread
    forget_functions(model)


def mean_distance(config, fitted, windows):
    """The mean distance of the forecast's quantiles from its median, in scales of the windows.

    Args:
        config: `Config`.
        fitted: `Fitted`.
        windows: `Windows`.
    """
    forecasts = forecast_windows(config, fitted, windows)
    head = heads.of(fitted.model)
    median = head.median(forecasts.parameters)[..., None]
    distances = head.quantile(forecasts.parameters, LEVELS) - median
    return float(np.abs(distances / forecasts.scale[..., None]).mean())


def best_factor(head, parameters, targets, scale):
    """The factor of all distances from the median with the least quantile loss, at six levels.

    Args:
        head: that reads the parameters.
        parameters: `(windows, prediction_length, num_channels, size)`.
        targets: `(windows, prediction_length, num_channels)`, NaN where missing.
        scale: `(windows, 1, num_channels)`, so that each window counts alike.

    Returns:
        float; 1 without a known target.
    """
    median = head.median(parameters)
    error = (targets - median) / scale
    known = np.isfinite(error)
    if not known.any():
        return 1.0
    distances = (head.quantile(parameters, LEVELS) - median[..., None]) / scale[..., None]
    error, distances = error[known][:, None], distances[known]
    levels = np.array(LEVELS)

    def loss(logarithm):
        rest = error - np.exp(logarithm) * distances
        return np.mean(np.maximum(levels * rest, (levels - 1) * rest))

    bounds = -np.log(WIDEST), np.log(WIDEST)
    return float(np.exp(minimize_scalar(loss, bounds=bounds, method="bounded").x))
