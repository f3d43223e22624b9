"""Patches of the decoder's input, beside earlier values."""

import numpy as np
import pytest

from kerastrans.layers import LaggedPatches, UnfoldPatches
from tests.conftest import to_numpy

# Channel c of window b is b * 1000 + c * 100 + step; the horizon begins at step 12.
STEPS = np.arange(20.0)[None, :, None]
SERIES = STEPS + np.array([0.0, 100.0]) + np.array([0.0, 1000.0])[:, None, None]
HISTORY, PATCH = SERIES[:, :12].astype("float32"), 4


def inputs(steps):
    return SERIES[:, 12 - PATCH : 12 - PATCH + steps].astype("float32")


def test_a_token_holds_the_values_one_patch_and_one_lag_before_its_targets():
    tokens = to_numpy(LaggedPatches(PATCH, lags=[7])(inputs(8), HISTORY))
    assert tokens.shape == (2 * 2, 2, 2 * PATCH * 2)
    values, known = np.split(tokens, 2, axis=-1)
    np.testing.assert_array_equal(known, 1)
    second = values[3, 1].reshape(PATCH, 2)  # window 1, channel 1, targets 16 to 19
    np.testing.assert_array_equal(second[:, 0], 1100 + np.arange(12, 16))
    np.testing.assert_array_equal(second[:, 1], 1100 + np.arange(9, 13))


def test_missing_values_and_steps_after_the_last_are_marked():
    values = inputs(6)
    values[0, 1, 0] = np.nan
    tokens = to_numpy(LaggedPatches(PATCH)(values, HISTORY))
    np.testing.assert_array_equal(tokens[0, 0, PATCH:], [1, 0, 1, 1])
    np.testing.assert_array_equal(tokens[0, 1, PATCH:], [1, 1, 0, 0])
    np.testing.assert_array_equal(tokens[0, 0, 1], 0)


def test_unfolded_patches_are_in_their_places():
    x = np.arange(2 * 2 * 2 * PATCH * 3.0).reshape(4, 2, PATCH * 3).astype("float32")
    y = to_numpy(UnfoldPatches(PATCH, 2)(x, np.zeros((2, 7, 2), "float32")))
    assert y.shape == (2, 7, 2, 3)
    for window, step, channel in ((0, 0, 1), (1, 5, 0)):
        patch, place = divmod(step, PATCH)
        expected = x[window * 2 + channel, patch, place * 3 : place * 3 + 3]
        np.testing.assert_array_equal(y[window, step, channel], expected)
    z = to_numpy(UnfoldPatches(PATCH, 2, squeeze=True)(x[..., :PATCH], y[..., 0]))
    np.testing.assert_array_equal(z[1, :4, 0], x[2, 0, :PATCH])


@pytest.mark.parametrize(("patch_length", "squeeze"), [(4, False), (4, True), (1, False)])
def test_only_patches_of_a_distribution_have_a_dependence(patch_length, squeeze):
    layer = UnfoldPatches(patch_length, 2, squeeze)
    size = 1 if squeeze else 3
    layer(np.ones((4, 3, patch_length * size), "float32"), np.ones((2, 3 * patch_length, 2)))
    if patch_length == 1 or squeeze:
        assert layer.dependence is None
    else:
        np.testing.assert_array_equal(layer.dependence, np.eye(4))
        assert not layer.trainable_weights
