"""Comparison of a trained model with published weights, and the rule of which of them forecasts."""

from dataclasses import dataclass

import numpy as np

from kerastrans.data.series_scales import series_scales
from kerastrans.forecasting.inference.forecast import forecast_windows
from kerastrans.forecasting.inference.windows import windows_of
from kerastrans.forecasting.training.defaults import (
    MAX_VALIDATION_WINDOWS,
    MIN_TRAINING_FORECASTS,
    can_measure_spread,
    choose_hold_out,
)
from kerastrans.utils.pinball import pinball_loss

PUBLISHED, AVERAGE, TRAINED = "published", "average", "trained"
MIN_SEASONS = 3  # number of seasons of the median series, enough to forecast from it only
MIN_SHORT_SERIES = 1000  # number of such series, enough to train on without their ends


@dataclass(frozen=True)
class Verdict:
    """Which weights a fit has kept, and the figures that decided it.

    Attributes:
        kept: "published", "trained" or, for the model "auto", "average".
        loss_change: float, relative change of the quantile loss by training; None without one.
        standard_error: float, its error; None without one.
        windows: int, number of held-out windows that were compared.
        average_change: float, `loss_change` of the average; None without one.
        reason: str, why nothing was compared; None if it was.
    """

    kept: str
    loss_change: float | None = None
    standard_error: float | None = None
    windows: int = 0
    average_change: float | None = None
    reason: str | None = None

    def describe(self, name, trained=None):
        """Return the verdict as one line of text.

        Args:
            name: Name of the published weights.
            trained: Name of the model that was trained in their place; None for themselves.
        """
        kept = f"fit kept the {self.kept} weights of {name}"
        if trained is not None:
            kept = {PUBLISHED: f"{name}, published weights without training", TRAINED: trained}
            kept[AVERAGE] = f"the average of {trained} and {name}"
            kept = f"auto: {kept[self.kept]}"
        found = self.reason or self.compare(trained or "the trained weights", name)
        if self.average_change is not None:
            found += f", and that of their average by {100 * self.average_change:+.1f} %"
        return f"{kept}: {found}. restore_published=False keeps what is trained in any case."

    def compare(self, trained, published):
        """Return the difference of the losses of two models, with these names, in words."""
        change, error = 100 * self.loss_change, 100 * self.standard_error
        return (
            f"on {self.windows} held-out windows, the quantile loss of {trained} differs from that "
            f"of {published} by {change:+.1f} +- {error:.1f} %"
        )


def reason_not_to_train(data):
    """Return why series are forecast by published weights without training; None to train.

    Args:
        data: `TrainingData`.
    """
    lengths, steps = data.panels[0].lengths, data.reader.config.prediction_length
    median, season = int(np.median(lengths)), data.seasons.main
    less = f", fewer than a season of {season}," if median < season else ""
    rows = f"{len(lengths)} series of {median} rows (median){less}"
    is_short = np.sum(lengths) < MIN_TRAINING_FORECASTS * steps
    if is_short or not can_measure_spread(lengths, steps):
        return f"{rows} are too few or too short to train on"
    has_columns = data.reader.covariates.past or data.reader.covariates.future
    is_own = median >= MIN_SEASONS * season and not has_columns
    if is_own and choose_hold_out(lengths, steps).share < 1 and len(lengths) < MIN_SHORT_SERIES:
        return f"{rows} are too short to hold out their ends"
    return None


