import numpy as np

from kerastrans.layers import CenteredCovariates
from tests.conftest import to_numpy


def test_the_mean_is_of_the_steps_with_a_known_value_in_any_channel():
    history = np.full((1, 4, 2), np.nan, "float32")
    history[0, 1, 0] = history[0, 3, 1] = 1.0
    covariates = np.array([[[100.0], [2.0], [7.0], [4.0], [5.0], [1.0]]], "float32")
    centered = to_numpy(CenteredCovariates()(covariates, history))
    np.testing.assert_allclose(centered.ravel(), [0, -1, 0, 1, 2, -2])
    level = to_numpy(CenteredCovariates()(covariates + 50, history))
    np.testing.assert_allclose(level, centered, atol=1e-5)


def test_without_a_known_value_nothing_is_taken_off():
    history = np.full((1, 2, 1), np.nan, "float32")
    centered = to_numpy(CenteredCovariates()(np.ones((1, 3, 1), "float32"), history))
    np.testing.assert_array_equal(centered.ravel(), [0, 0, 1])
