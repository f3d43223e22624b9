"""Sequences of one history share its keys and values."""

import numpy as np

from kerastrans.layers.attention.cached_attention import CachedMultiHeadAttention
from kerastrans.layers.attention.copies import Copies
from tests.conftest import to_numpy


def test_folded_rows_are_those_of_their_history():
    """Rows are ordered by history, sequence and channel; a folded row by history and channel."""
    copies, numbers = Copies(count=3, inner=2), np.arange(2 * 3 * 2)
    x = numbers[:, None, None, None] * np.ones((1, 4, 1, 5))
    folded = to_numpy(copies.fold(x))
    assert folded.shape == (4, 4, 3, 5)
    assert folded[1, 0, :, 0].tolist() == [1, 3, 5]  # history 0, channel 1
    assert folded[2, 0, :, 0].tolist() == [6, 8, 10]  # history 1, channel 0
    np.testing.assert_array_equal(to_numpy(copies.unfold(folded)), x)


def test_attention_to_shared_keys_equals_attention_to_repeated_ones():
    random = np.random.default_rng(0)
    layer = CachedMultiHeadAttention(num_heads=2, key_dim=4)
    query = random.normal(size=(2 * 3, 1, 8)).astype("float32")
    memory = random.normal(size=(2, 5, 8)).astype("float32")
    repeated = np.repeat(memory, 3, axis=0)
    expected = to_numpy(layer(query, repeated))
    found = layer.attend(query, *layer.project(memory), None, Copies(3))
    np.testing.assert_allclose(to_numpy(found), expected, rtol=1e-5, atol=1e-6)
