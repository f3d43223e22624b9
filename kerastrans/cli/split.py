"""The data of a run: a part that trains, and the end of each series, which tests it once."""

import functools
import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd

from kerastrans.data.panel import Panel, read_panel
from kerastrans.data.time.seasons import season_of
from kerastrans.utils.validation import check_positive_integers

MAX_ORIGINS, SHARE = 28, 5  # of the test part: at most so many, in a fifth of the series at most
MAX_STEPS = 96  # of a forecast whose length is not given


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
        """Read a frame, and warn of the series that are left out.

        Args:
            frame: long or wide.
            covariates: names of columns of a wide frame that are no channels.
            freq: str, pandas frequency, where the time stamps do not tell it.

        Raises:
            ValueError: bad frames, see `read_panel`.
        """
        panel = read_panel(frame.drop(columns=list(covariates)), freq=freq)
        if panel.faults:
            name, fault = next(iter(panel.faults.items()))
            warnings.warn(
                f"{len(panel.faults)} series left out: {name!r} has {fault}.", stacklevel=2
            )
        return cls(frame, panel)

    @property
    def freq(self):
        """Pandas frequency, str."""
        return self.panel.clock.freq

    @functools.cached_property
    def length(self):
        """Steps of the series in the middle, by length."""
        return int(np.median(self.panel.cuts - self.panel.begins))

    @property
    def sizes(self):
        """Dict of lengths that suit the series: a season ahead, from seven times as many steps."""
        season = season_of(self.freq)
        steps = min(season if season > 1 else 12, MAX_STEPS, max(1, self.length // 8))
        context_length = max(steps, min(7 * steps, self.length // 3))
        return {"context_length": context_length, "prediction_length": steps}

    def split(self, prediction_length, test_size=None):
        """Rows before the test part, and the number of origins in it.

        Args:
            prediction_length: int.
            test_size: int, steps of the test part; None for whole forecasts, see `SHARE`.

        Raises:
            ValueError: a test part without a whole forecast, or that leaves no rows.
        """
        from kerastrans.forecasting.inference.rolling_origins import rows_until

        check_positive_integers(prediction_length=prediction_length)
        if test_size is None:
            origins = max(1, min(self.length // SHARE // prediction_length, MAX_ORIGINS))
            test_size = origins * prediction_length
        check_positive_integers(test_size=test_size)
        if test_size < prediction_length:
            raise ValueError(
                f"test_size={test_size} holds no whole forecast of "
                f"prediction_length={prediction_length} steps."
            )
        rest = self.length - test_size
        if rest <= prediction_length:
            raise ValueError(
                f"a test part of {test_size} steps leaves {max(0, rest)} of {self.length} to train "
                f"on, a window has more than {prediction_length}."
            )
        train = rows_until(self.frame, self.panel, self.panel.cuts - test_size)
        return train, test_size // prediction_length
