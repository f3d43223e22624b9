"""Distributions against SciPy's; the CRPS against its integral."""

import keras
import numpy as np
import pytest
from keras import ops
from scipy import integrate, stats

from kerastrans import heads
from kerastrans.heads import CRPS, MixtureHead, NegativeBinomialHead, StudentTHead
from tests.conftest import to_numpy
from tests.heads.conftest import (
    COUNTS,
    DISTRIBUTIONS,
    STEPS,
    evaluate,
    parameters_of,
    raw,
    scipy_of,
)

LEVELS = (0.05, 0.3, 0.5, 0.9)


def targets_for(head, shape, seed=1):
    values = np.random.default_rng(seed).normal(size=shape) * 2
    values = np.abs(values) if isinstance(head, heads.CountHead) else values
    return np.round(values) if isinstance(head, heads.CountHead) else values


def log_density(head, parameters, targets):
    """SciPy's, in float64."""
    exact = scipy_of(head, parameters)
    return (exact.logpmf if head.is_discrete else exact.logpdf)(targets)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_log_likelihood_equals_scipy(name):
    head = heads.get(name)
    parameters = parameters_of(head)
    targets = targets_for(head, parameters.shape[:-1])
    likelihood = evaluate(head.log_prob, parameters, targets)
    exact = log_density(head, parameters, targets)
    np.testing.assert_allclose(likelihood, exact, rtol=1e-5, atol=5e-6)


