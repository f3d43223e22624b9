"""Gamma and Poisson numbers against SciPy's distributions."""

import numpy as np
import pytest
from scipy import stats

from kerastrans.heads.counts import GAMMA_NORMALS, gamma, poisson
from tests.heads.conftest import evaluate

PROBABILITIES = np.concatenate([np.logspace(-6, -1, 500), np.linspace(0.1, 0.9, 2000)])
LEVELS = stats.norm.ppf([0.1, 0.5, 0.9])


@pytest.mark.parametrize("rate", [1e-6, 0.1, 3.0, 15.9, 16.0, 40.0, 1e3, 1e5])
def test_poisson_draw_is_the_quantile_of_its_normal_number(rate):
    probabilities = np.concatenate([PROBABILITIES, 1 - PROBABILITIES[:500]])
    normal = stats.norm.ppf(probabilities)
    drawn = evaluate(poisson, np.full(normal.shape, rate), normal).astype("float64")
    exact = stats.poisson(np.float32(rate))
    assert (exact.cdf(drawn) >= probabilities - 1e-4).all()
    assert (exact.cdf(drawn - 1) <= probabilities + 1e-4).all()


def test_poisson_draws_with_large_rates_keep_their_spread():
    for rate in (1e7, 1e9, 1e12):
        drawn = evaluate(poisson, np.full(3, rate), LEVELS).astype("float64")
        z = (drawn - np.float32(rate)) / np.sqrt(rate)
        spacing = np.spacing(np.float32(rate)) / np.sqrt(rate)
        np.testing.assert_allclose(z, LEVELS, atol=2e-3 + spacing)


@pytest.mark.parametrize("shape", [1e-2, 0.1, 1.0, 7.0, 1e2, 1e4])
def test_gamma_draws_follow_scipys_distribution(shape):
    normals = np.random.default_rng(0).standard_normal((50_000, GAMMA_NORMALS))
    drawn = evaluate(gamma, np.full(len(normals), shape), normals).astype("float64")
    exact = stats.gamma(np.float64(np.float32(shape)))
    levels = np.linspace(0.01, 0.99, 50)
    levels = levels[exact.ppf(levels) > 1e-37]  # float32 has 0 for what is less
    shares = (drawn[:, None] <= exact.ppf(levels)).mean(axis=0)
    np.testing.assert_allclose(shares, levels, atol=2 / np.sqrt(len(drawn)))
