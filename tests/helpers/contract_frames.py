"""Frames of series of each kind, for the contract of the forecaster."""

import numpy as np
import pandas as pd

HORIZON = 12
# Checks of `check_forecaster` that train again, perhaps several times.
TRAINING = (
    "later rows when refitting",
    "refit",
    "training on zeros",
    "training after load",
    "refit after load",
    "checkpoint",
    "failed fit",
    "failed first fit",
)


def one_series(length, seed, level):
    rng = np.random.default_rng(seed)
    rate = level * (2 + np.sin(2 * np.pi * np.arange(length) / 7))
    return pd.DataFrame(
        {
            "y": rng.poisson(rate).astype("float64"),
            "price": rng.uniform(size=length),
            "weather": rng.choice(["sun", "rain"], length),
        },
        pd.date_range("2024-01-01", periods=length, freq="D", name="ds"),
    )


def make_data(kind, past=(), future=(), has_static=False):
    """A frame, and the future and static covariates that go with it."""
    if kind == "wide":
        frame = one_series(60 + HORIZON, 0, 4.0).assign(z=one_series(60 + HORIZON, 1, 9.0)["y"])
        frame = frame[["y", "z", *past, *future]]
        later = frame.iloc[60:][list(future)]
        return {"frame": frame.iloc[:60], "future": later if future else None}
    lengths = (60, 45, 20, 10) if kind == "ragged" else (60, 60, 60)
    names = "abcd"[: len(lengths)]
    parts, later = [], []
    for seed, (name, length) in enumerate(zip(names, lengths, strict=True)):
        part = one_series(length + HORIZON, seed, 3.0 + seed).reset_index()
        part.insert(0, "unique_id", name)
        later.append(part.iloc[length:][["unique_id", "ds", *future]])
        part = part.iloc[:length]
        if kind == "ragged" and length > 30:
            part.loc[part.index[-4], "y"] = np.nan
            part = part.drop(index=part.index[[22, -9]])
        parts.append(part[["unique_id", "ds", "y", *past, *future]])
    static = pd.DataFrame({"unique_id": list(names), "kind": list("xyxy")[: len(names)]})
    return {
        "frame": pd.concat(parts, ignore_index=True),
        "future": pd.concat(later, ignore_index=True) if future else None,
        "static": static if has_static else None,
    }
