"""The part of a Forecaster that looks at how good it is: backtests, calibration, importances."""

from dataclasses import replace
from typing import Any, Self

import numpy as np
import pandas as pd

from kerastrans.data.frames import ID, TIME
from kerastrans.forecasting.conformal.group_intervals import METHODS
from kerastrans.forecasting.conformal.groups import groups_of, names_of
from kerastrans.forecasting.conformal.intervals import ConformalIntervals
from kerastrans.forecasting.conformal.offsets import check_windows
from kerastrans.forecasting.inference import rolling_origins as rolling
from kerastrans.forecasting.inference.contamination import warn_if_seen
from kerastrans.forecasting.inference.forecast import forecast_windows
from kerastrans.forecasting.inference.importances import importances_frame
from kerastrans.forecasting.inference.reader import Reader
from kerastrans.forecasting.inference.state import LEVELS
from kerastrans.forecasting.training.windows import windows_of
from kerastrans.utils.types import Levels
from kerastrans.utils.validation import check_choice, check_percents, check_positive_integers

SCALES = ("window", "residuals")


class Evaluated:
    """What a `Forecaster` says of itself on data; its constructor and `fit` are there."""

    def backtest(
        self,
        frame: pd.DataFrame,
        *,
        windows: int = 5,
        step: int | None = None,
        static: pd.DataFrame | None = None,
        levels: Levels | None = None,
        refit: bool | int = False,
        train_size: int | None = None,
        **kwargs: Any,
    ) -> pd.DataFrame:
        """Forecast the end of each series from several origins, each from what lies before it.

        Args:
            frame: As in `fit`.
            windows: int, origins; the last leaves `prediction_length` steps to forecast.
            step: int, steps from one origin to the next; `prediction_length` by default.
            static: As in `fit`.
            levels: Percents of the intervals, as in `predict`.
            refit: bool, whether a new model is trained at each origin on what lies before it; the
                forecaster itself stays as it is. Otherwise the trained one forecasts all, and
                `frame` should end after its training data; a warning says where it does not.
            train_size: int, for `refit`: steps that each is trained on (a sliding window); None
                for all that lies before (an expanding window).
            **kwargs: For `refit`, arguments of `fit`.

        Returns:
            DataFrame "unique_id", "ds", "cutoff" (the last step known), "y", the forecast and its
            intervals. Adaptive intervals learn from each origin's outcomes once they are known.

        Raises:
            RuntimeError: Neither trained nor `refit`.
            ValueError: Bad frames; a series is too short for the first origin.
            ValueError: Arguments of `refit` without it; `validation` with it.
        """
        step = step or self.config.prediction_length
        check_positive_integers(windows=windows, step=step)
        levels = levels if levels is None else check_percents(levels)
        if not refit and (kwargs or train_size is not None):
            names = sorted({*kwargs, *(["train_size"] if train_size is not None else [])})
            raise ValueError(f"{names} are arguments of refit=True, which was not given.")
        if kwargs.get("validation") is not None:
            raise ValueError(
                "validation and refit=True exclude each other: its rows may lie after an origin. "
                "Use validation_size."
            )
        if refit:
            _, panel = Reader.of(self.config, frame, static, kwargs.pop("freq", None))
        else:
            panel = self.reader.panel(frame, static)
        panel = rolling.long_enough(self.config, panel, windows, step)
        self._report(panel)
        warn_if_seen(self.card, frame, self._told)
        if refit:
            forecasts, fitted = rolling.refit_origins(
                self, frame, panel, windows, step, train_size, static, kwargs
            )
            levels = fitted.levels(levels)
        else:
            fitted, levels = self.fitted, self.fitted.levels(levels)
            forecasts = rolling.forecast_origins(self.config, self.fitted, panel, windows, step)
            chosen = forecasts.windows
            rolling.warn_in_sample(self.fitted, panel, chosen.series, chosen.cuts, "score", 3)
        forecasts, widths = forecasts.conformal(fitted.intervals, levels, static, follow=True)
        rows = forecasts.frame(levels, widths, is_backtest=True, alias=self.alias)
        return rows.sort_values([ID, "cutoff", TIME], ignore_index=True)

    def calibrate(
        self,
        frame: pd.DataFrame,
        *,
        windows: int,
        step: int | None = None,
        static: pd.DataFrame | None = None,
        levels: Levels = LEVELS,
        method: str = "split",
        symmetric: bool | None = None,
        by: str | None = None,
        scale: str = "window",
    ) -> Self:
        """Measure on data that were not trained on how wide the intervals have to be.

        What is promised is a mean over the series that calibrate, or over those of a group, and
        over their origins; see `kerastrans.conformal`. An interval of 80 % needs 4 windows, one of
        95 % 19, and as many origins that do not overlap for the promise to be worth something: a
        warning says where there are fewer.

        Args:
            frame: As in `backtest`; the last `windows` origins, `step` apart, calibrate.
            windows: int, origins.
            step: int, steps from one origin to the next. By default the largest, up to
                `prediction_length`, at which all origins have a whole context and forecast rows
                that the model has not seen, in every series that has room for them; or else 1.
            static: As in `fit`.
            levels: Percents that the intervals are to cover.
            method: "split", for one width from now on, or "adaptive", which `backtest` goes on
                adapting to outcomes as they become known; `predict` has the width that the last of
                the calibration's outcomes left, and promises what "split" does.
            symmetric: bool, whether both bounds move alike. Otherwise each has its own offset, and
                is a quantile itself; that takes twice as many windows. By default it is False where
                the errors are skewed and the windows suffice; `fitted.intervals.symmetric` tells.
            by: "unique_id", or a column of `static`, for offsets of each series, or each group of
                them; others are given those of all series, and named in a warning.
            scale: "window", for offsets in units of each window's scale, or "residuals", for
                offsets that are also proportional to the mean absolute residual of each series:
                a noisy series is given wider intervals, of fewer windows than `by` asks for.

        Returns:
            The forecaster; `predict` and `backtest` now return these intervals.

        Raises:
            RuntimeError: Not trained.
            ValueError: Too few windows for a level, in all or in a group, which is named.
            ValueError: No such column in `static`; as `backtest`.
        """
        levels = check_percents(levels)
        if not levels:
            raise ValueError("levels must name at least one percent to calibrate, got none.")
        check_positive_integers(windows=windows, step=1 if step is None else step)
        check_choice("method", method, METHODS)
        check_choice("symmetric", symmetric, (None, True, False))
        check_choice("scale", scale, SCALES)
        panel = rolling.long_enough(self.config, self.reader.panel(frame, static), 1, 1)
        self._report(panel)
        warn_if_seen(self.card, frame, self._told)
        step = step or rolling.calibration_step(self.config, self.fitted, panel, windows)
        cuts = rolling.origins(panel, self.config.prediction_length, windows, step).ravel()
        series = np.tile(np.arange(len(panel)), windows)
        inside = cuts > panel.begins[series]
        series, cuts = series[inside], cuts[inside]
        groups = groups_of(by, names_of(panel, series), static)
        check_windows(levels[-1], len(cuts))
        rolling.warn_in_sample(self.fitted, panel, series, cuts, "calibrate by", 3)
        rolling.warn_of_choice(self.fitted, panel, series, cuts, 3)
        chosen = windows_of(self.config, self.fitted.model, panel, series, cuts)
        forecasts, sizes = forecast_windows(self.config, self.fitted, chosen), None
        if scale == "residuals":
            forecasts, sizes = forecasts.in_residuals()
        scores, order, times = forecasts.scores(levels)
        intervals = ConformalIntervals.fit(
            scores, times, method, symmetric=symmetric, by=by, groups=groups[order]
        )
        intervals.warn_of_few()
        self.fitted = self.fitted.with_intervals(replace(intervals, sizes=sizes))
        return self

    def variable_importances(
        self, frame: pd.DataFrame, *, static: pd.DataFrame | None = None
    ) -> Any:
        """How much a "tft" looks at each variable in the last windows of these series.

        Args:
            frame: As in `fit`; the windows end where the series do.
            static: As in `fit`.

        Returns:
            DataFrame with columns "kind", "variable" and "share", see
            `kerastrans.variable_importances`.

        Raises:
            RuntimeError: Not trained.
            ValueError: Bad frames, another architecture.
        """
        panel = self.reader.panel(frame, static)
        self._report(panel)
        return importances_frame(self.config, self.fitted, panel)
