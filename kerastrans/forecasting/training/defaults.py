"""What a forecaster chooses where it is not told: the context, and what is held out."""

from dataclasses import dataclass, replace

import numpy as np

from kerastrans.data.frames import ID
from kerastrans.data.time.seasons import seasons_of
from kerastrans.forecasting.inference.config import AUTO

LONG = 2000  # rows that train a model of many weights
LONGEST = 512  # steps of a context that is chosen
HELD_OUT = 64  # forecasts that do not overlap, of all series together, end the training
VALIDATING = 1000  # windows, about, that the held-out loss is the mean of
SHORT = 5  # forecasts that a series has at least: three of context, one trains, one ends
MANY = 50  # series, of which some can be held out
SHARE = 0.1  # of a series, at most, is held out; a whole forecast at least


def held_out_steps(frame, prediction_length):
    """How many last steps of each series are held out to end the training.

    As many as make 64 forecasts that do not overlap, of all series together, but at most a tenth
    of the median series; at least one forecast.

    Args:
        frame: long or wide.
        prediction_length: int.

    Example:
        >>> import pandas as pd
        >>> dates = pd.date_range("2024-01-01", periods=2400, freq="h")
        >>> held_out_steps(pd.DataFrame({"load": range(2400)}, dates), 24)
        240
    """
    lengths = _lengths(frame)
    typical = np.median(lengths) if len(lengths) else 0
    if typical <= 2 * prediction_length:
        return 0
    forecasts = -(-HELD_OUT // len(lengths))
    return prediction_length * max(1, min(forecasts, int(SHARE * typical / prediction_length)))


@dataclass(frozen=True)
class HeldOut:
    """What ends the training, and does not train.

    Attributes:
        steps: int, the last steps of series, which end the training; 0 for none.
        share: float, of how many series: of all, or of some, whose other steps do not train
            either, while the rest train up to their ends.
    """

    steps: int = 0
    share: float = 1.0

    @property
    def of_all(self):
        """Last steps of each series that do not train."""
        return self.steps if self.share == 1 else 0


def held_out(frame, prediction_length):
    """What is held out to end the training, a `HeldOut`.

    The end of each series, see `held_out_steps`. Of at least 50 series of which the median has too
    few steps for a context of three forecasts beside one that trains and one that is held out, some
    series are held out instead: a fifth, at most 64. The others then train with contexts as long
    as those that will be forecast from.

    Args:
        frame: long or wide.
        prediction_length: int.
    """
    lengths = _lengths(frame)
    is_short = len(lengths) and np.median(lengths) < SHORT * prediction_length
    if len(lengths) < MANY or not is_short:
        return HeldOut(held_out_steps(frame, prediction_length))
    return HeldOut(prediction_length, min(HELD_OUT, len(lengths) // 5) / len(lengths))


def _lengths(frame):
    return frame.groupby(ID).size() if ID in frame.columns else [len(frame)]


def thinned(series, cuts, most=VALIDATING):
    """About `most` windows, every second, third ... of them; all where they are fewer."""
    each = -(-len(cuts) // most) or 1
    return series[::each], cuts[::each]


def resolved(config, panel, held_out):
    """The config with an architecture, a context and a calendar for the series of a panel.

    The model "auto" is PatchTST for series whose median has 2,000 rows that train, or else TiDE,
    with the calendar where the frequency has one. The context is two of the longest season that is
    found four times in these rows, at least three forecasts and at most 512 steps, and no more than
    these rows have beside one forecast. Yearly series have no calendar.

    Args:
        config: `Config`.
        panel: `Panel`.
        held_out: int, last steps of each series that do not train.
    """
    if not len(panel):  # every series has a fault, which is told elsewhere
        return config
    rows = int(np.median(panel.cuts - panel.begins)) - held_out
    if config.model == AUTO:
        name = "patchtst" if rows >= LONG else "tide"
        knows = True if config.calendar is None else config.calendar
        config = replace(config, model=name, calendar=knows)
    if config.calendar and not panel.clock.calendar_names:
        config = replace(config, calendar=False)
    if config.context_length is not None:
        return config
    seasons = [season for season in seasons_of(panel.clock.freq) if 4 * season <= rows]
    wanted = max([2 * season for season in seasons] + [3 * config.prediction_length])
    context_length = max(1, min(wanted, LONGEST, rows - config.prediction_length))
    return replace(config, context_length=context_length)
