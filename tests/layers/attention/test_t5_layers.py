import keras
import numpy as np
import pytest

from kerastrans.layers import RelativePositionBias, UnscaledAttention
from tests.conftest import to_numpy


def bias(length, **options):
    layer = RelativePositionBias(num_heads=1, **options)
    layer.build((None, length, 4))
    layer.table.assign(np.arange(layer.num_buckets, dtype="float32")[:, None])
    return to_numpy(layer(np.zeros((1, length, 4), "float32")))[0, 0].astype(int)


def test_small_distances_have_separate_buckets_and_large_ones_share():
    buckets = bias(40, num_buckets=16, max_distance=32)
    # Keys at or before the query, by distance: 4 of one distance, then 4 that grow to 32.
    before = buckets[-1, ::-1]
    np.testing.assert_array_equal(before[:5], [0, 1, 2, 3, 4])
    assert (np.diff(before) >= 0).all()
    assert (before[32:] == 7).all()
    # Those after it have the other half.
    np.testing.assert_array_equal(buckets[0][1:], before[1:] + 8)


def test_unidirectional_bias_puts_later_keys_into_the_first_bucket():
    buckets = bias(40, num_buckets=16, max_distance=32, bidirectional=False)
    assert (buckets[0] == 0).all()
    np.testing.assert_array_equal(buckets[-1, ::-1][:9], range(9))


@pytest.mark.parametrize(
    "sizes", [{"num_buckets": 2}, {"num_buckets": 3}, {"num_buckets": 32, "max_distance": 8}]
)
def test_invalid_sizes_are_refused(sizes):
    with pytest.raises(ValueError, match=r"num_buckets|max_distance"):
        RelativePositionBias(2, **sizes)


def test_attention_equals_keras_without_scaling():
    ours = UnscaledAttention(num_heads=2, key_dim=3)
    theirs = keras.layers.MultiHeadAttention(2, 3, use_bias=False)
    x = np.random.default_rng(0).normal(size=(2, 5, 4)).astype("float32")
    ours(x), theirs(x, x)
    for dense, kernel in zip(
        (ours.query_dense, ours.key_dense, ours.value_dense, ours.output_dense),
        theirs.get_weights(),
        strict=True,
    ):
        dense.kernel.assign(kernel.reshape(dense.kernel.shape))
    ours.query_dense.kernel.assign(ours.query_dense.kernel / np.sqrt(3.0))
    padding = np.array([[True] * 5, [True, True, False, False, False]])
    expected = to_numpy(theirs(x, x, attention_mask=padding[:, None]))
    result = to_numpy(ours(x, padding_mask=padding))
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)


def test_bias_is_added_to_the_scores():
    layer = UnscaledAttention(num_heads=1, key_dim=2)
    x = np.random.default_rng(0).normal(size=(1, 3, 4)).astype("float32")
    bias = np.full((1, 1, 3, 3), -100.0, "float32")
    bias[..., 1] = 100.0
    alone = to_numpy(layer(x[:, 1:2]))
    moved = to_numpy(layer(x, position_bias=bias))
    np.testing.assert_allclose(moved, np.repeat(alone, 3, axis=1), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "layer", [UnscaledAttention(num_heads=2, key_dim=3), RelativePositionBias(2, 8, 16)]
)
def test_layers_reload_from_their_configs(layer):
    again = type(layer).from_config(layer.get_config())
    assert again.get_config() == layer.get_config()
