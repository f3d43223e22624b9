"""Ancestral sampling: the normal numbers that a head takes, and what is drawn of them."""

import numpy as np
import pytest
from keras import ops

from kerastrans import generate_samples, heads, zoo
from kerastrans.decoding.samplers import AncestralSampler
from tests.conftest import to_numpy


@pytest.mark.parametrize("name", ["normal", "negative_binomial"])
def test_a_window_has_the_normal_numbers_that_its_head_takes(name):
    head, histories = heads.get(name), np.random.default_rng(0).normal(size=(2, 6, 3))
    (normals,) = AncestralSampler(head, 3, 1, histories).draws(2 * 500, 4)
    assert normals.shape == (2 * 500, 4, 3, head.num_normals)
    assert normals.dtype == "float32"
    assert normals.mean() == pytest.approx(0, abs=0.03)
    assert normals.std() == pytest.approx(1, abs=0.03)
    (alone,) = AncestralSampler(head, 3, 1, histories[1:]).draws(500, 4)
    np.testing.assert_array_equal(alone, normals[500:])


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


def test_the_steps_of_a_patch_have_the_dependence_of_the_model():
    """Draws before the head: correlated within a patch, in each channel, and nowhere else."""
    steps = 0.8 ** np.abs(np.subtract.outer(np.arange(3), np.arange(3)))
    root = np.linalg.cholesky(steps).astype("float32")
    sampler = AncestralSampler(heads.get("normal"), 2, dependence=root)
    (normals,) = sampler.draws(20_000, 6)
    _, found = sampler.start(np.zeros((20_000, 3, 2), "float32"), 6, ops.convert_to_tensor(normals))
    found = to_numpy(found)[..., 0].swapaxes(1, 2).reshape(20_000, 12)  # (rows, channels * steps)
    expected = np.kron(np.eye(4), steps)  # two channels of two patches
    np.testing.assert_allclose(np.corrcoef(found.T), expected, atol=0.03)
