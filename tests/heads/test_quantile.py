"""Quantiles: in order, between the levels, and a point that is the median or nothing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

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


@pytest.mark.parametrize("levels", [QuantileHead().levels, (0.1, 0.5, 0.9), (0.2, 0.3), (0.6, 0.9)])
def test_quantiles_between_levels_follow_a_normal_distribution(levels):
    head, exact = QuantileHead(levels), stats.norm(3.0, 2.0)
    parameters = exact.ppf(levels)[None]
    asked = (1e-4, 0.001, 0.05, 0.11, 0.5, 0.77, 0.95, 0.999, 1 - 1e-4)
    np.testing.assert_allclose(head.quantile(parameters, asked)[0], exact.ppf(asked), rtol=1e-12)
    for value in (-6.0, -1.0, 3.0, 3.1, 7.0, 10.0):
        np.testing.assert_allclose(
            head.cdf(parameters, np.array([value])), exact.cdf([value]), rtol=1e-9
        )
    drawn = head.sample(parameters, 100_000, seed=0)[:, 0]
    assert stats.kstest(drawn, exact.cdf).pvalue > 1e-3
    assert drawn.std() == pytest.approx(2.0, rel=0.01)


def test_trained_levels_are_returned_unchanged():
    head = QuantileHead((0.1, 0.5, 0.9))
    parameters = np.array([[0.0, 2.0, 3.0]])
    np.testing.assert_array_equal(head.quantile(parameters, (0.1, 0.5, 0.9)), parameters)
    np.testing.assert_array_equal(head.quantile(parameters, 1 - 0.9), [[0.0]])
    for value, level in ((0.0, 0.1), (2.0, 0.5), (3.0, 0.9)):
        np.testing.assert_allclose(head.cdf(parameters, np.array([value])), [level])


@given(
    levels=st.lists(st.integers(1, 99), min_size=2, max_size=9, unique=True),
    seed=st.integers(0, 1000),
    scale=st.sampled_from([1e-4, 1.0, 1e6]),
)
def test_cdf_inverts_the_quantiles_also_in_the_tails(levels, seed, scale):
    head = QuantileHead(sorted(level / 100 for level in levels))
    rng = np.random.default_rng(seed)
    parameters = scale * np.cumsum(rng.uniform(0.1, 3.0, (4, head.size)), axis=-1) - scale
    asked = (1e-3, 0.004, 0.3, 0.5, 0.61, 0.9, 0.99, 0.999)
    quantiles = head.quantile(parameters, asked)
    assert (np.diff(quantiles, axis=-1) > 0).all()
    for i, level in enumerate(asked):
        np.testing.assert_allclose(head.cdf(parameters, quantiles[:, i]), level, rtol=1e-6)


def test_equal_quantiles_carry_the_probability_between_their_levels():
    head = QuantileHead((0.1, 0.5, 0.7, 0.9))
    parameters = np.array([[0.0, 0.0, 1.0, 2.0], [0.0, 1.0, 1.0, 3.0], [0.0, 1.0, 2.0, 2.0]])
    at = [head.cdf(parameters, np.full(3, x)) for x in (-1e-9, 0.0, 1.0, 2.0, 2.0 + 1e-9, 9.0)]
    np.testing.assert_allclose(at[0], [0.0, 0.1, 0.1], atol=1e-6)
    np.testing.assert_allclose(at[1], [0.5, 0.1, 0.1])
    np.testing.assert_allclose(at[2], [0.7, 0.7, 0.5])
    np.testing.assert_allclose(at[3][[0, 2]], [0.9, 1.0])
    assert (at[5][:2] < 1).all()
    assert (at[5] > 0.95).all()
    for levels in ((0.01, 0.1, 0.3), (0.001, 0.5)):
        np.testing.assert_array_equal(head.quantile(parameters, levels)[0, :2], [0.0, 0.0])
    np.testing.assert_array_equal(head.quantile(parameters, (0.95, 0.99))[2], [2.0, 2.0])
    assert np.isnan(head.cdf(parameters, np.full(3, np.nan))).all()
    drawn = head.sample(parameters, 1000, seed=0)
    assert np.isfinite(drawn).all()
    assert (drawn[:, 0] == 0).mean() == pytest.approx(0.5, abs=0.05)


def test_infinite_quantile_does_not_affect_the_others():
    head = QuantileHead((0.1, 0.5, 0.9))
    parameters = np.array([[0.0, 2.0, np.inf]])
    np.testing.assert_array_equal(head.quantile(parameters, (0.1, 0.5)), [[0.0, 2.0]])


def test_point_is_interpolated_if_there_is_no_level_at_one_half():
    head = QuantileHead((0.1, 0.4, 0.8))
    parameters = np.array([[0.0, 2.0, 6.0]], "float32")
    z = stats.norm.ppf([0.4, 0.8])
    exact = 2.0 - 4.0 * z[0] / (z[1] - z[0])
    for median in (head.point, head.median, lambda p: to_numpy(head.outputs(p)["forecast"])):
        np.testing.assert_allclose(median(parameters), [exact], rtol=1e-6)
    np.testing.assert_allclose(head.quantile(parameters, 0.5), [[exact]], rtol=1e-12)


@pytest.mark.parametrize("levels", [[0.9], [0.7, 0.9], [0.1, 0.2]])
def test_median_requires_levels_around_one_half(levels):
    head = QuantileHead(levels)
    parameters = np.arange(head.size, dtype="float32")[None]
    for method in (head.point, head.median, head.outputs):
        with pytest.raises(ValueError, match=r"do not enclose 0\.5: add it, or ask only"):
            method(parameters)
    np.testing.assert_array_equal(head.quantile(parameters, levels), parameters)


def test_single_quantile_is_not_a_distribution():
    head = QuantileHead([0.5])
    parameters = np.ones((2, 1), "float32")
    np.testing.assert_array_equal(head.point(parameters), [1.0, 1.0])
    np.testing.assert_array_equal(head.quantile(parameters, 0.5), parameters)
    for method in (head.sample, head.cdf, lambda p, _: head.quantile(p, 0.9)):
        with pytest.raises(ValueError, match=r"a single quantile, 0\.5, is not a distribution"):
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
def test_interval_levels_are_pairs_with_equal_tails(levels, percents):
    assert QuantileHead(levels).interval_levels == percents


@pytest.mark.parametrize(
    ("levels", "message"),
    [([0.5, 0.1], "levels must increase"), ([0.0, 0.5], "levels must increase and be in")],
)
def test_invalid_levels_are_refused(levels, message):
    with pytest.raises(ValueError, match=message):
        QuantileHead(levels)
