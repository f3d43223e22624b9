"""Coverage tests, PIT and reliability against simulations, and scores against integrals."""

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats

from kerastrans import backtesting
from kerastrans.evaluation.columns import interval_columns
from kerastrans.evaluation.scores import crps
from kerastrans.evaluation.significance import calibration, model_sets

LEVELS = (20, 40, 60, 80)


def backtest_of(distribution, y):
    times = pd.date_range("2024-01-01", periods=len(y) + 1, freq="D")
    frame = pd.DataFrame({"unique_id": "a", "ds": times[1:], "cutoff": times[:-1], "y": y})
    frame["m"] = distribution.median()
    for level in LEVELS:
        tail = (1 - level / 100) / 2
        low, high = interval_columns("m", level)
        frame[low], frame[high] = distribution.ppf(tail), distribution.ppf(1 - tail)
    return frame


@pytest.mark.parametrize("distribution", [stats.poisson(0.3), stats.poisson(4), stats.norm(2, 3)])
def test_calibrated_forecasts_look_calibrated_for_counts_too(distribution):
    y = distribution.rvs(size=20_000, random_state=0).astype(float)
    backtest = backtest_of(distribution, y)
    levels, shares = backtesting.observed_levels(backtest)
    np.testing.assert_allclose(shares, levels, atol=0.06)  # 0.44 by the share at or below
    pit = calibration.randomized_pit(backtest)
    assert abs(pit.mean() - 0.5) < 0.02
    np.testing.assert_allclose(np.histogram(pit, 5, (0, 1))[0], 4000, rtol=0.3)


def test_wrong_forecasts_of_counts_do_not_look_calibrated():
    y = stats.poisson(8).rvs(size=2000, random_state=0).astype(float)
    levels, shares = backtesting.observed_levels(backtest_of(stats.poisson(4), y))
    assert shares.max() < levels.max() - 0.2


@pytest.mark.slow
@pytest.mark.parametrize("count", [20, 60, 250])
def test_sizes_of_coverage_tests(count):
    """4000 runs: a rate of 5 % has a standard error of 0.34 %."""
    misses = np.random.default_rng(count).random((4000, count)) < 0.2
    sizes = [np.mean([calibration.kupiec(int(m.sum()), count, 0.2) < 0.05 for m in misses])]
    sizes.append(np.mean([calibration.christoffersen(m[:-1], m[1:]) < 0.05 for m in misses]))
    assert sizes[0] < 0.06
    assert sizes[1] < 0.09  # by the chi-square distribution, which holds for many forecasts


def test_coverage_tests_find_narrow_intervals_and_runs_of_misses():
    y = np.random.default_rng(0).normal(size=300)
    good = calibration.coverage_tests(backtest_of(stats.norm(), y)).iloc[0]
    assert good["coverage"] == pytest.approx(0.8, abs=0.06)
    assert min(good["kupiec p"], good["christoffersen p"]) > 0.05
    narrow = calibration.coverage_tests(backtest_of(stats.norm(0, 0.5), y)).iloc[0]
    assert narrow["kupiec p"] < 1e-6
    runs = calibration.coverage_tests(backtest_of(stats.norm(), np.sort(y))).iloc[0]
    assert runs["christoffersen p"] < 1e-6
    with pytest.raises(ValueError, match=r"intervals of \[20, 40, 60, 80\] percent, not of 95"):
        calibration.coverage_tests(backtest_of(stats.norm(), y), 95)


def test_brier_score_is_the_sum_of_its_parts():
    rng = np.random.default_rng(0)
    truth = rng.uniform(size=5000).round(2)
    outcomes = rng.uniform(size=5000) < truth
    _, good = calibration.reliability(truth, outcomes)
    _, bad = calibration.reliability(truth**3, outcomes)  # an increasing map
    for parts in (good, bad):
        total = parts["miscalibration"] - parts["discrimination"] + parts["uncertainty"]
        assert total == pytest.approx(parts["brier"])
    assert bad["discrimination"] == pytest.approx(good["discrimination"])
    assert good["miscalibration"] < 0.005 < bad["miscalibration"]
    with pytest.raises(ValueError, match="expected probabilities in"):
        calibration.reliability([1.5], [True])


