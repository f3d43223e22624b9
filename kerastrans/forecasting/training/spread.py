"""Post-hoc scaling of the forecast spread on the hold-out set (temperature scaling)."""

import numpy as np
import scipy

from kerastrans import heads
from kerastrans.forecasting.conformal.offsets import count_effective
from kerastrans.forecasting.inference.forecast import forecast_windows
from kerastrans.forecasting.training.defaults import MIN_HELD_OUT_FORECASTS, rows_needed
from kerastrans.utils.user_warnings import warn_user

LEVELS = (50, 80, 95)  # percents of the intervals that the factors are solved for
TAILS = np.array([(1 - level / 100) / 2 for level in LEVELS])
MAX_FACTOR = 5.0  # and 1 / MAX_FACTOR is the smallest factor
DATES_TO_NARROW = 10  # number of dates at which the logarithm of a factor below 1 is halved
FORECASTS_TO_GROW = 2  # number of independent forecasts at which the growth is halved


class UnmeasuredSpreadWarning(UserWarning):
    """Intervals reflect errors of rows that the model was trained on."""


def report_unmeasured_spread(windows, epochs, num_forecasts):
    """Warn if `fit` holds out too few rows, or none, to measure the spread of the forecast.

    Args:
        windows: `TrainingWindows` without rows that were given for validation.
        epochs: int, which holds out nothing; None for early stopping.
        num_forecasts: float, see `SpreadCorrection`.
    """
    if epochs is not None:
        warn_user(
            f"epochs={epochs} holds out no rows: intervals are in-sample, often too narrow. Leave "
            "out epochs, give validation_size, or calibrate on rows after the training rows.",
            UnmeasuredSpreadWarning,
        )
        return
    config, panel = windows.config, windows.data.panels[0]
    held_out, steps = windows.data.held_out, config.prediction_length
    advice = f'kerastrans.from_pretrained("kerastrans_zero_2", {steps}) needs no training.'
    if held_out.num_forecasts(len(panel), steps) >= MIN_HELD_OUT_FORECASTS:
        if held_out.share < 1:  # the other series have trained on the same dates
            num_forecasts = min(num_forecasts, count_independent_series(panel))
        if 0 < num_forecasts < MIN_HELD_OUT_FORECASTS - 0.5:
            warn_user(
                f"the {len(panel)} series may move together: their held-out forecasts are worth "
                f"{num_forecasts:.1f} independent ones, and {MIN_HELD_OUT_FORECASTS} are needed to "
                f"measure the spread of intervals: they are often too narrow. {advice}",
                UnmeasuredSpreadWarning,
            )
        return
    rows, needed = int(np.median(panel.lengths)), rows_needed(len(panel), steps)
    if config.short == "refuse":
        needed = max(needed, config.context_length + 2 * steps)
    gaps = " with missing values" if rows >= needed else ""
    warn_user(
        f"the median series has {rows} rows{gaps}, and {needed} are needed to measure the spread "
        f"of intervals of {steps} steps on held-out rows: they are often too narrow. {advice}",
        UnmeasuredSpreadWarning,
    )


