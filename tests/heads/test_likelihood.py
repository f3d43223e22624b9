"""Likelihoods, their gradients and distribution functions in float32, against float64."""

import numpy as np
import pytest
from scipy import special, stats

from kerastrans.heads import (
    MixtureHead,
    NegativeBinomialHead,
    NormalHead,
    PoissonHead,
    StudentTHead,
)
from tests.heads.conftest import evaluate, gradient, scipy_of

MEANS = (1e-6, 1e-3, 1.0, 30.0, 1e3, 1e5, 3e6, 1e9)
ALPHAS = (1e-6, 1e-4, 1e-2, 0.3, 3.0, 100.0)


def count_cases(mean, alpha):
    """Parameters and counts around the mean, far from it, and near 0, float32."""
    spread = np.sqrt(mean + alpha * mean**2)
    around = mean + spread * np.array([-3, -1, -0.1, 0, 0.1, 1, 3, 10])
    counts = [
        0,
        1,
        2,
        *np.round([*around, mean / 3, 3 * mean]),
        *([1e5, 1e9] if mean > 100 else []),
    ]
    counts = np.unique(np.float32(np.maximum(counts, 0)))
    return np.float32(np.broadcast_to([mean, alpha], (len(counts), 2))), counts


def log_probability(mean, alpha, count):
    """As a sum over the counts below, in float64, where they are few; by SciPy otherwise."""
    if count > 2e5:
        return stats.nbinom.logpmf(count, 1 / alpha, 1 / (1 + alpha * mean))
    rising = np.log1p(alpha * np.arange(count)).sum() - special.gammaln(count + 1)
    return rising + special.xlogy(count, mean) - (count + 1 / alpha) * np.log1p(alpha * mean)


def score(mean, alpha, count):
    """Derivatives of the log-probability by the mean and by alpha, in float64."""
    product = alpha * mean
    rest = (np.log1p(product) - product / (1 + product)) / product**2
    if product < 1e-3:
        rest = 1 / 2 - product * (2 / 3 - product * (3 / 4 - product * 4 / 5))
    if count > 2e5:
        digammas = special.digamma(count + 1 / alpha) - special.digamma(1 / alpha)
        rising = (count - digammas / alpha) / alpha
    else:
        rising = (np.arange(count) / (1 + alpha * np.arange(count))).sum()
    by_alpha = rising + mean**2 * rest - count * mean / (1 + product)
    return (count - mean) / (mean * (1 + product)), by_alpha


