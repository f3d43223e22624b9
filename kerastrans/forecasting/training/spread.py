"""The spread of a forecast, measured where the training did not look."""

import numpy as np
from scipy.optimize import minimize_scalar

from kerastrans import heads
from kerastrans.forecasting.inference.forecast import forecast_windows
from kerastrans.utils.keras_internals import forget_functions

LEVELS = (0.025, 0.1, 0.25, 0.75, 0.9, 0.975)
WIDEST = 5.0  # the largest factor, and 1 over the smallest
FEW = {"wider": 1, "narrower": 10}  # forecasts, or dates: of as many a factor counts half


class Width:
    """How wide a model's forecast of some windows has to be: measured before these train it too.

    A network that has seen its training windows often is surer of them than of others, so that its
    intervals are too narrow. One number, by which all distances from the median are multiplied,
    makes the quantile loss of windows that did not train least. It is a part of the head, and so of
    the file, of an export and of the service. It is drawn towards 1 where there are few forecasts
    that do not overlap. A number below 1 more so, and then those of one date count once, as series
    err together: that a network is too sure is the rule.

    Args:
        state: `FittedState`.
        windows: `Windows` that did not train, at least one.

    Source: temperature scaling, Guo et al. (2017), for the spread in place of the logits.
    """

    def __init__(self, state, windows):
        self.windows = windows
        head, forecasts = heads.of(state.model), forecast_windows(state, windows)
        factor = best_factor(head, forecasts.parameters, forecasts.targets, forecasts.scale)
        numbers = windows.panel.numbers(windows.series, windows.cuts)
        dates = numbers // state.config.prediction_length
        self.factor = towards_one(factor, windows.series, dates)
        self.distance = mean_distance(head, forecasts)

    def give(self, state, has_seen=False):
        """Give it to a model; where it `has_seen` the windows since, its forecast is no narrower.

        Args:
            state: `FittedState`, whose model's head is changed.
            has_seen: bool, whether they have trained it after they were measured.
        """
        head, narrowed = heads.of(state.model), 1.0
        if has_seen and self.distance > 0:
            forecasts = forecast_windows(state, self.windows)
            narrowed = np.clip(mean_distance(head, forecasts) / self.distance, 1 / WIDEST, 1)
        head.spread = float(head.spread * self.factor / narrowed)
        forget_functions(state.model)
        state.__dict__.pop("_graph", None)  # it was compiled with the spread before


def towards_one(factor, series, dates):
    """The factor, the nearer to 1 the fewer forecasts it was found by.

    Args:
        factor: float.
        series: `(windows,)`, whose each window is.
        dates: `(windows,)`, ints; windows of one series and date are one forecast.

    Example:
        >>> series, dates = np.arange(40), np.zeros(40)
        >>> [round(float(towards_one(factor, series, dates)), 2) for factor in (2, 0.5)]
        [1.97, 0.94]
    """
    if factor > 1:
        count, few = np.unique(np.stack([series, dates]), axis=1).shape[1], FEW["wider"]
    else:
        count, few = len(np.unique(dates)), FEW["narrower"]
    return factor ** (count / (count + few))


def mean_distance(head, forecasts):
    """The mean distance of a forecast's quantiles from its median, in scales of the windows."""
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
