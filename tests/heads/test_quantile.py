"""Quantiles: in order, between the levels, and a point that is the median or nothing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kerastrans.heads import QuantileHead
from tests.conftest import to_numpy
from tests.heads.conftest import STEPS, raw


@given(
    levels=st.lists(st.integers(1, 99), min_size=1, max_size=9, unique=True),
    seed=st.integers(0, 1000),
    size=st.floats(0.0, 30.0),
)
def test_quantiles_never_cross(levels, seed, size):
    head = QuantileHead(sorted(level / 100 for level in levels))
    statistics = np.array([[[5.0, -5.0, 0.0], [1e-3, 1.0, 1e3]]], "float32")
    values = to_numpy(
        head(raw(head.size, seed, 1) * size, prediction_length=STEPS, statistics=statistics)
    )
    assert (np.diff(values, axis=-1) >= 0).all()
    if 50 in levels:
        np.testing.assert_array_equal(head.point(values), values[..., head.levels.index(0.5)])


def test_it_reads_between_its_levels_and_refuses_beyond():
    head = QuantileHead((0.1, 0.5, 0.9))
    parameters = np.array([[0.0, 2.0, 3.0]])
    np.testing.assert_allclose(head.quantile(parameters, (0.1, 0.3, 0.7)), [[0.0, 1.0, 2.5]])
    np.testing.assert_array_equal(head.quantile(parameters, 1 - 0.9), [[0.0]])
    np.testing.assert_allclose(head.cdf(parameters, np.array([1.0])), [0.3])
    np.testing.assert_allclose(head.cdf(parameters, np.array([-1.0])), [0.0])
    np.testing.assert_allclose(head.cdf(parameters, np.array([9.0])), [1.0])
    with pytest.raises(ValueError, match=r"quantiles from 0\.1 to 0\.9, asked for 0\.95"):
        head.quantile(parameters, 0.95)


def test_an_infinite_quantile_leaves_the_others():
    head = QuantileHead((0.1, 0.5, 0.9))
    parameters = np.array([[0.0, 2.0, np.inf]])
    np.testing.assert_array_equal(head.quantile(parameters, (0.1, 0.5)), [[0.0, 2.0]])


def test_without_a_level_at_one_half_the_point_is_between_its_neighbours():
    head = QuantileHead((0.1, 0.4, 0.8))
    parameters = np.array([[0.0, 2.0, 6.0]], "float32")
    for median in (head.point, head.median, lambda p: to_numpy(head.outputs(p)["forecast"])):
        np.testing.assert_allclose(median(parameters), [3.0])  # a quarter of the way from 2 to 6


@pytest.mark.parametrize("levels", [[0.9], [0.7, 0.9], [0.1, 0.2]])
def test_no_other_quantile_passes_as_the_median(levels):
    head = QuantileHead(levels)
    parameters = np.arange(head.size, dtype="float32")[None]
    for method in (head.point, head.median, head.outputs):
        with pytest.raises(ValueError, match=r"do not enclose 0\.5: add it, or ask for quantiles"):
            method(parameters)
    np.testing.assert_array_equal(head.quantile(parameters, levels), parameters)


def test_one_quantile_is_no_distribution():
    head = QuantileHead([0.5])
    parameters = np.ones((2, 1), "float32")
    np.testing.assert_array_equal(head.point(parameters), [1.0, 1.0])
    for method in (head.sample, head.cdf):
        with pytest.raises(ValueError, match=r"one quantile, 0\.5, is no distribution"):
            method(parameters, 3)


@pytest.mark.parametrize(
    ("levels", "percents"),
    [
        ((0.1, 0.5, 0.9), (80,)),
        (QuantileHead().levels, (50, 80, 95)),
        ((0.0125, 0.05, 0.5, 0.95, 0.9875), (90, 97.5)),
        ((0.1, 0.5, 0.8), ()),
        ((0.5,), ()),
    ],
)
def test_its_intervals_are_between_levels_of_equal_tails(levels, percents):
    assert QuantileHead(levels).interval_levels == percents


@pytest.mark.parametrize(
    ("levels", "message"),
    [([0.5, 0.1], "levels must increase"), ([0.0, 0.5], "levels must increase and lie in")],
)
def test_bad_levels(levels, message):
    with pytest.raises(ValueError, match=message):
        QuantileHead(levels)
