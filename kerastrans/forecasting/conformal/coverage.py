"""Coverage of intervals by series."""

import pandas as pd

from kerastrans.data.frames import ID
from kerastrans.evaluation.backtesting import interval_levels, score


def coverage_by_series(backtest, alias=None):
    """Return the share of true values that intervals cover, the worst series first.

    Calibrated intervals have the coverage of their level on average over series; this function
    measures it for each series.

    Args:
        backtest: Frame that `Forecaster.backtest` returned.
        alias: str, name of the model if the backtest has several.

    Returns:
        DataFrame with one row per series, indexed by "unique_id", and the columns "coverage-80" (a
        share) and "width-80" for each level. The rows are sorted by the difference of coverage and
        level, averaged over the levels, the smallest first.

    Raises:
        ValueError: If the backtest has no intervals, or `kerastrans.backtesting.score` refuses it.

    Example:
        >>> times = pd.date_range("2024-01-01", periods=3, freq="D")
        >>> rows = {"ds": times[1:], "cutoff": times[0], "naive-lo-80": 0.0, "naive-hi-80": 2.0}
        >>> quiet = pd.DataFrame({**rows, "unique_id": "quiet", "y": [1.0, 2.0], "naive": 1.0})
        >>> noisy = pd.DataFrame({**rows, "unique_id": "noisy", "y": [1.0, 9.0], "naive": 1.0})
        >>> coverage_by_series(pd.concat([quiet, noisy]))
                   coverage-80  width-80
        unique_id
        noisy              0.5       2.0
        quiet              1.0       2.0
    """
    levels = interval_levels(backtest, alias)
    if not levels:
        raise ValueError("this backtest has no intervals: pass levels, or call calibrate first.")
    table = score(backtest, alias=alias, by=ID)
    covered = [f"coverage-{level}" for level in levels]
    worst_first = (table[covered] - pd.Series(levels, covered) / 100).mean(axis=1).sort_values()
    columns = [f"{name}-{level}" for level in levels for name in ("coverage", "width")]
    return table.loc[worst_first.index, columns]
