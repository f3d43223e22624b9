import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kerastrans.layers import Patching
from tests.conftest import to_numpy


@given(st.integers(1, 12), st.integers(1, 12), st.booleans())
def test_patches_are_slices_of_the_padded_series(patch_length, stride, pad_end):
    series = np.arange(2 * 12 * 2, dtype="float32").reshape(2, 12, 2)
    patches = to_numpy(Patching(patch_length, stride, pad_end)(series))
    padded = np.pad(series, ((0, 0), (0, stride * pad_end), (0, 0)), mode="edge")
    count = (12 - patch_length) // stride + 1 + pad_end
    assert patches.shape == (2, 2, count, patch_length)
    for i in range(count):
        expected = padded[:, i * stride : i * stride + patch_length].transpose(0, 2, 1)
        np.testing.assert_array_equal(patches[:, :, i], expected)


def test_a_patch_longer_than_the_series_is_refused():
    with pytest.raises(ValueError, match="patch_length=13 steps does not fit into a context of 12"):
        Patching(13, 1)(np.zeros((1, 12, 1)))
