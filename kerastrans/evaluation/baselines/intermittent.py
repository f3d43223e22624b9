"""Baselines for intermittent demand: Croston, SBA, TSB and ADIDA.

They forecast the mean of a series that is often zero, such as sales of spare parts, by exponential
smoothing of the sizes of demands and of the intervals between them. All forecast the same value for
every step.
"""

import numpy as np
from narwhals.typing import IntoDataFrame, IntoDataFrameT

from kerastrans.data.native_frames import takes_any_frame
from kerastrans.evaluation.baselines.naive import locate, on_rows, origins_of

SMOOTHING = 0.1  # weight of the newest demand; Syntetos, Boylan (2005) recommend 0.05 to 0.2


@takes_any_frame
def intermittent_backtests(
    backtest: IntoDataFrameT,
    history: IntoDataFrame,
    *,
    smoothing: float = SMOOTHING,
    freq: str | None = None,
) -> dict[str, IntoDataFrameT]:
    """Backtest Croston, SBA, TSB and ADIDA on the rows of a backtest.

    Args:
        backtest: DataFrame returned by `Forecaster.backtest`. Its "y" extends the history of later
            origins.
        history: Long or wide DataFrame of the series before and between the origins.
        smoothing: float in (0, 1), weight of the newest value in all exponential averages.
        freq: str, pandas frequency; required if it cannot be inferred from the time stamps.

    Returns:
        Dict of name -> backtest. The names are "croston", "sba", "tsb" and "adida".

    Raises:
        ValueError: If `smoothing` is not between 0 and 1, or the history has a negative value.
        ValueError: If a column is missing, or a series has no history.

    Source: Croston (1972); Syntetos, Boylan (2005) for SBA; Teunter, Syntetos, Babai (2011) for
    TSB; Nikolopoulos et al. (2011) for ADIDA.

    Example:
        >>> import pandas as pd
        >>> times = pd.date_range("2024-01-01", periods=9, freq="D")
        >>> history = pd.DataFrame({"a": [0.0, 4.0] * 4 + [0.0]}, times)
        >>> rows = {"unique_id": "a", "ds": times[8:], "cutoff": times[7], "y": [0.0]}
        >>> backtest = pd.DataFrame({**rows, "nlinear": [1.2]})
        >>> found = intermittent_backtests(backtest, history)
        >>> {name: round(frame[name].item(), 2) for name, frame in found.items()}
        {'croston': 2.0, 'sba': 1.9, 'tsb': 2.06, 'adida': 2.0}
    """
    if not 0 < smoothing < 1:
        raise ValueError(f"smoothing must be between 0 and 1, got {smoothing!r}.")
    panel, series, known, _ = locate(backtest, history, freq)
    for name, begin, end in zip(panel.names[:, 0], panel.begins, panel.ends, strict=True):
        lowest = np.nanmin(panel.values[begin:end, 0])
        if lowest < 0:
            raise ValueError(
                f"intermittent demand requires values of at least 0: {str(name)!r} has {lowest:g}."
            )
    forecasts = {name: np.empty(len(series)) for name in METHODS}
    for rows, _, values in origins_of(panel, series, known):
        values = values[np.isfinite(values)]
        for name, method in METHODS.items():
            forecasts[name][rows] = method(values, smoothing) if len(values) else np.nan
    return {name: on_rows(backtest, name, values) for name, values in forecasts.items()}


def croston(values, smoothing=SMOOTHING):
    """Return the mean size of a demand divided by the mean interval between demands.

    Both means are exponential averages that are updated at each demand.

    Args:
        values: Array `(time,)`, not negative.
        smoothing: float in (0, 1), weight of the newest demand.

    Returns:
        float, mean per step; 0 without a demand.

    Example:
        >>> croston(np.array([0.0, 4.0, 0.0, 4.0]))
        2.0
    """
    demands = np.flatnonzero(values)
    if not len(demands):
        return 0.0
    intervals = np.diff(demands, prepend=-1)
    return _average(values[demands], smoothing) / _average(intervals, smoothing)


def sba(values, smoothing=SMOOTHING):
    """Return Croston's forecast times `1 - smoothing / 2`, which corrects its upward bias.

    Example:
        >>> sba(np.array([0.0, 4.0, 0.0, 4.0]))
        1.9
    """
    return (1 - smoothing / 2) * croston(values, smoothing)


def tsb(values, smoothing=SMOOTHING):
    """Return the mean size of a demand times the probability of a demand.

    The probability is updated at every step, so that the forecast falls while there is no demand.
    Both averages begin with the mean of the series.

    Example:
        >>> round(tsb(np.array([4.0, 4.0, 0.0, 0.0])), 3)
        1.928
    """
    is_demand = values > 0
    if not is_demand.any():
        return 0.0
    sizes = values[is_demand]
    probability = _average(is_demand, smoothing, is_demand.mean())
    return probability * _average(sizes, smoothing, sizes.mean())


def adida(values, smoothing=SMOOTHING):
    """Return the exponential average of sums over blocks of the mean interval, per step.

    Blocks end at the end of the series; values before the first block are left out.

    Example:
        >>> adida(np.array([0.0, 4.0, 0.0, 4.0]))
        2.0
    """
    demands = np.flatnonzero(values)
    if not len(demands):
        return 0.0
    length = max(1, round(np.diff(demands, prepend=-1).mean()))
    blocks = values[len(values) % length :].reshape(-1, length)
    return _average(blocks.sum(axis=1), smoothing) / length


def _average(values, smoothing, start=None):
    """Return the exponential average of values, from the first of them or another start."""
    average = values[0] if start is None else start
    for value in values if start is not None else values[1:]:
        average += smoothing * (value - average)
    return float(average)


METHODS = {"croston": croston, "sba": sba, "tsb": tsb, "adida": adida}
