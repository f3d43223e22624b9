"""The part of a Forecaster that forecasts: from frames, and from arrays."""

import inspect
from typing import Any

import numpy as np
import pandas as pd

from kerastrans.forecasting.inference.contamination import warn_if_seen
from kerastrans.forecasting.inference.forecast import forecast_arrays, forecast_windows
from kerastrans.forecasting.inference.reader import Reader, report_faults
from kerastrans.forecasting.inference.univariate import adapted
from kerastrans.forecasting.training.windows import windows_of
from kerastrans.utils.types import Levels


class Predicted:
    """How a `Forecaster` forecasts; its constructor and `fit` are there."""

    def __repr__(self):
        given = self.config.arguments()
        first = [repr(self.config.architecture or self.config.name)]
        first += [str(given[name]) for name in ("context_length", "prediction_length")]
        defaults = inspect.signature(type(self)).parameters
        shown = [
            f"{name}={value!r}"
            for name, value in given.items()
            if name not in ("model", "context_length", "prediction_length")
            and (name not in defaults or defaults[name].default != value)
            and not (name == "scaler" and value.kind == "standard")
        ]
        return f"Forecaster({', '.join(first + shown)})"

    @property
    def prediction_length(self) -> int:
        """Steps of a forecast."""
        return self.config.prediction_length

    @property
    def alias(self) -> str:
        """Name of the forecast's columns."""
        return self.config.name

    @property
    def model(self) -> Any:
        """The Keras model; None before `fit`, unless it came built."""
        if self.fitted is not None:
            return self.fitted.model
        return self.config.model if self.config.is_built else None

    @property
    def history(self) -> Any:
        """What `keras.Model.fit` returned, None for a forecaster that was loaded."""
        return self.fitted and self.fitted.history

    @property
    def card(self) -> Any:
        """Dict of where published weights come from; None of a model without."""
        return self.fitted and self.fitted.card

    def predict(
        self,
        frame: pd.DataFrame,
        *,
        future: pd.DataFrame | None = None,
        static: pd.DataFrame | None = None,
        levels: Levels | None = None,
    ) -> pd.DataFrame:
        """Forecast what comes after each series.

        A model that treats channels apart also takes frames of other columns than those it was
        trained on, and long ones: each series is then forecast by itself.

        Args:
            frame: As `fit` takes it; series may be new.
            future: Frame of the same kind, without values, with the future covariates of the
                `prediction_length` steps after each series.
            static: As in `fit`; with the column that `calibrate` was given as `by`, if any.
            levels: Percents of the intervals; 80 and 95 by default, as far as the head has them or
                `calibrate` was called. Those that a head of quantiles was not trained on are read
                between its quantiles, or extrapolated beyond them, see `QuantileHead`.

        Returns:
            DataFrame "unique_id", "ds", the forecast, named by `alias`, and for each level its
            interval "<alias>-lo-80", "<alias>-hi-80"; `prediction_length` rows a series and
            channel. The forecast is the head's point: the median of quantiles, the mean of
            distributions; "<alias>-median" accompanies a mean that is not the median. A series
            with a fault is left out, and named in a warning and in `faults`.

        Raises:
            RuntimeError: Not trained.
            ValueError: Bad frames; levels that there are none of.
        """
        fitted = adapted(self.config, self._trained(), frame)
        levels = fitted.levels(levels)
        reader = Reader.like(self.config, fitted)
        panel = reader.with_future(reader.panel(frame, static, future))
        everything = np.arange(len(panel))
        windows = windows_of(self.config, fitted.model, panel, everything, panel.cuts)
        silent = np.flatnonzero(~windows.observed())
        why = f"no value in its last {self.config.context_length} steps"
        panel = panel.without(dict.fromkeys(silent, why))
        self._report(panel)
        warn_if_seen(self.card, frame, self._told)
        windows = windows_of(self.config, fitted.model, panel, np.arange(len(panel)), panel.cuts)
        forecasts = forecast_windows(self.config, fitted, windows)
        forecasts, widths = forecasts.conformal(fitted.intervals, levels, static)
        return forecasts.frame(levels, widths, alias=self.alias)

    def forecast_histories(self, inputs: Any) -> Any:
        """Forecast from arrays, as an exported model does.

        Args:
            inputs: Dict of arrays by the names of the model's inputs: "history"
                `(batch, context_length, num_channels)` in the units of the series, NaN for a
                missing value, and what else the model asks for, as `Windows.arrays` makes it.

        Returns:
            Dict of float64 arrays: "forecast" `(batch, prediction_length, num_channels)` in the
            same units, and the head's "quantiles" or "parameters", or an autoregressive model's
            "samples", with a last axis.

        Raises:
            RuntimeError: Not trained.
        """
        fitted = self._trained()
        return fitted.head.outputs(forecast_arrays(self.config, fitted, inputs))

    @property
    def reader(self) -> Any:
        """`Reader` of frames as the training data were read."""
        return Reader.like(self.config, self._trained())

    def _trained(self):
        if self.fitted is None:
            raise RuntimeError("this forecaster is not trained: call fit first.")
        return self.fitted

    def _report(self, panel):
        """Keep the faults of series that are left out, and warn of them."""
        self.faults = dict(panel.faults)
        report_faults(self.faults, len(panel), stacklevel=4)
