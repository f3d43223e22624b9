"""Forecasts of many windows: their intervals, conformity scores and frames."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from kerastrans.data.frames import ID, TARGET, TIME
from kerastrans.data.panel_windows import Windows
from kerastrans.evaluation.columns import (
    CUTOFF,
    check_alias,
    exceeds_column,
    interval_columns,
    median_column,
)
from kerastrans.forecasting.conformal.groups import (
    groups_of,
    read_series_names,
    residual_sizes,
    sizes_of,
)
from kerastrans.forecasting.conformal.offsets import conformity_scores
from kerastrans.forecasting.inference.marginals import Marginals, within_bounds
from kerastrans.utils.user_warnings import warn_user

FAR = 10  # factor between the scales of windows that are hardly comparable


@dataclass(frozen=True)
class Forecasts:
    """Forecasts of windows, in the units of their series.

    Attributes:
        windows: `Windows`.
        output: Head, or `heads.Samples`, that the parameters belong to.
        parameters: `(windows, prediction_length, num_channels, size)`, without the last axis for
            points.
        scale: `(windows, 1, num_channels)`, scales of the errors of the windows in units of the
            series, see `WindowScaler.error_scale`.
        counted: Bools `(windows, num_channels)`, whether the outcomes count; None if all do.
    """

    windows: Windows
    output: object
    parameters: np.ndarray
    scale: np.ndarray
    counted: np.ndarray | None = None

    @property
    def targets(self):
        """True values `(windows, prediction_length, num_channels)`, NaN where missing."""
        targets = _targets(self.windows)
        return targets if self.counted is None else np.where(self.counted[:, None], targets, np.nan)

    @property
    def units(self):
        """Units of errors: the scales, NaN for a constant, whose errors have none."""
        return np.where(self.scale > 0, self.scale, np.nan)

    def part(self, chosen):
        """Return the forecasts of a slice of the windows."""
        windows = replace(
            self.windows, series=self.windows.series[chosen], cuts=self.windows.cuts[chosen]
        )
        output = self.output.part(chosen) if hasattr(self.output, "low") else self.output
        return Forecasts(windows, output, self.parameters[chosen], self.scale[chosen])

    def bounds(self, level):
        """Return the bounds of the head's interval of `level` percent, or the point twice."""
        if not self.output.has_parameter_axis:
            point = self.output.point(self.parameters)
            return point, point
        tail = (1 - level / 100) / 2
        both = self.output.quantile(self.parameters, (tail, 1 - tail))
        return both[..., 0], both[..., 1]

    def scores(self, levels):
        """Return the conformity scores of the windows in temporal order.

        Args:
            levels: Percents of the intervals.

        Returns:
            `(scores, order, times)`: dict of level -> `(windows, prediction_length, num_channels,
            2)`; indices of the windows in temporal order; and the number on the clock of the first
            target step of each.
        """
        times = self.times
        order = np.argsort(times, kind="stable")
        targets = self.targets
        scores = {
            level: conformity_scores(targets, *self.bounds(level), self.units)[order]
            for level in levels
        }
        return scores, order, times[order]

    def in_residuals(self):
        """Return the forecasts with scales multiplied by the residuals of each series.

        Returns:
            `Forecasts`, and a dict of series -> `(num_channels,)`, mean absolute residuals in units
            of the scales of the windows; see `residual_sizes`.

        Source: Lei et al. (2018), section 5.2, with one size per series.
        """
        residuals = np.abs(self.targets - self.output.point(self.parameters)) / self.units
        sizes, others = residual_sizes(self._names, residuals, self.times)
        return replace(self, scale=self.scale * others), sizes

    def conformal(self, intervals, levels, static=None, *, follow=False):
        """Return the forecasts in the units of conformal intervals, and the offsets of these.

        Intervals of fewer steps than the forecasts are not applied: a continued forecast contains
        them.

        Args:
            intervals: `ConformalIntervals`, or None.
            levels: Percents of the intervals.
            static: Frame of static covariates, for intervals by one of its columns.
            follow: bool, whether adaptive intervals are updated with outcomes once they are known.

        Returns:
            `Forecasts`, and a dict of level -> `(windows, prediction_length, num_channels, 2)`, or
            None without intervals.
        """
        steps = self.windows.prediction_length
        if intervals is None or intervals.prediction_length < steps:
            return self, None
        intervals = intervals.first_steps(steps)
        if intervals.scales is not None:
            self._warn_of_other_scales(*intervals.scales)
        groups = groups_of(intervals.by, self._names, static, calibrated=intervals.groups)
        scaled = self
        if intervals.sizes is not None:
            scaled = replace(self, scale=self.scale * sizes_of(self._names, intervals.sizes))
        if not follow:
            return scaled, intervals.widths(levels, groups)
        scores, order, times = scaled.scores(levels)
        widths, _ = intervals.follow(scores, times, groups[order])
        return scaled, {level: width[np.argsort(order)] for level, width in widths.items()}

    def _warn_of_other_scales(self, low, high):
        """Warn of windows that are far smaller or larger than those of a calibration."""
        scale = self.units[:, 0]
        far = self.names[(scale > FAR * high) | (scale < low / FAR)]
        if len(far):
            warn_user(
                f"{len(far)} windows have scales far from those of the calibration, "
                f"{low.min():.3g} to {high.max():.3g}, {str(far[0])!r} is the first: calibrate on "
                "such series too."
            )

    @property
    def names(self):
        """Name of each window and channel, `(windows, num_channels)`."""
        return self.windows.panel.names[self.windows.series]

    @property
    def times(self):
        """Number on the clock of the first target step of each window, `(windows,)`."""
        return self.windows.panel.numbers(self.windows.series, self.windows.cuts)

    @property
    def _names(self):
        """Series of each window, `(windows,)`, str."""
        return read_series_names(self.windows.panel, self.windows.series)

    def frame(self, levels, widths=None, *, alias, is_backtest=False):
        """Return a frame with one row per window, channel and step, see `evaluation.columns`.

        If there are intervals and the point of the head is not its median, the medians are a column
        too. The bounds of a wider interval are never inside those of a narrower one: offsets may
        change their order, so they are sorted. The median, or a point that is one, moves with the
        bounds of the narrowest calibrated interval.

        Args:
            levels: Percents of the intervals.
            widths: Dict of level -> `(windows, prediction_length, num_channels, 2)`, distances by
                which the lower and the upper bound of conformal intervals are moved outwards, in
                units of the scale.
            alias: str, name of the forecast column.
            is_backtest: bool, whether to include the columns "cutoff" and "y".

        Returns:
            DataFrame with the columns "unique_id", "ds", "cutoff" and "y" of a backtest, and the
            forecasts.

        Raises:
            ValueError: If the alias is the name of another column.

        Source: Chernozhukov, Fernández-Val, Galichon (2010) for the order of the bounds.
        """
        columns = key_columns(self.windows, is_backtest) | self.columns(levels, widths, alias)
        return pd.DataFrame(columns, copy=False)

    def columns(self, levels, widths, alias, thresholds=()):
        """Return the columns of forecasts of `frame`, and the probabilities of thresholds.

        Args:
            levels: See `frame`.
            widths: See `frame`; of all calibrated levels if there are thresholds.
            alias: See `frame`.
            thresholds: Numbers in the units of the series.

        Raises:
            ValueError: If the forecast is a point without conformal intervals, which has no
                probabilities.
        """
        check_alias(alias)
        columns, known = {alias: self.output.point(self.parameters)}, sorted(widths or levels)
        is_mean = self.output.has_parameter_axis and not self.output.point_is_median
        middle = median_column(alias) if is_mean else alias
        if levels and is_mean:
            columns[middle] = self.output.median(self.parameters)
        if known:
            lows, highs = np.split(self.ordered_bounds(known, widths), 2)
            bounds = dict(zip(known, zip(lows[::-1], highs, strict=True), strict=True))
            if widths and middle in columns:
                columns[middle] = np.clip(columns[middle], lows[-1], highs[0])
            for level in sorted(levels):
                columns |= zip(interval_columns(alias, level), bounds[level], strict=True)
        columns = {name: self._column(values) for name, values in columns.items()}
        marginals = Marginals(self, widths) if thresholds else None
        for x in thresholds:
            columns[exceeds_column(alias, x)] = self._column(marginals.exceedance(x))
        return columns

    def ordered_bounds(self, levels, widths=None):
        """Return the bounds of the reported intervals, from the lowest to the highest.

        Args:
            levels: Increasing percents of the intervals.
            widths: See `frame`.

        Returns:
            `(2 * levels, windows, prediction_length, num_channels)`.
        """
        bounds = [bound for level in levels for bound in self._widened(level, widths)]
        return np.sort(bounds, axis=0)

    def _column(self, values):
        """Return values that broadcast to `(windows, prediction_length, num_channels)` as rows."""
        return _as_rows(self.windows, values)

    def _widened(self, level, widths):
        """Return the bounds of the reported interval: the model's, or the conformal one.

        If offsets have moved the bounds past each other, both are the point between them.
        """
        low, high = self.bounds(level)
        if widths is None:
            return low, high
        low = low - widths[level][..., 0] * self.scale
        high = high + widths[level][..., 1] * self.scale
        middle = (low + high) / 2
        low, high = np.minimum(low, middle), np.maximum(high, middle)
        return tuple(within_bounds(x, self.output) for x in (low, high))


def key_columns(windows, is_backtest=False):
    """Return the columns that identify the value that a row of a forecast belongs to, a dict."""
    panel, series, cuts = windows.panel, windows.series, windows.cuts
    steps = np.arange(windows.prediction_length)

    def stamps(rows):
        times = panel.clock.times(panel.numbers(series[:, None], rows).ravel())
        return times.take(_as_rows(windows, np.arange(rows.size).reshape(len(cuts), -1, 1)))

    columns = {
        ID: np.repeat(panel.names[series].ravel(), len(steps)),
        TIME: stamps(cuts[:, None] + steps),
    }
    if is_backtest:
        columns[CUTOFF] = stamps(cuts[:, None] - 1)
        columns[TARGET] = _as_rows(windows, _targets(windows))
    return columns


def _targets(windows):
    return windows.panel.values[windows.cuts[:, None] + np.arange(windows.prediction_length)]


def _as_rows(windows, values):
    shape = len(windows), windows.prediction_length, windows.panel.num_channels
    return np.broadcast_to(values, shape).transpose(0, 2, 1).ravel()
