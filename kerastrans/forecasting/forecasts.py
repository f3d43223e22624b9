"""What a model said of many windows: its bounds, its errors, and the rows of a frame."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from kerastrans import heads
from kerastrans.data.frames import ID, TARGET, TIME
from kerastrans.data.panel_windows import Windows
from kerastrans.forecasting.conformal import conformity_scores


@dataclass(frozen=True)
class Forecasts:
    """Forecasts of windows, in the units of their series.

    Attributes:
        windows: `Windows`.
        output: the head, or `heads.Samples`, that reads the parameters.
        parameters: `(windows, prediction_length, num_channels, size)`, without the last axis for
            points.
        scale: `(windows, 1, num_channels)`, the windows' scales.
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
        """Lower and upper bound of the model's own interval; of a point the point, twice."""
        if isinstance(self.output, heads.PointHead):
            return self.parameters, self.parameters
        tail = (1 - level / 100) / 2
        both = self.output.quantile(self.parameters, (tail, 1 - tail))
        return both[..., 0], both[..., 1]

    def scores(self, levels):
        """Conformity scores by level, the windows in the order of time; their order and times."""
        times = self.windows.panel.numbers(self.windows.series, self.windows.cuts)
        order = np.argsort(times, kind="stable")
        targets = self.targets
        scores = {
            level: conformity_scores(targets, *self.bounds(level), self.scale)[order]
            for level in levels
        }
        return scores, order, times[order]

    def followed_widths(self, intervals, levels):
        """Widths of conformal intervals that learn from each outcome once it is known."""
        scores, order, times = self.scores(levels)
        widths, _ = intervals.follow(scores, times)
        return {level: width[np.argsort(order)] for level, width in widths.items()}

    def frame(self, levels, widths=None, is_backtest=False):
        """Rows by window, channel and step.

        Args:
            levels: percents of the intervals.
            widths: dict of level -> what the conformal interval adds, in units of the scale.
            is_backtest: bool, whether "cutoff" and "y" are columns too.
        """
        panel, series, cuts = self.windows.panel, self.windows.series, self.windows.cuts
        steps = np.arange(self.windows.prediction_length)
        shape = len(cuts), len(steps), panel.num_channels

        def column(values):
            return np.broadcast_to(values, shape).transpose(0, 2, 1).ravel()

        def stamps(rows):
            times = panel.clock.times(panel.numbers(series[:, None], rows).ravel())
            return times.take(column(np.arange(rows.size).reshape(len(cuts), -1, 1)))

        columns = {
            ID: np.repeat(panel.names[series].ravel(), len(steps)),
            TIME: stamps(cuts[:, None] + steps),
        }
        if is_backtest:
            columns["cutoff"] = stamps(cuts[:, None] - 1)
            columns[TARGET] = column(self.targets)
        columns["mean"] = column(self.output.point(self.parameters))
        levels = sorted(levels)
        bounds = [self._widened(level, widths) for level in levels]
        if bounds:  # sorted, so that a wider interval contains the narrower one
            low, high = (np.sort(side, axis=0) for side in zip(*bounds, strict=True))
            for i, level in enumerate(levels):
                columns[f"lo-{level}"] = column(low[-1 - i])
                columns[f"hi-{level}"] = column(high[i])
        return pd.DataFrame(columns, copy=False)

    def _widened(self, level, widths):
        low, high = self.bounds(level)
        if widths is None:
            return low, high
        low, high = low - widths[level] * self.scale, high + widths[level] * self.scale
        return np.minimum(low, high), np.maximum(low, high)
