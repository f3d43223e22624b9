import numpy as np
import pytest
from keras import ops

from kerastrans.layers import ObservedNormalization

WINDOWS = np.array([[1.0, np.nan, 3.0], [2.0, 2.0, 2.0], [np.nan] * 3], "float32")


def test_mean_and_deviation_use_only_observed_values():
    values, seen, mean, deviation = map(ops.convert_to_numpy, ObservedNormalization()(WINDOWS))
    np.testing.assert_allclose(mean[:, 0], [2.0, 2.0, 0.0])
    np.testing.assert_allclose(deviation[:, 0], [1.0, 1e-5, 1.0])
    np.testing.assert_allclose(values, [[-1, 0, 1], [0, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(seen, ~np.isnan(WINDOWS))


def test_hidden_values_are_included_in_the_mean():
    visible = np.array([[True, False, False]])
    values, seen, mean, _ = map(ops.convert_to_numpy, ObservedNormalization()(WINDOWS[:1], visible))
    np.testing.assert_allclose(mean, [[2.0]])
    np.testing.assert_allclose(values, [[-1.0, 0.0, 0.0]])
    np.testing.assert_array_equal(seen, visible)


def test_epsilon_must_be_positive():
    with pytest.raises(ValueError, match="epsilon"):
        ObservedNormalization(0)
