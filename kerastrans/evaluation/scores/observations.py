"""True values of series, from long or wide frames and from the "y" of a backtest."""

import pandas as pd

from kerastrans.data.frames import to_long
from kerastrans.evaluation.columns import ID, TARGET, TIME, check_columns


def as_long(frame):
    """Return the columns "unique_id", "ds" and "y" of a long or wide frame.

    Args:
        frame: DataFrame with these columns, or with a DatetimeIndex and one column per channel.
            Columns that are not numeric are left out.

    Raises:
        ValueError: If the frame is neither long nor wide.

    Example:
        >>> times = pd.date_range("2024-01-01", periods=2, freq="D")
        >>> as_long(pd.DataFrame({"a": [1, 2], "b": [3, 4]}, times))["unique_id"].tolist()
        ['a', 'a', 'b', 'b']
    """
    check_columns(frame)
    if isinstance(frame.index, pd.DatetimeIndex) and ID not in frame.columns:
        return to_long(frame.select_dtypes("number").rename_axis(columns=None), ())[
            [ID, TIME, TARGET]
        ]
    check_columns(frame, ID, TIME, TARGET)
    return frame[[ID, TIME, TARGET]]


def observed_values(history, forecasts):
    """Return a long frame of the true values of the series in a frame of forecasts, sorted by time.

    Args:
        history: Long or wide DataFrame, or None.
        forecasts: DataFrame of forecasts. Its column "y", if present, is added to the history.
    """
    parts = [] if history is None else [as_long(history)]
    if TARGET in forecasts:
        parts.append(forecasts[[ID, TIME, TARGET]])
    if not parts:
        return forecasts[[ID, TIME]].head(0).assign(y=0.0)
    values = pd.concat(parts)
    values = values[values[ID].isin(forecasts[ID].unique())]
    return values.groupby([ID, TIME], as_index=False).first()  # first value that is not NaN