class SpreadCorrection:
    """Correction of the spread of a forecast, measured on hold-out windows.

    A network is overconfident on windows it was trained on, so that its intervals are too narrow on
    other windows, often more so at later steps. A factor and a growth with the forecast step, see
    `Head`, multiply all distances from the median so that intervals cover what they say on windows
    that the model was not trained on, see `solve_spread`. They are weights of the head, and thus
    part of files, exports and the service.

    The draws of an autoregressive model change what it reads next, so that its samples do not
    spread in proportion to its head: its factor is measured a second time on samples that are
    drawn with the first one, and it has no growth, since its samples grow by themselves.

    Args:
        state: `FittedState`.
        forecasts: `Forecasts` of windows that the model was not trained on, at least one.

    Attributes:
        factor: float.
        growth: float.
        num_forecasts: float, number of independent forecasts that the windows are worth.

    Source: temperature scaling, Guo et al. (2017), for the spread in place of the logits.
    """

    def __init__(self, state, forecasts):
        windows = self.windows = forecasts.windows
        numbers = windows.panel.numbers(windows.series, windows.cuts)
        found = solve_spread(state.head, forecasts, numbers)
        self.factor, self.growth, self.num_forecasts = found
        self.distance = mean_distance(state.head, forecasts)
        if state.decodes:
            self.growth = 0.0
            head = heads.of(state.model)
            spread = float(head.spread)
            try:
                head.spread.assign(self.factor * spread)
                again = solve_spread(state.head, forecast_windows(state, windows), numbers)
                factor, _, num_forecasts = again
                if num_forecasts:  # the inflation is in the first factor already
                    self.factor *= factor / inflation(num_forecasts)
            finally:
                head.spread.assign(spread)

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
        head = heads.of(state.model)
        head.spread.assign(head.spread * self.factor / narrowed)
        head.spread_growth.assign(head.spread_growth + self.growth)


def solve_spread(head, forecasts, numbers):
    """Return the factor and the growth of the spread with which intervals cover what they say.

    At each level, the factor is the quantile of the errors in units of the distance of the
    interval's end; the result is the geometric mean over levels of 50, 80 and 95 %. The growth is
    the slope of the logarithms of the factors of single steps. The factor is increased by
    `inflation` if there are few forecasts, and shrunk if it is below 1, because the forecasts of a
    date err together and overconfidence is the common case. The growth is shrunk too.

    Args:
        head: Head of the forecasts.
        forecasts: `Forecasts`.
        numbers: `(windows,)`, ints, the time of the first target of each window.

    Returns:
        Factor; growth; number of independent forecasts, see `count_forecasts`. (1, 0, 0) if no
        target is known, or the forecast has no spread.
    """
    ratios = error_ratios(head, forecasts.parameters, forecasts.targets)
    # (levels, windows, prediction_length, num_channels)
    steps = ratios.shape[2]
    if not np.isfinite(ratios).any():
        return 1.0, 0.0, 0.0
    num_forecasts = count_forecasts(ratios[LEVELS.index(80)], numbers)
    x = heads.centered_log_steps(steps)
    by_step = np.array([_log_factor(ratios[:, :, [i]]) for i in range(steps)])
    known = np.isfinite(by_step)
    growth = np.sum(x[known] * by_step[known]) / max(np.sum(x[known] ** 2), 1e-9)
    growth *= num_forecasts / (num_forecasts + FORECASTS_TO_GROW)
    factor = _log_factor(ratios / np.exp(growth * x)[:, None])
    if factor < 0:
        dates = count_effective(numbers, steps)
        factor *= dates / (dates + DATES_TO_NARROW)
    return float(np.exp(factor) * inflation(num_forecasts)), float(growth), num_forecasts


def error_ratios(head, parameters, targets):
    """Return the errors of the median in units of the distance of the interval's end on their side.

    Args:
        head: Head of the forecasts.
        parameters: `(windows, prediction_length, num_channels, size)`.
        targets: `(windows, prediction_length, num_channels)`, NaN where missing.

    Returns:
        `(levels, windows, prediction_length, num_channels)` for `LEVELS`, with the sign of the
        error: -1 and 1 are the ends of the interval. NaN if the target is missing, or both the
        error and the distance are 0.
    """
    median = head.median(parameters)
    error = targets - median
    ends = np.stack([TAILS, 1 - TAILS])  # (2, levels)
    distances = np.abs(head.quantile(parameters, np.sort(ends.ravel())) - median[..., None])
    count = len(LEVELS)
    low, high = distances[..., :count][..., ::-1], distances[..., count:]  # from 50 to 95 %
    distance = np.where((error < 0)[..., None], low, high)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.moveaxis(error[..., None] / distance, -1, 0)


