"""Split of a run's data: a training part, and the end of each series for a single test."""

import functools
import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd

from kerastrans.data.frames import check_has_columns
from kerastrans.data.panel import Panel, read_panel
from kerastrans.data.time.seasons import season_of
from kerastrans.utils.validation import check_positive_integers, list_names

MAX_ORIGINS = 28  # maximum number of origins in the test part
TEST_DIVISOR = 5  # the default test part is at most a fifth of the series
MAX_STEPS = 96  # maximum default prediction length


@dataclass(frozen=True)
class Series:
    """The frame of a run and its panel, read without Keras.

    Attributes:
        frame: DataFrame of all rows, long or wide.
        panel: `Panel` of its values.
    """

    frame: pd.DataFrame
    panel: Panel

    @classmethod
    def of(cls, frame, covariates=(), freq=None):
        """Read a frame and warn of series that are left out.

        Args:
            frame: Long or wide DataFrame.
            covariates: Names of the columns of a wide frame that are not channels.
            freq: str, pandas frequency; required if it cannot be inferred from the time stamps.

        Raises:
            ValueError: If the frame is invalid, see `read_panel`, or has no such column.
        """
        check_has_columns(frame, covariates, "covariates")
        panel = read_panel(frame.drop(columns=list(covariates)), freq=freq)
        if panel.faults:
            name, fault = next(iter(panel.faults.items()))
            warnings.warn(
                f"{len(panel.faults)} series left out: {name!r} has {fault}.", stacklevel=2
            )
        return cls(frame, panel)

    @property
    def freq(self):
        """Pandas frequency of the series, a str."""
        return self.panel.clock.freq

    @functools.cached_property
    def length(self):
        """Median number of steps of the series."""
        return int(np.median(self.panel.cuts - self.panel.begins))

    @property
    def sizes(self):
        """Default lengths: a season to forecast, from a context that is up to seven times as long.

        A dict with the keys "context_length" and "prediction_length".
        """
        season = season_of(self.freq)
        steps = min(season if season > 1 else 12, MAX_STEPS, max(1, self.length // 8))
        context_length = max(steps, min(7 * steps, self.length // 3))
        return {"context_length": context_length, "prediction_length": steps}

    def split(self, prediction_length, test_size=None):
        """Return the rows before the test part, and the number of origins in it.

        Args:
            prediction_length: int, number of steps to forecast.
            test_size: int, number of steps of the test part; None for a number of whole forecasts
                that is limited by `MAX_ORIGINS` and `TEST_DIVISOR`.

        Raises:
            ValueError: If the test part is shorter than a forecast, or leaves too few rows, or a
                channel without a value.
        """
        from kerastrans.forecasting.inference.rolling_origins import rows_until

        check_positive_integers(prediction_length=prediction_length)
        if test_size is None:
            origins = max(1, min(self.length // TEST_DIVISOR // prediction_length, MAX_ORIGINS))
            test_size = origins * prediction_length
        check_positive_integers(test_size=test_size)
        if test_size < prediction_length:
            raise ValueError(
                f"test_size={test_size} is shorter than a forecast of "
                f"prediction_length={prediction_length} steps."
            )
        num_train = self.length - test_size
        if num_train <= prediction_length:
            raise ValueError(
                f"a test part of {test_size} steps leaves {max(0, num_train)} of {self.length} for "
                f"training, but a window is longer than {prediction_length} steps."
            )
        self._check_channels(self.panel.cuts - test_size)
        train = rows_until(self.frame, self.panel, self.panel.cuts - test_size)
        return train, test_size // prediction_length

    def _check_channels(self, cuts):
        """Raise ValueError for channels without a value before these cuts, `(series,)`."""
        panel = self.panel.until(cuts)
        if panel.num_channels > 1 and len(empty := panel.channels_without_value()):
            raise ValueError(
                f"no value to train on in {list_names(empty)}: choose the other columns by "
                "--columns."
            )
