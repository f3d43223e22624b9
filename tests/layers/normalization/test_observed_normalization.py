import numpy as np
import pytest
from keras import ops

from kerastrans.layers import ObservedNormalization

WINDOWS = np.array([[1.0, np.nan, 3.0], [2.0, 2.0, 2.0], [np.nan] * 3], "float32")


def test_mean_and_deviation_are_of_the_observed_values():
    values, seen, mean, deviation = map(ops.convert_to_numpy, ObservedNormalization()(WINDOWS))
    np.testing.assert_allclose(mean[:, 0], [2.0, 2.0, 0.0])
    np.testing.assert_allclose(deviation[:, 0], [1.0, 1e-5, 1.0])
    np.testing.assert_allclose(values, [[-1, 0, 1], [0, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(seen, ~np.isnan(WINDOWS))


def test_what_is_not_shown_still_enters_the_mean():
    visible = np.array([[True, False, False]])
    values, seen, mean, _ = map(ops.convert_to_numpy, ObservedNormalization()(WINDOWS[:1], visible))
    np.testing.assert_allclose(mean, [[2.0]])
    np.testing.assert_allclose(values, [[-1.0, 0.0, 0.0]])
    np.testing.assert_array_equal(seen, visible)


def test_an_epsilon_that_is_not_above_zero():
    with pytest.raises(ValueError, match="epsilon"):
        ObservedNormalization(0)
