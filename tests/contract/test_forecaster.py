"""The contract of the forecaster, over the registry and over pairs of options."""

import keras
import numpy as np
import pandas as pd
import pytest

from kerastrans import Forecaster, heads
from kerastrans.data import WindowScaler
from kerastrans.testing import check_forecaster

from .conftest import NAMES, SMALL
from .pairwise import pairwise

CONTEXT, HORIZON = 24, 12

HEADS = {
    "mae": lambda: heads.PointHead("mae"),
    "mse": lambda: heads.PointHead("mse"),
    "quantiles": heads.QuantileHead,
    "three quantiles": lambda: heads.QuantileHead((0.1, 0.5, 0.9)),
    "normal": heads.NormalHead,
    "student_t": heads.StudentTHead,
    "negative_binomial": heads.NegativeBinomialHead,
    "mixture": heads.MixtureHead,
}
LOSSES = {
    "head's": lambda head: None,
    "log cosh": lambda head: keras.losses.LogCosh(),  # Keras writes Huber without its delta
    "crps": heads.CRPS,
}
OPTIMIZERS = {"name": lambda: "adam", "object": lambda: keras.optimizers.Adam(0.003, clipnorm=1.0)}
SCALERS = {
    "standard": "standard",
    "mean_abs": "mean_abs",
    "mase": WindowScaler("mase", season=7),
    "none": None,
}
OPTIONS = {
    "head": tuple(HEADS),
    "loss": tuple(LOSSES),
    "optimizer": tuple(OPTIMIZERS),
    "scaler": tuple(SCALERS),
    "fill": (None, "last", "zero"),
    "short": ("pad", "refuse"),
    "covariates": ("", "past", "future", "static", "past future static"),
    "calendar": (False, True),
    "frame": ("long", "ragged", "wide"),
}


def is_allowed(row):
    """Whether these values go together; the others are refused, see the forecaster's own tests."""
    losses = {
        "mae": ("head's", "log cosh"),
        "mse": ("head's", "log cosh"),
        "normal": ("head's", "crps"),
    }
    return (
        row["loss"] in losses.get(row["head"], ("head's",))
        and (row["scaler"] == "none" or row["head"] != "negative_binomial")
        and ("static" not in row["covariates"] or row["frame"] != "wide")
        and (row["loss"] != "log cosh" or row["frame"] != "ragged")  # Keras's do not take gaps
    )


ROWS = pairwise(OPTIONS, is_allowed)


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


@pytest.fixture
def eagerly():
    """Compiling the small step of each training takes longer than running it."""
    if keras.backend.backend() != "tensorflow":
        yield
        return
    import tensorflow as tf

    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=lambda row: "-".join(map(str, row.values())))
def test_every_two_options_together(row, eagerly):
    past = ["weather"] * ("past" in row["covariates"])
    future = ["price"] * ("future" in row["covariates"])
    data = make_data(row["frame"], past, future, "static" in row["covariates"])
    head = HEADS[row["head"]]()
    forecaster = Forecaster(
        "nlinear",
        14,
        HORIZON,
        head=head,
        loss=LOSSES[row["loss"]](head),
        optimizer=OPTIMIZERS[row["optimizer"]](),
        scaler=SCALERS[row["scaler"]],
        past=past,
        future=future,
        calendar=row["calendar"],
        fill=row["fill"],
        short=row["short"],
    )
    check_forecaster(forecaster, **data, batch_size=64).raise_for_failures()


# What does not depend on the architecture is checked above.
TRAINING = ("later rows, refit", "refit", "training after load", "failed fit", "failed first fit")
QUICK = ("seasonal_naive",)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in NAMES],
)
def test_every_architecture(name):
    options = {"head": "student_t", "num_samples": 20} if name == "deepar" else {}
    forecaster = Forecaster(name, CONTEXT, HORIZON, **options, **SMALL.get(name, {}))
    data = make_data("long")
    report = check_forecaster(forecaster, **data, skip=(*TRAINING, "generators", "calibration"))
    report.raise_for_failures()
