"""Column names of forecasts in Nixtla's convention, and readers of these columns.

A frame of forecasts has the columns "unique_id" and "ds". A backtest also has "cutoff", the time of
the last known step, and "y", the true value; a frame of sample paths also has "path", the number of
the path, and that of their sums "steps", the number of time stamps of a period. The forecasts of a
model are named after its alias: `<alias>` is the point forecast, `<alias>-lo-80` and
`<alias>-hi-80` are the bounds of the 80 percent interval, and `<alias>-median` is the median if the
point forecast is not the median (for counts, for example, it is the mean).
`<alias>-exceeds-3` is the probability of a value above 3.
"""

import re
from dataclasses import dataclass

import pandas as pd

from kerastrans.data.frames import ID, TARGET, TIME
from kerastrans.data.native_frames import takes_any_frame
from kerastrans.utils.types import Backtests
from kerastrans.utils.validation import check_choice, exact

CUTOFF, PATH, STEPS = "cutoff", "path", "steps"
CONTAMINATION = "contamination"  # key in the `attrs` of the rows of `Forecaster.backtest`
_RESERVED = (ID, TIME, CUTOFF, PATH, STEPS, TARGET)
_PART = re.compile(r".+-(lo-[\d.]+|hi-[\d.]+|median|exceeds-[-+\d.e]+)")


@dataclass(frozen=True)
class ModelColumns:
    """Columns of one model in a frame of forecasts.

    Attributes:
        alias: str, name of the model and of the column of its point forecasts.
        median: str, column of the medians; the alias, unless the medians have a separate column.
        intervals: Dict of level in percent, increasing -> columns of the lower and upper bounds.
    """

    alias: str
    median: str
    intervals: dict

    @property
    def quantiles(self):
        """Columns by probability: dict of increasing probability -> column."""
        # Rounded, so that 80 percent gives 0.1 and not 0.09999999999999998.
        bounds = self.intervals.items()
        lower = {round((1 - level / 100) / 2, 12): low for level, (low, _) in bounds}
        upper = {round((1 + level / 100) / 2, 12): high for level, (_, high) in bounds}
        return dict(sorted({**lower, 0.5: self.median, **upper}.items()))


def interval_columns(alias, level):
    """Return the columns of the lower and upper bounds of the interval of `level` percent.

    Example:
        >>> interval_columns("nhits", 80)
        ('nhits-lo-80', 'nhits-hi-80')
    """
    return f"{alias}-lo-{exact(level)}", f"{alias}-hi-{exact(level)}"


def median_column(alias):
    """Return the column of the medians, used if the point forecast is not the median."""
    return f"{alias}-median"


def exceeds_column(alias, threshold):
    """Return the column of the probability of a value above a threshold.

    Example:
        >>> exceeds_column("nhits", 3.0)
        'nhits-exceeds-3'
    """
    return f"{alias}-exceeds-{exact(threshold)}"


def check_alias(alias):
    """Raise ValueError unless `alias` can name a model in a frame of forecasts."""
    if not isinstance(alias, str) or not alias or alias in _RESERVED or _PART.fullmatch(alias):
        raise ValueError(
            f"alias must be a str other than {', '.join(map(repr, _RESERVED))} that does not end "
            f"in '-median' or, for example, '-lo-80', got {alias!r}."
        )


def check_columns(frame, *names):
    """Raise ValueError unless `frame` is a DataFrame with all columns in `names`."""
    if not isinstance(frame, pd.DataFrame):
        raise ValueError(f"expected a DataFrame, got {type(frame).__name__}.")
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise ValueError(
            f"the frame needs the columns {list(names)}; it has {list(frame.columns)}, without "
            f"{missing}."
        )


def model_names(frame):
    """Return the aliases of the models in a frame of forecasts, in the order of its columns.

    Example:
        >>> model_names(pd.DataFrame(columns=["unique_id", "ds", "nhits", "nhits-lo-80", "tide"]))
        ['nhits', 'tide']
    """
    columns = [str(name) for name in frame.columns]
    return [name for name in columns if name not in _RESERVED and not _PART.fullmatch(name)]


def read_columns(frame, alias=None):
    """Read the columns of one model in a frame of forecasts.

    Args:
        frame: DataFrame returned by `Forecaster.predict` or `Forecaster.backtest`.
        alias: str, name of the model; optional if the frame contains only one.

    Returns:
        `ModelColumns`.

    Raises:
        ValueError: If the frame contains no forecasts, or none of a model with this alias.
        ValueError: If the frame contains several models and `alias` is not given.

    Example:
        >>> frame = pd.DataFrame(columns=["unique_id", "ds", "nhits", "nhits-lo-80", "nhits-hi-80"])
        >>> read_columns(frame).intervals
        {80: ('nhits-lo-80', 'nhits-hi-80')}
    """
    names = model_names(frame)
    if not names:
        raise ValueError(f"the frame holds no forecasts, only {list(frame.columns)}.")
    if alias is None:
        if len(names) > 1:
            raise ValueError(f"the frame holds the forecasts of {names}: choose one with alias=.")
        (alias,) = names
    check_choice("alias", alias, tuple(names))
    intervals = {}
    for low in map(str, frame.columns):
        text = low.removeprefix(f"{alias}-lo-")
        high = f"{alias}-hi-{text}"
        if text != low and high in frame.columns:
            intervals[float(text) if float(text) % 1 else int(float(text))] = low, high
    median = median_column(alias) if median_column(alias) in frame.columns else alias
    return ModelColumns(alias, median, dict(sorted(intervals.items())))


def split_models(frames):
    """Split a frame of several models into a dict of name -> frame of one model.

    A dict is returned unchanged.

    Example:
        >>> frame = pd.DataFrame(columns=["unique_id", "ds", "nhits", "nhits-median", "tide"])
        >>> {name: list(part.columns) for name, part in split_models(frame).items()}
        {'nhits': ['unique_id', 'ds', 'nhits', 'nhits-median'], 'tide': ['unique_id', 'ds', 'tide']}
    """
    if not isinstance(frames, pd.DataFrame):
        return frames
    keys = [name for name in frames.columns if name in _RESERVED]
    columns = {name: read_columns(frames, name) for name in model_names(frames)}
    return {
        name: frames[[*keys, *dict.fromkeys([name, *model.quantiles.values()])]]
        for name, model in columns.items()
    }


@takes_any_frame
def contamination_lines(backtests: Backtests) -> list[str]:
    """Return one line per model: whether its weights were trained on the series of its backtest.

    Args:
        backtests: Dict of name -> DataFrame returned by `Forecaster.backtest`, or one backtest of
            one or several models. The statement is in `attrs` of the rows, which copies and slices
            keep, and files, merged frames and other kinds of frames do not.

    Returns:
        List of str.

    Example:
        >>> import kerastrans
        >>> frame = kerastrans.datasets.load("air_passengers")
        >>> zero = kerastrans.from_pretrained("kerastrans_zero_2", 12, verbose=False)
        >>> lines = contamination_lines(zero.backtest(frame, windows=1))
        >>> lines[0].partition(" (")[0]
        "kerastrans_zero_2 was not trained on 'air_passengers'"
    """
    lines = []
    for name, frame in split_models(backtests).items():
        stated = frame.attrs.get(CONTAMINATION, {})
        line = stated.get(name) or next(iter(stated.values()), None)
        lines.append(
            line
            or f"It is not recorded whether {name} was trained on these series: its rows do not "
            "come from Forecaster.backtest, or were merged or read from a file."
        )
    return lines