class Comparison:
    """Quantile losses of published weights and of a trained model on held-out windows.

    Errors of the same series, and of the same time, are not independent: the standard error of a
    difference is the larger one of those between series and between times, a time being the origins
    within one forecast.

    Attributes:
        reason: str, why nothing can be compared; None if it can.

    Args:
        windows: `TrainingWindows`.
        baseline: `FittedState` with the published weights.
        averages: bool, whether the average of both can forecast.

    Source: Cochran (1977), section 6.4, for the error of a ratio.
    """

    def __init__(self, windows, baseline, averages=False):
        self.held_out = windows.windows(0, most=MAX_VALIDATION_WINDOWS)[1]  # the first file's
        self.averages, self.is_of_ends = averages, windows.data.held_out.share == 1
        series, cuts, ends = self.held_out.series, self.held_out.cuts, self.held_out.ends
        times = self.held_out.panel.numbers(series, cuts)
        blocks = (times - times.min(initial=0)) // self.held_out.prediction_length
        clusters = [np.unique(x, return_inverse=True)[1] for x in (series, blocks)]
        self.clusters = [x for x in clusters if len(x) and x.max() > 0]
        ends = cuts if ends is None else ends
        steps, places = series_scales(self.held_out.panel, series, ends, "change")
        self.scales = np.where(steps > 0, steps, np.nan)[places][:, None]
        self.levels, self.reason = np.asarray(baseline.head.levels), None
        if not self.clusters:
            self.reason = "no held-out windows of several series or times can say if training helps"
        elif np.isnan(self.scales).all():
            self.reason = "the series are constant"
        if self.reason:
            return
        owned = windows_of(baseline, self.held_out.panel, series, cuts, self.held_out.ends)
        self.published = self._quantiles(baseline, forecast_windows(baseline, owned))

    def decide(self, state, forecasts):
        """Return the `Verdict` on which weights forecast.

        For the model "auto", whose kerastrans-zero 2 is not trained, and for published weights that
        were trained further, it depends on the mean quantile losses of held-out windows:

        1. The published weights stay if nothing could be compared: the series hold fewer than 100
           forecasts that do not overlap, or too few can be held out to measure the spread of
           intervals; or fewer than 1,000 series, without covariates, are too short to hold out
           their ends, and show three seasons each, see `reason_not_to_train`; or the held-out
           windows are of one series and time, or constant; or `TimeLimit` has no time for a
           training step, or to forecast these windows.
        2. "auto" takes the average of the quantiles of both models if its loss is lower than that
           of the published weights; otherwise it takes these.
        3. The trained model is used alone if its loss is lower than that of the average, or, for
           weights that were trained further, which are not averaged, of the published weights, by
           more than one standard error. For "auto", this holds on the ends of series only: if whole
           series are held out, the others have shown the dates, and a trained model looks better
           than it is.

        A `Forecaster` that is told how to train keeps the trained model, see `Training`.

        Args:
            state: `FittedState` of the trained model.
            forecasts: `Forecasts` of it for these windows, or a part of them; None without time.

        Source: Breiman, Friedman, Olshen, Stone (1984), section 3.4.3, for one standard error;
        Bates, Granger (1969), for the average.
        """
        if forecasts is None:
            return Verdict(PUBLISHED, reason="there was no time to forecast the held-out rows")
        keys = [x.cuts + x.series * 2**40 for x in (self.held_out, forecasts.windows)]
        part, targets = np.isin(*keys), forecasts.targets
        trained = self._quantiles(state, forecasts)
        every = [self.published[part], trained, (self.published[part] + trained) / 2]
        losses = [self._losses(quantiles, targets, part) for quantiles in every]
        known = np.isfinite(losses).all(axis=0)
        losses = [x[known] for x in losses]
        clusters = [x[part][known] for x in self.clusters]
        change, error = _change(*losses[:2], clusters)
        average = _change(losses[0], losses[2], clusters)[0]
        kept = AVERAGE if self.averages and average < 0 else PUBLISHED
        ahead, ahead_error = _change(losses[2 if self.averages else 0], losses[1], clusters)
        if ahead < -ahead_error and (self.is_of_ends or not self.averages) and change < 0:
            kept = TRAINED
        return Verdict(kept, change, error, int(known.sum()), average if self.averages else None)

    def _quantiles(self, state, forecasts):
        return state.head.quantile(forecasts.parameters, self.levels)

    def _losses(self, quantiles, targets, part):
        """Return the mean quantile loss of each window, in units of the changes of its series."""
        losses = pinball_loss(targets[..., None] - quantiles, self.levels).mean(axis=-1)
        losses = losses / self.scales[part]
        known = np.isfinite(losses)
        number, total = known.sum(axis=(1, 2)), losses.sum(axis=(1, 2), where=known)
        return np.where(number > 0, total / np.maximum(number, 1), np.nan)


def _change(before, after, clusters):
    """Return the relative change of the sum of losses, and its standard error."""
    total = before.sum() or 1.0
    change = (after - before).sum() / total
    residuals = after - (1 + change) * before
    return float(change), float(max(_error_of_sum(residuals, x) for x in clusters) / total)


def _error_of_sum(residuals, clusters):
    """Return the standard error of the sum of residuals that depend on each other in clusters."""
    sums = np.bincount(clusters, residuals)[np.unique(clusters)]
    count = len(sums)
    return np.sqrt(count / (count - 1) * np.square(sums).sum()) if count > 1 else 0.0