def test_steps_are_those_of_the_forecast_if_values_are_missing():
    cutoffs = pd.date_range("2024-01-01", periods=30, freq="3D").repeat(3)
    steps = np.tile([1, 2, 3], 30)
    y = np.where(steps == 2, 5.0, 0.0)
    y[::6] = np.nan  # every second first step
    rows = {"unique_id": "a", "ds": cutoffs + pd.to_timedelta(steps, "D"), "cutoff": cutoffs}
    backtest = pd.DataFrame({**rows, "y": y, "m": 0.0, "m-lo-80": -1.0, "m-hi-80": 1.0})
    found = calibration.coverage_tests(backtest)
    assert found["coverage"].tolist() == [1, 0, 1]
    assert found["count"].tolist() == [15, 30, 30]


@pytest.mark.parametrize(
    ("y", "mean", "alpha"),
    [(2, 3, 0.5), (0, 0.3, 4.0), (40, 20, 0.1), (1000, 1000, 1e-3), (320, 300, 1e-7)],
)
def test_crps_of_the_negative_binomial_equals_its_sum(y, mean, alpha):
    counts = np.arange(3000)
    cdf = stats.nbinom.cdf(counts, 1 / alpha, 1 / (1 + alpha * mean))
    known = ((cdf - (counts >= y)) ** 2).sum()
    assert crps.crps_negative_binomial(y, mean, alpha) == pytest.approx(known, rel=1e-8)


@pytest.mark.parametrize(("y", "freedom"), [(0.3, 3.0), (-4.0, 1.5), (2.0, 50.0)])
def test_crps_of_student_t_equals_its_integral(y, freedom):
    def below(x):
        return stats.t.cdf(x, freedom) ** 2

    known = integrate.quad(below, -np.inf, y)[0] + integrate.quad(below, -np.inf, -y)[0]
    assert crps.crps_student_t(5 + 2 * y, 5, 2, freedom) == pytest.approx(2 * known, rel=1e-6)


def test_threshold_weighted_scores_add_up():
    backtest = backtest_of(stats.norm(), np.random.default_rng(0).normal(size=100))
    parts = [
        crps.threshold_weighted(backtest, low=0.3),
        crps.threshold_weighted(backtest, high=0.3),
    ]
    whole, *scores = (backtesting.score(x)["crps"].item() for x in (backtest, *parts))
    assert sum(scores) == pytest.approx(whole)
    with pytest.raises(ValueError, match="low must be below high"):
        crps.threshold_weighted(backtest, 2, 1)


def test_a_threshold_beyond_the_outermost_quantiles_warns():
    backtest = backtest_of(stats.norm(), np.random.default_rng(0).normal(size=100))
    for thresholds in ({"low": 40}, {"high": -40.0}):
        with pytest.warns(UserWarning, match="in 100% of the rows, no quantile of .* is between"):
            crps.threshold_weighted(backtest, **thresholds)


def test_confidence_set_ranks_and_intervals_of_models():
    noise = np.random.default_rng(3).normal(size=(60, 4))
    losses = pd.DataFrame(noise + np.array([0.0, 0.0, 0.2, 2.0]), columns=list("abcd"))
    p = model_sets.model_confidence_set(losses)
    assert p.index[0] == "d"
    assert p["d"] < 0.01
    assert p.is_monotonic_increasing
    table = model_sets.mean_ranks(losses)
    assert table.index[-1] == "d"
    assert table.loc["d", "low"] > table["high"].iloc[0]
    # The critical value of Nemenyi's test of 4 models at 5 % is 2.569 (Demsar, 2006, table 5).
    assert (table["high"] - table["low"]).iloc[0] == pytest.approx(
        2.569 * np.sqrt(20 / 360), rel=1e-3
    )
    mean, low, high = model_sets.geometric_mean_interval(np.exp(noise[:, 0]))
    assert mean == pytest.approx(np.exp(noise[:, 0].mean()))
    known = stats.ttest_1samp(noise[:, 0], 0).confidence_interval(0.95)
    np.testing.assert_allclose(np.log([low, high]), known, rtol=1e-12)
    with pytest.raises(ValueError, match="at least 5 positive, finite ratios"):
        model_sets.geometric_mean_interval([1.0, 2.0])
    with pytest.raises(ValueError, match=r"finite ratios, got \[inf\]"):
        model_sets.geometric_mean_interval([1.0, 2.0, 3.0, 4.0, np.inf])
    with pytest.raises(ValueError, match="significance must be between 0 and 1, got 5"):
        model_sets.mean_ranks(losses, significance=5)
    with pytest.raises(ValueError, match="at least 8 rows of finite losses of at least 2 models"):
        model_sets.model_confidence_set(losses[:5])
