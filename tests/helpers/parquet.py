"""Folders of Parquet files."""

import numpy as np
import pandas as pd

SIZES = {"context_length": 24, "prediction_length": 8}


def series(first, count, length=80):
    """Long frame of `count` waves, named from `first` on."""
    times = pd.date_range("2021-01-01", periods=length, freq="h")
    random = np.random.default_rng(first)
    waves = np.sin(np.arange(length) / 4 + random.uniform(0, 6, (count, 1)))
    values = 10 * waves + random.standard_normal((count, length))
    names = [f"s{first + i}" for i in range(count)]
    return pd.DataFrame(
        {"unique_id": np.repeat(names, length), "ds": np.tile(times, count), "y": values.ravel()}
    )


def write(folder, parts):
    for number, frame in enumerate(parts):
        frame.to_parquet(folder / f"part-{number}.parquet")
