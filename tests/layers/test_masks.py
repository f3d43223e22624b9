import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kerastrans.layers.masks import combine_masks, create_look_ahead_mask, create_padding_mask
from tests.conftest import to_numpy


@given(st.integers(1, 40))
def test_look_ahead_mask_shows_the_past_and_hides_the_future(size):
    mask = to_numpy(create_look_ahead_mask(size))
    assert mask.dtype == bool
    np.testing.assert_array_equal(mask, np.tri(size, dtype=bool))


@given(st.lists(st.integers(0, 9), min_size=1, max_size=5), st.integers(9, 12))
def test_padding_mask_shows_the_leading_positions(lengths, size):
    mask = to_numpy(create_padding_mask(np.array(lengths), size))
    assert mask.shape == (len(lengths), size)
    np.testing.assert_array_equal(mask.sum(axis=1), lengths)
    assert not (mask[:, 1:] & ~mask[:, :-1]).any()  # no hole in front of a valid position


def test_padding_mask_takes_one_length_per_query():
    mask = to_numpy(create_padding_mask(np.array([[1, 3], [0, 2]]), 3))
    np.testing.assert_array_equal(mask[0], [[True, False, False], [True, True, True]])
    np.testing.assert_array_equal(mask[1], [[False, False, False], [True, True, False]])


def test_combine_masks_is_logical_and_and_skips_none():
    a, b = np.array([[True, True, False]]), np.array([[True], [False]])
    np.testing.assert_array_equal(to_numpy(combine_masks(None, a, b)), a & b)
    assert combine_masks(None, None) is None


@pytest.mark.parametrize("size", [1, 6])
def test_look_ahead_mask_has_the_same_meaning_in_keras(size):
    import keras

    layer = keras.layers.MultiHeadAttention(1, 4)
    x = np.random.default_rng(0).standard_normal((1, size, 3), "float32")
    ours = to_numpy(layer(x, x, attention_mask=create_look_ahead_mask(size)))
    causal = to_numpy(layer(x, x, use_causal_mask=True))
    np.testing.assert_allclose(ours, causal, atol=1e-6)
