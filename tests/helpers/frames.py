"""Frames of series that several tests train on, and rows of backtests that they score."""

import numpy as np
import pandas as pd

from kerastrans.evaluation.columns import interval_columns

CONTEXT, HORIZON = 14, 7


def series(name, length, seed=0, level=50.0):
    rng = np.random.default_rng(seed)
    times = pd.date_range("2024-01-01", periods=length, freq="D")
    price = rng.uniform(size=length)
    wave = np.sin(2 * np.pi * np.arange(length) / 7)
    return pd.DataFrame(
        {
            "unique_id": name,
            "ds": times,
            "y": level * (1 + 0.3 * wave + 0.5 * price + 0.05 * rng.normal(size=length)),
            "price": price,
            "weather": rng.choice(["sun", "rain"], length),
        }
    )


def statics(names="abc"):
    return pd.DataFrame({"unique_id": list(names), "kind": list("xyxyx")[: len(names)]})


def future_of(frame, seed=9):
    rng = np.random.default_rng(seed)
    rows = [
        pd.DataFrame(
            {
                "unique_id": name,
                "ds": pd.date_range(part["ds"].max(), periods=HORIZON + 1, freq="D")[1:],
                "price": rng.uniform(size=HORIZON),
            }
        )
        for name, part in frame.groupby("unique_id")
    ]
    return pd.concat(rows, ignore_index=True)


def example(seed=0, origins=6, steps=4, spread=1.0, bias=0.0, alias="nhits"):
    rng = np.random.default_rng(seed)
    rows = []
    for name, level in (("a", 10.0), ("b", 1000.0)):
        for origin in range(origins):
            cutoff = pd.Timestamp("2024-01-01") + pd.Timedelta(days=2 * origin)
            times = pd.date_range(cutoff, periods=steps + 1, freq="D")[1:]
            y = level + rng.normal(size=steps)
            mean = level + bias + 0.1 * rng.normal(size=steps)
            frame = pd.DataFrame({"unique_id": name, "ds": times, "cutoff": cutoff, "y": y})
            frame[alias] = mean
            for share, z in ((80, 1.2816), (95, 1.96)):
                low, high = interval_columns(alias, share)
                frame[low], frame[high] = mean - z * spread, mean + z * spread
            rows.append(frame)
    return pd.concat(rows, ignore_index=True)


def training_rows(seed=1, rows=50):
    rng = np.random.default_rng(seed)
    times = pd.date_range("2023-01-01", periods=rows, freq="D")
    return pd.concat(
        pd.DataFrame({"unique_id": name, "ds": times, "y": level * rng.normal(size=rows)})
        for name, level in (("a", 1.0), ("b", 3.0))
    )


def long_frame(lengths, seed=0, freq="D", start="2024-01-01"):
    """Series "s0", "s1" ... of these lengths, at levels 0, 100, 200 ..."""
    rng = np.random.default_rng(seed)
    return pd.concat(
        [
            pd.DataFrame(
                {
                    "unique_id": f"s{i}",
                    "ds": pd.date_range(start, periods=length, freq=freq),
                    "y": 100.0 * i + rng.normal(size=length),
                }
            )
            for i, length in enumerate(lengths)
        ],
        ignore_index=True,
    )


def series_of(panel, i):
    return panel.values[panel.begins[i] : panel.ends[i]]
