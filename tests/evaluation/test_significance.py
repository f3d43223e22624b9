"""How often a test rejects what is true, and what is not."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.signal import lfilter

from kerastrans.evaluation.significance import tests as significance
from kerastrans.evaluation.significance.tests import MAX_BLOCKS, diebold_mariano, holm, time_blocks

RUNS = 4000  # a rate of 5 % has a standard error of 0.34 % then


def blocks_of(count, horizon, step=1):
    origins = np.arange(count) * step
    return time_blocks(origins, origins + horizon)


def consecutive(count):
    """Blocks of one origin each, and their positions."""
    return np.arange(count), np.arange(count)


def moving_average(rng, count, horizon, tests=RUNS):
    """Differences of losses, means over the horizon of noise, from origins one apart."""
    noise = rng.normal(size=(count + horizon, tests))
    total = np.cumsum(noise, axis=0)
    return (total[horizon:] - total[:-horizon]) / horizon


def rejected(differences, blocks):
    return np.mean(diebold_mariano(differences, *blocks)[1] < 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("horizon", [1, 4, 12, 24])
@pytest.mark.parametrize("count", [100, 200, 1700])
def test_size_of_the_test_is_at_most_five_percent(horizon, count):
    rng = np.random.default_rng([horizon, count])
    differences = moving_average(rng, count, horizon)
    assert rejected(differences, blocks_of(count, horizon)) < 0.06


@pytest.mark.parametrize("series", [1, 30, 300])
@pytest.mark.parametrize("correlation", [0.0, 0.9])
@pytest.mark.parametrize("horizon", [1, 24])
def test_size_is_at_most_five_percent_for_correlated_series(series, correlation, horizon):
    rng = np.random.default_rng([series, horizon])
    common = moving_average(rng, 120, horizon, 2000)
    # The mean of independent noise over series is noise over the root of their number.
    own = moving_average(rng, 120, horizon, 2000) / np.sqrt(series)
    differences = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own
    assert rejected(differences, blocks_of(120, horizon)) < 0.06


@pytest.mark.parametrize(("horizon", "count"), [(1, 1000), (12, 1000), (24, 500)])
def test_size_is_at_most_five_percent_for_autocorrelated_differences(horizon, count):
    noise = np.random.default_rng(count).normal(size=(count + 200, RUNS))
    differences = lfilter([1.0], [1.0, -0.9], noise, axis=0)[200:]
    assert rejected(differences, blocks_of(count, horizon)) < 0.075
    blind = stats.ttest_1samp(differences, 0.0).pvalue
    assert np.mean(blind < 0.05) > 0.5  # what the blocks are for


@pytest.mark.slow
@pytest.mark.parametrize("count", [8, 10, 15, 20])
@pytest.mark.parametrize("persistence", [0.5, 0.8])
def test_few_persistent_origins_do_not_reject_too_often(count, persistence):
    """The table of the docstring; 10,000 runs have a standard error of 0.22 % at 5 %."""
    noise = np.random.default_rng([count, 10]).normal(size=(count + 100, 10_000))
    differences = lfilter([1.0], [1.0, -persistence], noise, axis=0)[100:]
    size = rejected(differences, consecutive(count))
    assert size < 0.07
    assert size > 0.03 or persistence < 0.8
    assert np.mean(stats.ttest_1samp(differences, 0.0).pvalue < 0.05) > 0.15


@pytest.mark.parametrize(
    ("horizon", "count", "mean", "least"),
    [(1, 20, 1.2, 0.8), (1, 100, 0.42, 0.8), (24, 1700, 0.12, 0.8)],
)
def test_power(horizon, count, mean, least):
    differences = moving_average(np.random.default_rng(horizon), count, horizon, 1000) + mean
    assert rejected(differences, blocks_of(count, horizon)) > least


def test_without_persistence_p_value_equals_the_t_test_of_block_means(monkeypatch):
    monkeypatch.setattr(significance, "_PERSISTENCES", np.array([0.0]))
    differences = np.random.default_rng(0).normal(0.3, size=(18, 2))
    blocks = np.array([0, 0, -1, 1, 1, 2, 2, -1, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7])
    means = pd.DataFrame(differences).groupby(blocks).mean().drop(index=-1)
    means.loc[2] = differences[5:7].mean(axis=0)
    positions = np.arange(18)
    statistic, p = diebold_mariano(differences, blocks, positions)
    known = stats.ttest_1samp(means, 0.0)
    np.testing.assert_allclose(statistic, known.statistic)
    np.testing.assert_allclose(p, known.pvalue)


def test_statistic_equals_that_of_generalized_least_squares(monkeypatch):
    monkeypatch.setattr(significance, "_PERSISTENCES", np.array([0.6]))
    x = np.random.default_rng(0).normal(0.3, size=10)
    statistic, _ = diebold_mariano(x, *consecutive(10))
    # Prais and Winsten's transformation makes the differences independent.
    y = np.append(x[0] * 0.8, x[1:] - 0.6 * x[:-1])
    ones = np.append(0.8, np.full(9, 0.4))
    mean = ones @ y / (ones @ ones)
    error = np.sqrt(np.sum((y - mean * ones) ** 2) / 9 / (ones @ ones))
    assert statistic == pytest.approx(mean / error)


def test_p_value_is_symmetric_and_does_not_depend_on_the_unit():
    differences = np.random.default_rng(0).normal(0.3, size=(9, 2))
    statistic, p = diebold_mariano(differences, *consecutive(9))
    for factor in (-1.0, 1e-200, 1e200):
        other = diebold_mariano(factor * differences, *consecutive(9))
        np.testing.assert_allclose(other, [np.sign(factor) * statistic, p], rtol=1e-9)
    assert diebold_mariano(np.zeros(10), *consecutive(10)) == (0.0, 1.0)
    assert diebold_mariano(np.ones(10), *consecutive(10))[1] < 1e-90


def test_fewer_than_eight_blocks_give_no_p_value():
    blocks = np.repeat(np.arange(7), 2)
    assert np.isnan(diebold_mariano(np.ones((14, 5)), blocks, np.arange(14))).all()
    assert np.isfinite(diebold_mariano([1.0, 2.0, 1.0, 3.0] * 2, *consecutive(8))[1])


@pytest.mark.parametrize("step", [1, 3, 7, 24, 40])
@pytest.mark.parametrize("count", [1, 5, 30, 500])
def test_blocks_do_not_share_observed_values(step, count):
    origins = np.arange(count) * step
    ends = origins + 24
    blocks, _ = time_blocks(origins, ends)
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
    assert np.flatnonzero(time_blocks(origins, ends)[0] >= 0).tolist() == [0, 12, 24, 36, 48]


def test_holm_adjustment_equals_the_published_example():
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(holm([0.5, np.nan, 0.9]), [1.0, np.nan, 1.0])
    assert holm([]).shape == (0,)


def test_holm_adjustment_limits_false_rejections_among_equal_forecasts():
    """One family in twenty; without the adjustment one in three."""
    rng = np.random.default_rng(0)
    p = rng.uniform(size=(2000, 8))  # of true null hypotheses
    assert 0.03 < np.mean([holm(family).min() < 0.05 for family in p]) < 0.06
    assert np.mean(p.min(axis=1) < 0.05) > 0.3
