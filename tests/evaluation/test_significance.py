"""How often a test rejects what is true, and what is not."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.signal import lfilter

from kerastrans.evaluation.significance import MAX_BLOCKS, diebold_mariano, holm, time_blocks

RUNS = 4000  # a rate of 5 % has a standard error of 0.34 % then
SIZE = (0.03, 0.07)


def blocks_of(count, horizon, step=1):
    origins = np.arange(count) * step
    return time_blocks(origins, origins + horizon)


def moving_average(rng, count, horizon, tests=RUNS):
    """Differences of losses, means over the horizon of noise, from origins one apart."""
    noise = rng.normal(size=(count + horizon, tests))
    total = np.cumsum(noise, axis=0)
    return (total[horizon:] - total[:-horizon]) / horizon


def rejected(differences, blocks):
    return np.mean(diebold_mariano(differences, blocks)[1] < 0.05)


@pytest.mark.parametrize("horizon", [1, 4, 12, 24])
@pytest.mark.parametrize("count", [100, 200, 1700])
def test_size_of_the_test_is_five_percent(horizon, count):
    rng = np.random.default_rng([horizon, count])
    differences = moving_average(rng, count, horizon)
    assert SIZE[0] < rejected(differences, blocks_of(count, horizon)) < SIZE[1]


@pytest.mark.parametrize("series", [1, 30, 300])
@pytest.mark.parametrize("correlation", [0.0, 0.9])
@pytest.mark.parametrize("horizon", [1, 24])
def test_size_is_five_percent_for_correlated_series(series, correlation, horizon):
    rng = np.random.default_rng([series, horizon])
    common = moving_average(rng, 120, horizon, 2000)
    # The mean of independent noise over series is noise over the root of their number.
    own = moving_average(rng, 120, horizon, 2000) / np.sqrt(series)
    differences = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own
    assert SIZE[0] < rejected(differences, blocks_of(120, horizon)) < SIZE[1]


@pytest.mark.parametrize(("horizon", "count"), [(1, 1000), (12, 1000), (24, 500)])
def test_size_is_five_percent_for_autocorrelated_differences(horizon, count):
    noise = np.random.default_rng(count).normal(size=(count + 200, RUNS))
    differences = lfilter([1.0], [1.0, -0.9], noise, axis=0)[200:]
    assert SIZE[0] < rejected(differences, blocks_of(count, horizon)) < SIZE[1]
    blind = stats.ttest_1samp(differences, 0.0).pvalue
    assert np.mean(blind < 0.05) > 0.5  # what the blocks are for


@pytest.mark.parametrize(
    ("horizon", "count", "mean", "least"), [(1, 100, 0.3, 0.7), (24, 1700, 0.09, 0.85)]
)
def test_power_is_close_to_that_with_known_variance(horizon, count, mean, least):
    """Against the most that any test finds: that of one with the true variance."""
    rng = np.random.default_rng(horizon)
    differences = moving_average(rng, count, horizon) + mean
    power = rejected(differences, blocks_of(count, horizon))
    best = stats.norm.sf(stats.norm.isf(0.025) - mean * np.sqrt(count))
    assert least < power < best
    assert power > best - 0.13


def test_p_value_equals_the_t_test_of_block_means():
    differences = np.random.default_rng(0).normal(0.3, size=(9, 2))
    blocks = np.array([0, 0, -1, 1, 1, 2, -1, 3, 3])
    means = pd.DataFrame(differences).groupby(blocks).mean().drop(index=-1)
    statistic, p = diebold_mariano(differences, blocks)
    known = stats.ttest_1samp(means, 0.0)
    np.testing.assert_allclose(statistic, known.statistic)
    np.testing.assert_allclose(p, known.pvalue)
    other = diebold_mariano(-differences, blocks)
    np.testing.assert_allclose(other[0], -statistic)
    assert diebold_mariano(np.zeros(10), np.arange(10)) == (0.0, 1.0)
    assert diebold_mariano(np.ones(10), np.arange(10)) == (np.inf, 0.0)


def test_fewer_than_four_blocks_give_no_p_value():
    assert np.isnan(diebold_mariano(np.ones((9, 5)), np.repeat([0, 1, 2], 3))).all()
    assert np.isfinite(diebold_mariano([1.0, 2.0, 1.0, 3.0], np.arange(4))[1])


@pytest.mark.parametrize("step", [1, 3, 7, 24, 40])
@pytest.mark.parametrize("count", [1, 5, 30, 500])
def test_blocks_do_not_share_observed_values(step, count):
    origins = np.arange(count) * step
    ends = origins + 24
    blocks = time_blocks(origins, ends)
    seen = [set() for _ in range(blocks.max() + 1)]
    for origin, end, block in zip(origins, ends, blocks, strict=True):
        if block >= 0:
            seen[block] |= set(range(origin + 1, end + 1))
    assert sum(map(len, seen)) == len(set().union(*seen))
    without_overlap = 1 + (count - 1) // int(np.ceil(24 / step))
    assert len(seen) == min(MAX_BLOCKS, without_overlap)
    sizes = np.bincount(blocks[blocks >= 0])
    assert sizes.max() <= 2 * sizes.min() + 24 // step


def test_blocks_follow_the_calendar():
    """A year from each month: every twelfth, whatever the lengths of the months."""
    origins = pd.date_range("2010-01-31", periods=60, freq="ME")
    ends = pd.date_range("2011-01-31", periods=60, freq="ME")
    assert np.flatnonzero(time_blocks(origins, ends) >= 0).tolist() == [0, 12, 24, 36, 48]


def test_holm_adjustment_equals_the_published_example():
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(holm([0.5, np.nan, 0.9]), [1.0, np.nan, 1.0])
    assert holm([]).shape == (0,)


def test_holm_adjustment_limits_false_rejections_among_equal_forecasts():
    """One family in twenty; without the adjustment one in three."""
    rng = np.random.default_rng(0)
    p = diebold_mariano(rng.normal(size=(12, 2000, 8)), np.arange(12))[1]
    assert 0.03 < np.mean([holm(family).min() < 0.05 for family in p]) < 0.06
    assert np.mean(p.min(axis=1) < 0.05) > 0.3