@pytest.mark.parametrize("name", ["normal", "student_t", *COUNTS])
def test_quantiles_cdf_mean_and_median_equal_scipy(name):
    head = heads.get(name)
    parameters = parameters_of(head)
    targets = targets_for(head, parameters.shape[:-1])
    exact = scipy_of(head, parameters)
    np.testing.assert_allclose(head.cdf(parameters, targets), exact.cdf(targets), atol=1e-5)
    np.testing.assert_allclose(head.point(parameters), exact.mean(), rtol=1e-4)
    np.testing.assert_allclose(head.median(parameters), exact.median(), rtol=1e-3, atol=1e-4)
    quantiles = head.quantile(parameters, LEVELS)
    for i, level in enumerate(LEVELS):
        np.testing.assert_allclose(quantiles[..., i], exact.ppf(level), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_quantile_at_the_probability_of_zero_is_zero(dtype):
    head = heads.HurdleNegativeBinomialHead()
    for positive in (0.2, 0.8, 0.9):
        levels = [round(1 - positive, 9), round(1 - positive, 9) + 1e-6]
        found = head.quantile(np.array([[0.2, 2.0, positive]], dtype), levels)
        np.testing.assert_array_equal(found, [[0, 1]])


def test_mean_and_median_of_a_skewed_mixture_differ():
    head = MixtureHead(2)
    parameters = np.array([[0.0, 100.0, 1.0, 1.0, np.log(0.9), np.log(0.1)]])
    np.testing.assert_allclose(head.point(parameters), [10.0])
    # 0.9 * Phi(x) = 0.5
    np.testing.assert_allclose(head.median(parameters), stats.norm.ppf([0.5 / 0.9]), rtol=1e-6)
    np.testing.assert_allclose(head.cdf(parameters, np.array([50.0])), [0.9])
    assert not head.point_is_median


def test_rounded_weights_do_not_move_the_mean_of_a_mixture_at_a_high_level():
    head, level = MixtureHead(2), 1e12
    log_weights = np.log(np.float32([0.3, 0.7])) + 1e-6  # their sum is not quite 1
    parameters = np.array([level, level + 10.0, 1.0, 1.0, *log_weights])
    np.testing.assert_allclose(head.point(parameters) - level, 7.0, atol=1e-3)
    values = ops.convert_to_tensor(np.float32([2.0**24, 2.0**24 + 10, 1, 1, *log_weights]))
    exported = ops.convert_to_numpy(head.outputs(values)["forecast"])
    np.testing.assert_allclose(exported - 2.0**24, 7.0, atol=1.0)


@pytest.mark.parametrize("mean", [1e-3, 1.0, 30.0, 1e3, 1e6])
@pytest.mark.parametrize("alpha", [1e-4, 0.5, 30.0])
def test_likelihood_of_counts_has_float32_accuracy(mean, alpha):
    head = NegativeBinomialHead()
    parameters = np.float32([mean, alpha])
    drawn = scipy_of(head, parameters).rvs(size=100, random_state=0)
    targets = np.float32([0, 1, 2, *drawn, *np.round(1.7 * drawn), *np.round(0.1 * drawn)])
    parameters = np.broadcast_to(parameters, (*targets.shape, 2))
    exact = log_density(head, parameters, targets.astype("float64"))
    np.testing.assert_allclose(
        evaluate(head.log_prob, parameters, targets), exact, rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize("freedom", [2.1, 19.9, 20.1, 1e4, 1e6])
def test_likelihood_of_student_t_has_float32_accuracy(freedom):
    head = StudentTHead()
    targets = np.linspace(-4, 4, 20)
    parameters = np.float32(np.broadcast_to([0.0, 1.0, freedom], (20, 3)))
    likelihood = evaluate(head.log_prob, parameters, targets)
    np.testing.assert_allclose(likelihood, log_density(head, parameters, targets), atol=5e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_gradient_of_the_likelihood_equals_scipys_difference_quotient(name):
    head = heads.get(name)
    parameters = parameters_of(head)[:1, :2, :2].astype("float64")
    targets = targets_for(head, parameters.shape[:-1])
    # The parameters are the weights of a layer: one step of SGD shows their gradient.
    layer = keras.layers.Dense(parameters.size, use_bias=False)
    inputs = keras.Input((1,))
    model = keras.Model(inputs, ops.reshape(layer(inputs), (-1, *parameters.shape[1:])))
    before = parameters.reshape(1, -1)
    layer.set_weights([before])
    rate = 1e-2
    model.compile(keras.optimizers.SGD(rate), head.loss())
    model.train_on_batch(np.ones((1, 1), "float32"), targets.astype("float32"))
    gradient = (before - layer.get_weights()[0])[0] / rate
    for i in range(parameters.size):
        step = np.zeros_like(before)
        step[0, i] = 1e-5
        up, down = ((before + s).reshape(parameters.shape) for s in (step, -step))
        difference = log_density(head, up, targets) - log_density(head, down, targets)
        exact = -difference.mean() / 2e-5
        np.testing.assert_allclose(gradient[i], exact, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", ["normal", "mixture"])
def test_crps_equals_its_integral_and_the_sample_estimate(name):
    head = heads.get(name)
    parameters = parameters_of(head)[:1, :1]  # (1, 1, 3, size)
    targets = np.array([[[-1.0, 0.3, 2.0]]])
    scores = evaluate(head.crps, parameters, targets)
    samples = head.sample(parameters, 20_000, seed=0)
    for c in range(3):
        one, y = parameters[0, 0, c].astype("float64"), targets[0, 0, c]
        left = integrate.quad(lambda x, p=one: head.cdf(p, x) ** 2, -60, y, limit=200)[0]
        right = integrate.quad(lambda x, p=one: (1 - head.cdf(p, x)) ** 2, y, 60, limit=200)[0]
        np.testing.assert_allclose(scores[0, 0, c], left + right, rtol=1e-3)
        drawn = samples[:, 0, 0, c]
        estimate = np.abs(drawn - y).mean() - 0.5 * np.abs(drawn - np.roll(drawn, 1)).mean()
        np.testing.assert_allclose(scores[0, 0, c], estimate, rtol=0.05)
    loss = float(to_numpy(CRPS(head)(targets.astype("float32"), parameters)))
    np.testing.assert_allclose(loss, scores.mean(), rtol=1e-5)


@pytest.mark.parametrize("name", ["quantiles", "normal", "student_t", "mixture"])
def test_window_statistics_and_rescale_shift_and_scale_the_forecast(name):
    head = heads.get(name)
    statistics = np.tile(np.array([[[7.0], [3.0]]], "float32"), (4, 1, 3))
    plain = parameters_of(head)
    moved = to_numpy(head(raw(head.size), prediction_length=STEPS, statistics=statistics))
    again = head.rescale(plain, np.float64([[[7.0]]]), np.float64([[[3.0]]]))
    np.testing.assert_allclose(moved, again, rtol=1e-4, atol=1e-4)
    levels = (0.1, 0.5, 0.9)
    np.testing.assert_allclose(
        head.quantile(moved, levels), 7 + 3 * head.quantile(plain, levels), rtol=1e-3, atol=1e-3
    )


@pytest.mark.parametrize("name", ["quantiles", *DISTRIBUTIONS])
def test_quantiles_of_samples_equal_those_of_the_forecast(name):
    head = heads.get(name)
    parameters = parameters_of(head)[:1, :1, :1]
    drawn = head.sample(parameters, 20_000, seed=0)[:, 0, 0, 0]
    assert drawn.shape == (20_000,)
    exact = head.quantile(parameters, (0.1, 0.5, 0.9))[0, 0, 0]
    tolerance = 1 if name == "negative_binomial" else 0.05 * (exact[2] - exact[0])
    np.testing.assert_allclose(np.quantile(drawn, (0.1, 0.5, 0.9)), exact, atol=tolerance)
    np.testing.assert_array_equal(drawn, head.sample(parameters, 20_000, seed=0)[:, 0, 0, 0])
