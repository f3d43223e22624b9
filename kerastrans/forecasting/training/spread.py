"""Post-hoc scaling of the forecast spread on the hold-out set (temperature scaling)."""

import numpy as np
from scipy.optimize import minimize_scalar

from kerastrans import heads
from kerastrans.decoding.cached_decoder import forget_decoder
from kerastrans.forecasting.inference.forecast import forecast_windows
from kerastrans.forecasting.training.defaults import MIN_HELD_OUT_FORECASTS, rows_needed
from kerastrans.utils.keras_internals import forget_functions
from kerastrans.utils.pinball import pinball_loss
from kerastrans.utils.user_warnings import warn_user

QUANTILES = (0.025, 0.1, 0.25, 0.75, 0.9, 0.975)
MAX_FACTOR = 5.0  # and 1 / MAX_FACTOR is the smallest factor
# Numbers of forecasts (wider) or dates (narrower) at which a factor is shrunk halfway to 1.
SHRINKAGE = {"wider": 1, "narrower": 10}


class UnmeasuredSpreadWarning(UserWarning):
    """Intervals reflect errors of rows that the model was trained on."""


def report_unmeasured_spread(windows, epochs):
    """Warn if `fit` holds out too few rows, or none, to measure the spread of the forecast.

    Args:
        windows: `TrainingWindows` without rows that were given for validation.
        epochs: int, which holds out nothing; None for early stopping.
    """
    if epochs is not None:
        warn_user(
            f"epochs={epochs} holds out no rows: intervals are in-sample, often too narrow. Leave "
            "out epochs, give validation_size, or calibrate on rows after the training rows.",
            UnmeasuredSpreadWarning,
        )
        return
    config, panel = windows.config, windows.data.panels[0]
    held_out, steps = windows.is_held_out(0, len(panel)), config.prediction_length
    if held_out.sum() * (windows.data.held_out.steps // steps) >= MIN_HELD_OUT_FORECASTS:
        return
    rows, needed = int(np.median(panel.lengths)), rows_needed(len(panel), steps)
    if config.short == "refuse":
        needed = max(needed, config.context_length + 2 * steps)
    gaps = " with missing values" if rows >= needed else ""
    warn_user(
        f"the median series has {rows} rows{gaps}, and {needed} are needed to measure the spread "
        f"of intervals of {steps} steps on held-out rows: they are often too narrow. "
        f'kerastrans.from_pretrained("kerastrans_zero", {steps}) needs no training.',
        UnmeasuredSpreadWarning,
    )


class SpreadCorrection:
    """Factor by which the spread of a forecast has to be scaled, measured on hold-out windows.

    A network is overconfident on windows it was trained on, so that its intervals are too narrow on
    other windows. The factor multiplies all distances from the median, and minimises the quantile
    loss of windows that the model was not trained on. It is an attribute of the head, so that it is
    part of files, exports and the service.

    The factor is shrunk toward 1 if few non-overlapping forecasts are available. Factors below 1
    are shrunk more, and forecasts made on the same date count once, because errors are correlated
    across series; overconfidence is the common case.

    The draws of an autoregressive model change what it reads next, so that its samples do not
    spread in proportion to its head: its factor is measured a second time on samples that are
    drawn with the first one.

    Args:
        state: `FittedState`.
        forecasts: `Forecasts` of windows that the model was not trained on, at least one.

    Source: temperature scaling, Guo et al. (2017), for the spread in place of the logits.
    """

    def __init__(self, state, forecasts):
        windows = self.windows = forecasts.windows
        factor = _factor_of(state, forecasts)
        self.distance = mean_distance(state.head, forecasts)
        if state.decodes:
            spread = heads.of(state.model).spread
            try:
                set_spread(state, factor * spread)
                factor *= _factor_of(state, forecast_windows(state, windows))
            finally:
                set_spread(state, spread)
        numbers = windows.panel.numbers(windows.series, windows.cuts)
        dates = numbers // state.config.prediction_length
        self.factor = shrink_factor(factor, windows.series, dates)

    def apply(self, state, is_trained_on=False):
        """Scale the spread of the model's head.

        Args:
            state: `FittedState` whose model is changed.
            is_trained_on: bool, whether the model has since been trained on these windows. Their
                forecast is then no narrower than it was before that training.
        """
        narrowed = 1.0
        if is_trained_on and self.distance > 0:
            distance = mean_distance(state.head, forecast_windows(state, self.windows))
            narrowed = np.clip(distance / self.distance, 1 / MAX_FACTOR, 1)
        set_spread(state, heads.of(state.model).spread * self.factor / narrowed)


def set_spread(state, spread):
    """Change the spread of the model's head, and forget what was compiled with the former one."""
    heads.of(state.model).spread = float(spread)
    forget_functions(state.model)
    forget_decoder(state.model)
    state.__dict__.pop("_graph", None)


def _factor_of(state, forecasts):
    parts = forecasts.parameters, forecasts.targets, forecasts.scale
    return best_factor(state.head, *parts)


def shrink_factor(factor, series, dates):
    """Return the factor shrunk toward 1, the more the fewer forecasts it was measured on.

    Args:
        factor: float.
        series: `(windows,)`, series of each window.
        dates: `(windows,)`, ints; windows of one series and date count as one forecast.

    Example:
        >>> series, dates = np.arange(40), np.zeros(40)
        >>> [round(float(shrink_factor(factor, series, dates)), 2) for factor in (2, 0.5)]
        [1.97, 0.94]
    """
    if factor > 1:
        count = np.unique(np.stack([series, dates]), axis=1).shape[1]
        half = SHRINKAGE["wider"]
    else:
        count, half = len(np.unique(dates)), SHRINKAGE["narrower"]
    return factor ** (count / (count + half))


def mean_distance(head, forecasts):
    """Return the mean distance of the quantiles from the median, in scales of the windows."""
    median = head.median(forecasts.parameters)[..., None]
    distances = head.quantile(forecasts.parameters, QUANTILES) - median
    return float(np.abs(distances / forecasts.scale[..., None]).mean())


def best_factor(head, parameters, targets, scale):
    """Return the factor of the distances from the median with the least mean quantile loss.

    Args:
        head: Head of the forecasts.
        parameters: `(windows, prediction_length, num_channels, size)`.
        targets: `(windows, prediction_length, num_channels)`, NaN where missing.
        scale: `(windows, 1, num_channels)`, scales of the windows, which weigh the same.

    Returns:
        float; 1 if no target is known, or the forecast has no spread.
    """
    median = head.median(parameters)
    error = (targets - median) / scale
    known = np.isfinite(error)
    if not known.any():
        return 1.0
    distances = (head.quantile(parameters, QUANTILES) - median[..., None]) / scale[..., None]
    error, distances = error[known][:, None], distances[known]
    if not distances.any():
        return 1.0
    quantiles = np.array(QUANTILES)

    def loss(logarithm):
        rest = error - np.exp(logarithm) * distances
        return np.mean(pinball_loss(rest, quantiles))

    bounds = -np.log(MAX_FACTOR), np.log(MAX_FACTOR)
    return float(np.exp(minimize_scalar(loss, bounds=bounds, method="bounded").x))
