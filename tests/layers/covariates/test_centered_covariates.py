import numpy as np

from kerastrans.layers import CenteredCovariates
from tests.conftest import to_numpy


def test_mean_uses_steps_with_an_observed_value_in_any_channel():
    history = np.full((1, 4, 2), np.nan, "float32")
    history[0, 1, 0] = history[0, 3, 1] = 1.0
    covariates = np.array([[[100.0], [2.0], [7.0], [4.0], [5.0], [1.0]]], "float32")
    centered = to_numpy(CenteredCovariates()(covariates, history))
    np.testing.assert_allclose(centered.ravel(), [0, -1, 0, 1, 2, -2])
    level = to_numpy(CenteredCovariates()(covariates + 50, history))
    np.testing.assert_allclose(level, centered, atol=1e-5)


def test_covariates_are_unchanged_without_observed_values():
    history = np.full((1, 2, 1), np.nan, "float32")
    centered = to_numpy(CenteredCovariates()(np.ones((1, 3, 1), "float32"), history))
    np.testing.assert_array_equal(centered.ravel(), [0, 0, 1])


def test_a_missing_covariate_is_neither_counted_nor_passed_on():
    covariates = np.array([[[np.nan], [2.0], [4.0], [5.0], [np.nan]]], "float32")
    history = np.zeros((1, 3, 1), "float32")
    centered = to_numpy(CenteredCovariates()(covariates, history))
    np.testing.assert_array_equal(centered.ravel(), [0, -1, 1, 2, 0])
