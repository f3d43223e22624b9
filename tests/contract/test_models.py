"""Every architecture keeps the contract of a model."""

import keras
import numpy as np
import pytest

from kerastrans.testing import check_model
from tests.helpers.architectures import (
    CHANNELS,
    CONTEXT,
    EXHAUSTIVE,
    HORIZON,
    NAMES,
    SMALL,
    TRAINED,
    build,
    by_tier,
)

SIZES = (12, 30, 2)
ALWAYS = {"contract", "other sizes", "invalid sizes", "input names", "finite", "channels", "reload"}
ALWAYS |= {
    "batch independence",
    "equivariance",
    "missing values",
    "seed",
    "mixed float16",
    "mixed bfloat16",
}
TRAINING = {"training", "same training"}
QUICK = ("seasonal_naive", "rlinear", "nhits", "segrnn")
QUICK_ON_JAX = ("nhits", "segrnn")


def cases():
    """Names of architectures: `make contract` has those of `EXHAUSTIVE`."""
    for name in NAMES:
        marks = () if name in QUICK else [pytest.mark.slow]
        if name in EXHAUSTIVE and name not in QUICK:
            marks = [*marks, pytest.mark.exhaustive]
        yield pytest.param(name, marks=marks)


@pytest.mark.parametrize("name", list(cases()))
def test_the_contract_of_a_model(name):
    if keras.backend.backend() == "jax" and name not in QUICK_ON_JAX:
        pytest.skip("compiles for minutes; test_backends.py compares the forecasts")
    report = check_model(name, CONTEXT, HORIZON, CHANNELS, **SMALL.get(name, {}))
    passed = {result.name for result in report.results if result.status == "passed"}
    expected = ALWAYS | (TRAINING if name in TRAINED else set())
    if keras.backend.backend() != "jax":  # JAX has no float64 unless it is asked for
        expected = expected | {"float64"}
    assert passed == expected


@pytest.mark.parametrize("name", by_tier(NAMES))
def test_the_horizon_may_be_longer_than_the_context(name):
    context_length, prediction_length, num_channels = SIZES
    model = build(name, *SIZES)
    assert model.inputs[0].shape == (None, context_length, num_channels)
    assert model.output_shape == (None, prediction_length, num_channels)


@pytest.mark.slow
def test_a_distribution_is_decoded_and_causal():
    report = check_model("deepar", 8, 4, 1, head="student_t", units=8)
    assert report["causality"].status == "passed"
    assert report["decoding"].reason == "the model decodes samples of a distribution"


def test_points_of_a_head_are_as_equivariant_as_a_point():
    report = check_model("rlinear", 8, 4, 2, head="mixture")
    assert np.all([report[x].status == "passed" for x in ("equivariance", "training", "reload")])
