"""Ancestral sampling: the uniform numbers that a head takes, and what is drawn of them."""

import numpy as np
import pytest

from kerastrans import generate_samples, heads, zoo
from kerastrans.decoding.samplers import AncestralSampler
from tests.conftest import to_numpy


@pytest.mark.parametrize("name", ["normal", "negative_binomial"])
def test_a_window_has_the_uniform_numbers_that_its_head_takes(name):
    head, histories = heads.get(name), np.random.default_rng(0).normal(size=(2, 6, 3))
    (uniform,) = AncestralSampler(head, 3, 1, histories).draws(2 * 500, 4)
    assert uniform.shape == (2 * 500, 4, 3, head.num_uniforms)
    assert uniform.dtype == "float32"
    assert uniform.min() > 0
    assert uniform.max() < 1
    assert uniform.mean() == pytest.approx(0.5, abs=0.01)
    (alone,) = AncestralSampler(head, 3, 1, histories[1:]).draws(500, 4)
    np.testing.assert_array_equal(alone, uniform[500:])


@pytest.mark.slow
def test_the_loop_draws_bursty_counts_with_the_heads_own_mean():
    model = zoo.build("deepar", 8, 3, 1, units=4, head="negative_binomial")
    # Always the same two numbers: alpha is 3.05, a tenth of the counts 0, others many thousands.
    model.get_layer("head").set_weights([np.zeros((4, 2)), np.array([1.0, 3.0])])
    history = np.random.default_rng(0).poisson(800, (1, 8, 1)).astype("float32")
    drawn = generate_samples(model, history, 3, 20_000)[0, :, :, 0]
    parameters = to_numpy(model([history, history[:, -3:]]))[0, :, 0].astype("float64")
    head = heads.of(model)
    exact, zeros = head.point(parameters), head.cdf(parameters, 0.0)
    np.testing.assert_allclose(drawn.mean(axis=0), exact, rtol=0.06)  # five standard errors
    np.testing.assert_allclose((drawn == 0).mean(axis=0), zeros, atol=0.01)
    assert exact.min() > 900
