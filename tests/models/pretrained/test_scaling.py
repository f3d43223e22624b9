import numpy as np
import pytest
from keras import ops

from kerastrans.models.pretrained import scaling
from kerastrans.models.pretrained.scaling import (
    empirical_quantiles,
    padded_to_patches,
    rescaled,
    weighted_quantiles,
)


@pytest.mark.parametrize("name", ["arcsinh", "sinh"])
def test_hyperbolic_functions_are_those_of_numpy(name):
    sizes = np.array([0, 1e-30, 1e-6, 0.1, 1, 10, 80] + [1e15, 1e25] * (name == "arcsinh"))
    values = np.concatenate([sizes, -sizes]).astype("float32")
    found = ops.convert_to_numpy(getattr(scaling, name)(values))
    np.testing.assert_allclose(found, getattr(np, name)(values), rtol=3e-6, atol=2e-7)


def test_scaled_values_come_back_row_by_row():
    scaled = np.arange(18, dtype="float32").reshape(3, 2, 3)  # as many rows as last values
    location, scale = np.array([[1.0], [20.0], [300.0]]), np.array([[1.0], [2.0], [3.0]])
    expected = location[:, None] + scale[:, None] * scaled
    values = rescaled(scaled, location.astype("float32"), scale.astype("float32"))
    np.testing.assert_allclose(ops.convert_to_numpy(values), expected)


def test_patches_are_filled_up_on_the_left():
    patches = ops.convert_to_numpy(padded_to_patches(np.array([[1.0, 2.0, 3.0]]), 2))
    np.testing.assert_array_equal(patches, [[[0, 1], [2, 3]]])
    assert padded_to_patches(np.ones((4, 6)), 3).shape == (4, 2, 3)


def test_empirical_quantiles_are_those_of_numpy():
    samples = np.random.default_rng(0).normal(size=(2, 3, 17)).astype("float32")
    levels = (0.05, 0.5, 0.93)
    found = ops.convert_to_numpy(empirical_quantiles(samples, levels))
    expected = np.moveaxis(np.quantile(samples, levels, axis=-1), 0, -1)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_weighted_quantiles_are_linear_between_cumulated_weights():
    samples = np.array([[[30.0, 10.0, 20.0]], [[3.0, 1.0, 2.0]]], "float32")
    weights = np.array([0.5, 0.3, 0.2])  # in order: 0.3, 0.5 and 1.0 are reached
    found = ops.convert_to_numpy(weighted_quantiles(samples, weights, (0.1, 0.4, 0.75)))
    np.testing.assert_allclose(found[:, 0], [[10, 15, 25], [1, 1.5, 2.5]], rtol=1e-5)