@pytest.mark.parametrize("mean", MEANS)
def test_likelihood_of_counts_and_its_gradient_equal_float64(mean):
    head = NegativeBinomialHead()
    cases = [count_cases(mean, alpha) for alpha in ALPHAS]
    parameters, counts = (np.concatenate(part) for part in zip(*cases, strict=True))
    rows = np.column_stack([parameters, counts]).astype("float64")
    exact = np.array([log_probability(*row) for row in rows])
    likelihood = evaluate(head.log_prob, parameters, counts)
    np.testing.assert_allclose(likelihood, exact, rtol=1e-5, atol=1e-5)
    slopes = gradient(head.log_prob, parameters, counts)
    exact = np.array([score(*row) for row in rows])
    np.testing.assert_allclose(slopes[:, 0], exact[:, 0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(slopes[:, 1], exact[:, 1], rtol=5e-3, atol=1e-5)


def test_likelihood_of_large_poisson_means_equals_float64():
    means = np.float32([[1.0], [8e7], [9e7], [1e12]])
    exact = means[:, 0].astype("float64")
    found = evaluate(PoissonHead().log_prob, means, np.zeros(4, "float32"))
    np.testing.assert_allclose(found, -exact, rtol=1e-6)
    found = evaluate(PoissonHead().log_prob, means, means[:, 0])
    expected = special.xlogy(exact, exact) - exact - special.gammaln(exact + 1)
    expected[1:] = -np.log(2 * np.pi * exact[1:]) / 2 - 1 / (12 * exact[1:])  # Stirling
    np.testing.assert_allclose(found, expected, rtol=1e-6)


CONTINUOUS = [
    *[(NormalHead(), case) for case in ((0.0, 1e-3), (1e6, 10.0), (-5.0, 1e6))],
    *[(StudentTHead(), (3.0, 2.0, freedom)) for freedom in (2.1, 4.0, 19.0, 21.0, 1e3, 1e6)],
    (MixtureHead(2), (0.0, 50.0, 1.0, 20.0, *np.log([0.3, 0.7]))),
]


@pytest.mark.parametrize(("head", "parameters"), CONTINUOUS)
def test_likelihood_gradient_and_cdf_equal_float64(head, parameters):
    center, scale = parameters[0], parameters[head.num_locations]
    targets = np.float32(center + scale * np.array([-8, -3, -1, -0.1, 0, 0.3, 1, 2, 5, 8]))
    parameters = np.float32(np.broadcast_to(parameters, (len(targets), len(parameters))))
    exact = scipy_of(head, parameters)
    likelihood = evaluate(head.log_prob, parameters, targets)
    np.testing.assert_allclose(likelihood, exact.logpdf(targets), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(
        head.cdf(parameters, targets), exact.cdf(targets), rtol=1e-4, atol=1e-12
    )
    slopes = gradient(head.log_prob, parameters, targets)
    wide = parameters.astype("float64")
    for i in range(head.num_locations + head.num_spreads):
        step = np.zeros(head.size)
        step[i] = 1e-4 * scale
        up, down = (scipy_of(head, wide + sign * step).logpdf(targets) for sign in (1, -1))
        quotient = (up - down) / (2 * step[i])
        np.testing.assert_allclose(slopes[:, i], quotient, rtol=1e-3, atol=1e-4 / scale)


@pytest.mark.parametrize("mean", [1e-4, 0.3, 20.0, 1e4, 1e9])
@pytest.mark.parametrize("alpha", [1e-6, 0.1, 3.0, 100.0])
def test_quantiles_of_counts_invert_their_cdf(mean, alpha):
    head, parameters = NegativeBinomialHead(), np.float32([mean, alpha])
    levels = np.array([1e-4, 0.01, 0.3, 0.5, 0.9, 0.999])
    quantiles = head.quantile(parameters, levels)
    np.testing.assert_array_equal(quantiles, np.floor(quantiles))
    assert (head.cdf(parameters, quantiles) >= levels * (1 - 1e-9)).all()
    below = head.cdf(parameters, quantiles - 1)
    assert (below < levels * (1 + 1e-9)).all()
    np.testing.assert_allclose(below, scipy_of(head, parameters).cdf(quantiles - 1), rtol=1e-9)


@pytest.mark.parametrize("wrong", [-1.0, 2.5, np.inf, -np.inf])
def test_invalid_counts_are_refused_by_name(wrong):
    head = NegativeBinomialHead()
    head.check_targets(np.array([[0.0, 3.0], [np.nan, 1e9]]), ["a", "b"])
    values = np.array([[0.0, 3.0], [np.nan, wrong]])
    message = rf"a NegativeBinomialHead requires counts \(0, 1, 2, ...\): 'b' has {wrong}.$"
    with pytest.raises(ValueError, match=message):
        head.check_targets(values, ["a", "b"])
    with pytest.raises(ValueError, match="the series has"):
        head.check_targets(values)
    NormalHead().check_targets(values)


def test_negative_targets_count_as_zero_in_the_graph():
    targets = np.array([-5.0, 0.0, 2.0, 2.5, 3.0])
    parameters = np.tile([4.0, 0.5], (5, 1))
    likelihood = evaluate(NegativeBinomialHead().log_prob, parameters, targets)
    assert likelihood[0] == likelihood[1]
    assert likelihood[4] < likelihood[3] < likelihood[2]  # by the gamma function
    assert np.isfinite(gradient(NegativeBinomialHead().log_prob, parameters, targets)).all()