def _log_factor(ratios):
    """Return the mean logarithm of the factors of the levels; NaN without a known ratio."""
    logarithms = []
    for level, ratio in zip(LEVELS, np.abs(ratios), strict=True):
        known = ratio[~np.isnan(ratio)]
        if not known.size:
            return np.nan
        quantile = np.quantile(known, level / 100, method="higher")  # between infinite ones too
        logarithms.append(np.log(np.clip(quantile, 1 / MAX_FACTOR, MAX_FACTOR)))
    return np.mean(logarithms)


def inflation(num_forecasts):
    """Return how much wider an interval of 80 % has to be if its spread is measured so few times.

    It is the quantile of Student's t with one more degree of freedom than there are independent
    forecasts, over that of the normal distribution.

    Example:
        >>> [round(inflation(count), 2) for count in (1, 4, 20, 1000)]
        [1.47, 1.15, 1.03, 1.0]
    """
    return float(scipy.stats.t.ppf(0.9, num_forecasts + 1) / scipy.stats.norm.ppf(0.9))


def count_forecasts(errors, numbers):
    """Return the number of independent forecasts that the forecasts of some windows are worth.

    It is the number of dates whose forecasts do not overlap, times the number of series that err
    independently at a date: the mean square of the errors over that of their means over series.

    Args:
        errors: `(windows, prediction_length, num_channels)`, signed, in units of their spread, NaN
            where unknown.
        numbers: `(windows,)`, ints, the time of the first target of each window.

    Example:
        >>> errors, numbers = np.random.default_rng(0).normal(size=(50, 12, 1)), np.zeros(50, int)
        >>> 20 < count_forecasts(errors, numbers) <= 50
        True
        >>> count_forecasts(np.repeat(errors[:1], 50, axis=0), numbers)
        1.0
    """
    errors = np.clip(errors, -MAX_FACTOR, MAX_FACTOR)
    known = np.isfinite(errors)
    dates = count_effective(numbers[known.any(axis=(1, 2))], errors.shape[1])
    steps = numbers[:, None, None] * errors.shape[1] + np.arange(errors.shape[1])[:, None]
    return dates * _count_independent(errors, np.broadcast_to(steps, errors.shape))


def count_independent_series(panel):
    """Return the number of independent series that some series are worth by their changes.

    The changes from step to step are in units of their mean size, less the drift of each series.

    Args:
        panel: `Panel`.
    """
    changes, numbers = [], []
    for i, (begin, cut) in enumerate(zip(panel.begins, panel.cuts, strict=True)):
        change = np.diff(panel.values[begin:cut], axis=0)
        if np.isfinite(change).any():
            change = change - np.nanmedian(change)
            change /= np.nanmean(np.abs(change)) or 1.0
            number = panel.first[i] + np.arange(len(change))
            changes.append(change.ravel())
            numbers.append(np.repeat(number, change.shape[1]))
    return _count_independent(np.concatenate(changes), np.concatenate(numbers)) if changes else 0.0


def _count_independent(values, dates):
    """Return the mean square of values over that of their means by date, 1 to values of a date."""
    known = np.isfinite(values)
    values, (_, places) = values[known], np.unique(dates[known], return_inverse=True)
    counts = np.bincount(places)
    square_of_means = np.sum(np.bincount(places, values) ** 2 / np.maximum(counts, 1))
    if not square_of_means > 0:
        return 1.0
    return float(np.clip(np.sum(values**2) / square_of_means, 1, max(1.0, counts.mean())))


def mean_distance(head, forecasts):
    """Return the mean distance of the quantiles from the median, in scales of the windows.

    Steps without a forecast, of a channel without a value, do not count; 0 if there is no other.
    """
    median = head.median(forecasts.parameters)[..., None]
    levels = np.sort(np.concatenate([TAILS, 1 - TAILS]))
    distances = head.quantile(forecasts.parameters, levels) - median
    known = np.abs(distances / forecasts.units[..., None])
    known = known[np.isfinite(known)]
    return float(known.mean()) if known.size else 0.0
