"""Readers that convert the files of data sets to frames, one function per layout."""

import pandas as pd

from kerastrans.data.frames import ID, TARGET, TIME, check_frame
from kerastrans.data.tables.reader import read_csv

START = pd.Timestamp("2000-01-03")  # first time stamp of series published without dates
_FREQUENCIES = {"hourly": "h", "weekly": "W-MON", "every 10 minutes": "10min"}


def wide(dataset, path):
    """Read a file with one column per channel."""
    return check_frame(read_csv(path), name=str(path))


def rows_in_order(dataset, path):
    """Read a file with one column per channel; time stamps are counted from the first row's."""
    table = pd.read_csv(path, encoding="latin-1").rename(columns=str.strip)
    start = pd.to_datetime(table.pop("date").iloc[0])
    freq = _FREQUENCIES[dataset.frequency]
    index = pd.date_range(start, periods=len(table), freq=freq, name="date")
    return check_frame(table.set_index(index), name=str(path))


def columns(dataset, path):
    """Read a file with one series per column."""
    table = pd.read_csv(path, index_col=0)
    table.index = pd.to_datetime(table.index)
    long = table.rename_axis(index=TIME, columns=ID).T.stack().rename(TARGET)
    return long.astype("float64").reset_index()


def price(dataset, path):
    """Read a file with one series and the covariates that are known in advance."""
    table = pd.read_csv(path).rename(columns=str.strip)
    times = pd.to_datetime(table["date"])
    frame = pd.DataFrame({ID: path.stem, TIME: times, TARGET: table["OT"].astype("float64")})
    return frame.join(table[list(dataset.future)].astype("float64"))


def m4(dataset, training, test):
    """Read two files with one series per row, named in the first cell; all series end together."""
    parts = [pd.read_csv(path, index_col=0) for path in (training, test)]
    series = {
        name: pd.concat([part.loc[name].dropna() for part in parts]).to_numpy("float64")
        for name in parts[0].index
    }
    longest = max(map(len, series.values()))
    times = pd.date_range(START, periods=longest, freq=_FREQUENCIES[dataset.frequency])
    frames = [
        pd.DataFrame({ID: name, TIME: times[longest - len(values) :], TARGET: values})
        for name, values in series.items()
    ]
    return pd.concat(frames, ignore_index=True)
