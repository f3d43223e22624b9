"""The contract of the forecaster over every pair of options."""

import functools

import keras
import pytest

from kerastrans import Forecaster, heads
from kerastrans.data import WindowScaler
from kerastrans.testing import check_forecaster
from tests.heads.conftest import COUNTS
from tests.helpers.contract_frames import HORIZON, make_data
from tests.helpers.pairwise import pairwise

# The point is "mae" and "mse"; the other counts go with the same options as the first of them.
OTHERS = {"point", *COUNTS[1:]}
HEADS = {
    "mae": lambda: heads.PointHead("mae"),
    "mse": lambda: heads.PointHead("mse"),
    "three quantiles": lambda: heads.QuantileHead((0.1, 0.5, 0.9)),
    **{name: functools.partial(heads.get, name) for name in heads.names() if name not in OTHERS},
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


def few_rows(rows):
    """Return some rows that have every value of every option, those with most new values first."""
    chosen, missing = [], {pair for row in rows for pair in row.items()}
    while missing:
        chosen.append(max(rows, key=lambda row: len(missing & row.items())))
        missing -= chosen[-1].items()
    return chosen


ROWS = pairwise(OPTIONS, is_allowed)
# The slow tier has every value of every option; `make contract` has every pair of values.
CHOSEN = few_rows(ROWS)


def marked(rows):
    """The rows as parameters of a slow test, those that are not chosen by `make contract` alone."""
    for row in rows:
        name = "-".join(map(str, row.values()))
        marks = [pytest.mark.slow, *([] if row in CHOSEN else [pytest.mark.exhaustive])]
        yield pytest.param(row, id=name, marks=marks)


def test_every_value_of_an_option_is_in_the_slow_tier():
    for option, values in OPTIONS.items():
        assert {row[option] for row in CHOSEN} == set(values)


@pytest.mark.parametrize("row", list(marked(ROWS)))
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
    check_forecaster(forecaster, **data, batch_size=64)
