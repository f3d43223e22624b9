"""The dependence of errors: recovered from known processes, shrunk where there is little to see."""

import json

import numpy as np
import pytest

from kerastrans.forecasting.dependence import Dependence

STEPS = 12


def powers(correlation, steps=STEPS):
    return correlation ** np.abs(np.subtract.outer(np.arange(steps), np.arange(steps)))


def draws(steps, series, origins, seed=0):
    """Return scores of a process with these correlations, and the arguments of `fit`."""
    noise = np.random.default_rng(seed).normal(size=(origins, len(series), len(steps)))
    noise = np.einsum("osh,hk,sr->ork", noise, np.linalg.cholesky(steps).T, series)
    scores = noise.reshape(-1, len(steps), 1)
    names = np.array([[f"s{i}"] for _ in range(origins) for i in range(len(series))])
    return scores, names, np.repeat(np.arange(origins) * len(steps), len(series))


@pytest.mark.parametrize("correlation", [0.0, 0.4, 0.9])
def test_the_correlation_of_steps_is_recovered(correlation):
    found = Dependence.fit(*draws(powers(correlation), np.eye(1), 2000)).steps
    np.testing.assert_allclose(found, powers(correlation), atol=0.07)


def test_the_correlation_of_series_is_recovered():
    expected = np.array([[1, 0.8, -0.5], [0.8, 1, 0], [-0.5, 0, 1]])
    found = Dependence.fit(*draws(powers(0.5), np.linalg.cholesky(expected).T, 1000))
    assert found.names == ("s0", "s1", "s2")
    np.testing.assert_allclose(found.series_correlation, expected, atol=0.06)
    np.testing.assert_allclose(found.steps, powers(0.5), atol=0.06)
    drawn = found.draw(["s2", "s0"], 4000, seed=0)
    assert np.corrcoef(drawn[0, :, 3], drawn[1, :, 3])[0, 1] == pytest.approx(-0.5, abs=0.06)
    assert np.corrcoef(drawn[0, :, 3], drawn[0, :, 4])[0, 1] == pytest.approx(0.5, abs=0.06)


@pytest.mark.parametrize("origins", [3, 40])
def test_few_origins_give_the_right_spread_of_sums(origins):
    """The standard deviation of a sum over steps is right on average, without a bias to 0."""
    steps = 0.5 * powers(0.8) + 0.5 * np.eye(STEPS)
    ratios = [
        np.sqrt(Dependence.fit(*draws(steps, np.eye(1), origins, seed)).steps.sum() / steps.sum())
        for seed in range(20)
    ]
    assert np.mean(ratios) == pytest.approx(1, abs=0.1)


def test_many_series_share_a_factor_from_few_origins():
    common = np.linalg.cholesky(0.3 + 0.7 * np.eye(200)).T
    found = Dependence.fit(*draws(powers(0.5), common, 4)).series_correlation
    assert found[~np.eye(200, dtype=bool)].mean() == pytest.approx(0.3, abs=0.12)
    independent = Dependence.fit(*draws(powers(0.5), np.eye(200), 4)).series_correlation
    assert abs(independent[~np.eye(200, dtype=bool)]).mean() < 0.02


def test_missing_scores_do_not_weaken_the_steps():
    scores, names, times = draws(powers(0.9), np.eye(1), 1000)
    scores[np.random.default_rng(1).uniform(size=scores.shape) < 0.5] = np.nan
    np.testing.assert_allclose(Dependence.fit(scores, names, times).steps, powers(0.9), atol=0.07)
    assert Dependence.fit(np.full((3, 2, 1), np.nan), np.full((3, 1), "a"), np.arange(3)) is None


@pytest.mark.parametrize("origins", [400, 100, 50])
def test_a_series_of_fewer_origins_is_not_less_dependent(origins):
    expected = np.array([[1, 0.8, 0.5], [0.8, 1, 0.4], [0.5, 0.4, 1]])
    correlations = []
    for seed in range(5):
        scores, names, times = draws(powers(0.5), np.linalg.cholesky(expected).T, 400, seed)
        kept = (names[:, 0] != "s1") | (times >= (400 - origins) * STEPS)
        found = Dependence.fit(scores[kept], names[kept], times[kept])
        correlations.append(found.series_correlation)
        assert np.square(found.loadings).sum(axis=1).max() < 1.001
    np.testing.assert_allclose(np.mean(correlations, axis=0), expected, atol=0.05)


