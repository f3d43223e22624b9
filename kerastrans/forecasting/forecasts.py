"""Forecasts of many windows: their intervals, their conformity scores, the rows of a frame."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from kerastrans import heads
from kerastrans.data.frames import ID, TARGET, TIME
from kerastrans.data.panel_windows import Windows
from kerastrans.evaluation.columns import CUTOFF, check_alias, interval_columns, median_column
from kerastrans.forecasting.conformal import conformity_scores


@dataclass(frozen=True)
class Forecasts:
    """Forecasts of windows, in the units of their series.

    Attributes:
        windows: `Windows`.
        output: the head, or `heads.Samples`, that reads the parameters.
        parameters: `(windows, prediction_length, num_channels, size)`, without the last axis for
            points.
        scale: `(windows, 1, num_channels)`, the windows' scales, in units of the series.
    """

    windows: Windows
    output: object
    parameters: np.ndarray
    scale: np.ndarray

    @property
    def targets(self):
        """True values `(windows, prediction_length, num_channels)`, NaN where missing."""
        rows = self.windows.cuts[:, None] + np.arange(self.windows.prediction_length)
        return self.windows.panel.values[rows]

    def bounds(self, level):
        """Bounds of the model's own interval of `level` percent; of a point the point, twice."""
        if isinstance(self.output, heads.PointHead):
            return self.parameters, self.parameters
        tail = (1 - level / 100) / 2
        both = self.output.quantile(self.parameters, (tail, 1 - tail))
        return both[..., 0], both[..., 1]

    def scores(self, levels):
        """Conformity scores of the windows in the order of time.

        Args:
            levels: percents of the intervals.

        Returns:
            `(scores, order, times)`: a dict of level -> `(windows, prediction_length,
            num_channels)`; the windows' places in the order of time; and the clock's number of
            each one's first target step.
        """
        times = self.windows.panel.numbers(self.windows.series, self.windows.cuts)
        order = np.argsort(times, kind="stable")
        targets = self.targets
        scores = {
            level: conformity_scores(targets, *self.bounds(level), self.scale)[order]
            for level in levels
        }
        return scores, order, times[order]

    def followed_widths(self, intervals, levels):
        """Dict of level -> what `ConformalIntervals` add to each window, as `scores` has it."""
        scores, order, times = self.scores(levels)
        widths, _ = intervals.follow(scores, times)
        return {level: width[np.argsort(order)] for level, width in widths.items()}

    def frame(self, levels, widths=None, *, alias, is_backtest=False):
        """Rows by window, channel and step, in the columns of `kerastrans.evaluation.columns`.

        The medians have a column of their own where there are intervals and the head's point is
        not its median. The bounds of a wider interval are never inside those of a narrower one.

        Args:
            levels: percents of the intervals.
            widths: dict of level -> what the conformal interval adds, in units of the scale.
            alias: str, what the columns of the forecasts are named after.
            is_backtest: bool, whether "cutoff" and "y" are columns too.

        Returns:
            DataFrame "unique_id", "ds", "cutoff" and "y" of a backtest, and the forecasts.

        Raises:
            ValueError: an alias that names another column.
        """
        check_alias(alias)
        columns = self._keys(is_backtest)
        columns[alias] = self._column(self.output.point(self.parameters))
        levels = sorted(levels)
        if levels and not (isinstance(self.output, heads.PointHead) or self.output.point_is_median):
            columns[median_column(alias)] = self._column(self.output.median(self.parameters))
        if levels:
            bounds = (self._widened(level, widths) for level in levels)
            lows, highs = (np.sort(side, axis=0) for side in zip(*bounds, strict=True))
            for level, low, high in zip(levels, lows[::-1], highs, strict=True):
                names = interval_columns(alias, level)
                columns |= zip(names, map(self._column, (low, high)), strict=True)
        return pd.DataFrame(columns, copy=False)

    def _keys(self, is_backtest):
        """The columns that say which value a row forecasts."""
        panel, series, cuts = self.windows.panel, self.windows.series, self.windows.cuts
        steps = np.arange(self.windows.prediction_length)

        def stamps(rows):
            times = panel.clock.times(panel.numbers(series[:, None], rows).ravel())
            return times.take(self._column(np.arange(rows.size).reshape(len(cuts), -1, 1)))

        columns = {
            ID: np.repeat(panel.names[series].ravel(), len(steps)),
            TIME: stamps(cuts[:, None] + steps),
        }
        if is_backtest:
            columns[CUTOFF] = stamps(cuts[:, None] - 1)
            columns[TARGET] = self._column(self.targets)
        return columns

    def _column(self, values):
        """Values `(windows, prediction_length, num_channels)`, or broadcast, as rows."""
        windows = self.windows
        shape = len(windows), windows.prediction_length, windows.panel.num_channels
        return np.broadcast_to(values, shape).transpose(0, 2, 1).ravel()

    def _widened(self, level, widths):
        """Bounds of the interval that is reported: the model's own, or the conformal one."""
        low, high = self.bounds(level)
        if widths is None:
            return low, high
        low, high = low - widths[level] * self.scale, high + widths[level] * self.scale
        low, high = np.minimum(low, high), np.maximum(low, high)
        if self.output.lower_bound is None:
            return low, high
        return np.maximum(low, self.output.lower_bound), np.maximum(high, self.output.lower_bound)