def test_series_without_a_common_origin_have_the_constant_correlation():
    common = np.linalg.cholesky(0.6 + 0.4 * np.eye(20)).T
    scores, names, times = draws(powers(0.5), common, 200)
    kept = (names[:, 0] != "s0") | (times < 100 * STEPS)
    kept &= (names[:, 0] != "s1") | (times >= 100 * STEPS)
    found = Dependence.fit(scores[kept], names[kept], times[kept]).series_correlation
    assert found[0, 1] == pytest.approx(0.6, abs=0.08)


def test_few_unknown_scores_change_little():
    series = np.linalg.cholesky(np.array([[1, 0.8, -0.5], [0.8, 1, 0], [-0.5, 0, 1]])).T
    scores, names, times = draws(powers(0.5), series, 12)
    complete = Dependence.fit(scores, names, times).series_correlation
    scores[0, 0] = np.nan
    found = Dependence.fit(scores, names, times).series_correlation
    np.testing.assert_allclose(found, complete, atol=0.02)


def test_draws_of_a_series_depend_on_its_name_and_the_seed_only():
    dependence = Dependence.fit(*draws(powers(0.5), np.linalg.cholesky(0.5 + 0.5 * np.eye(3)), 50))
    alone = dependence.draw(["s1"], 7, seed=3)[0]
    among = dependence.draw(["new", "s2", "s1", "s0"], 7, seed=3)
    np.testing.assert_allclose(among[2], alone, rtol=1e-12)
    assert not np.allclose(dependence.draw(["s1"], 7, seed=4)[0], alone)
    assert dependence.unknown(["s0", "new"]) == ["new"]


def test_series_that_begin_at_other_times_share_the_shocks_of_one_time():
    dependence = Dependence(powers(0.7, 7), ("a", "b", "c"), np.full((3, 1), 1.0))
    drawn = dependence.draw(["a", "b", "c"], 2000, seed=0, first=[10, 12, 10])
    np.testing.assert_allclose(drawn[0], drawn[2], rtol=1e-12)
    of_times = [np.corrcoef(drawn[0, :, 2 + i], drawn[1, :, i])[0, 1] for i in range(5)]
    of_steps = [np.corrcoef(drawn[0, :, i], drawn[1, :, i])[0, 1] for i in range(5)]
    assert min(of_times) > 0.85
    assert max(of_steps) < 0.7
    before = dependence.draw(["b"], 2000, seed=0, first=12)
    np.testing.assert_allclose(before[0], drawn[1], rtol=1e-12)
    early = dependence.draw(["a"], 3, seed=0, first=-400)  # before 1970
    assert np.isfinite(early).all()


def test_probabilities_are_stratified_and_a_single_path_is_dependent():
    dependence = Dependence(powers(0.95, 2))
    drawn = dependence.probabilities(["a", "b"], 50, seed=0)
    np.testing.assert_array_equal(
        np.sort((50 * drawn).astype(int), axis=1),
        np.tile(np.arange(50)[:, None], (2, 1, 2)),
    )
    single = np.stack([dependence.probabilities(["a"], 1, seed)[0, 0] for seed in range(300)])
    assert np.corrcoef(single.T)[0, 1] > 0.85
    assert single.min() < 0.07
    assert single.max() > 0.93


def test_a_file_holds_the_same_numbers():
    dependence = Dependence.fit(*draws(powers(0.7), np.linalg.cholesky(0.5 + 0.5 * np.eye(3)), 9))
    read = Dependence.from_dict(json.loads(json.dumps(dependence.to_dict())))
    np.testing.assert_array_equal(
        read.draw(["s0", "s1"], 5, 1), dependence.draw(["s0", "s1"], 5, 1)
    )
    default = Dependence.default(4)
    read = Dependence.from_dict(json.loads(json.dumps(default.to_dict())))
    np.testing.assert_array_equal(read.draw(["a"], 5, 1), default.draw(["a"], 5, 1))
