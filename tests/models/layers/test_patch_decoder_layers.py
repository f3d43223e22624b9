import numpy as np
import pytest
from keras import ops

from kerastrans.layers import EndPositionalEncoding, LinearInterpolation
from kerastrans.layers.attention.rotary import rotate
from kerastrans.models.pretrained.patchtst_fm.port import PaddedNormalization
from kerastrans.models.pretrained.timesfm.network import ContinuedAttention
from tests.conftest import to_numpy


def test_rotary_embedding_keeps_norms_and_depends_only_on_distances():
    rng = np.random.default_rng(0)
    query, key = rng.normal(size=(2, 1, 1, 1, 6)).astype("float32")

    def product(where, other):
        turned = (
            to_numpy(rotate(ops.convert_to_tensor(x), np.array([[position]])))
            for x, position in ((query, where), (key, other))
        )
        return float(np.sum(np.prod(list(turned), axis=0)))

    assert product(3.0, 3.0) == pytest.approx(float(np.sum(query * key)), rel=1e-5)
    assert product(9.0, 4.0) == pytest.approx(product(-1.0, -6.0), rel=1e-4)
    assert product(9.0, 4.0) != pytest.approx(product(9.0, 5.0), rel=1e-2)


def test_missing_steps_are_interpolated_linearly():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(4, 13)).astype("float32")
    values[rng.random(values.shape) < 0.5] = np.nan
    values[3] = np.nan
    filled, begun = (to_numpy(x) for x in LinearInterpolation()(values))
    np.testing.assert_array_equal(begun, np.cumsum(~np.isnan(values), axis=1) > 0)
    for row, found in zip(values[:3], filled, strict=False):
        known = np.flatnonzero(~np.isnan(row))
        np.testing.assert_allclose(found, np.interp(np.arange(13), known, row[known]), rtol=1e-5)
    np.testing.assert_array_equal(filled[3], 0)


def test_continued_attention_equals_attention_over_the_whole_sequence():
    rng = np.random.default_rng(0)
    layer = ContinuedAttention(num_heads=2, key_dim=4)
    x = rng.normal(size=(2, 5, 6)).astype("float32")
    positions = np.array([[-1, 0, 1, 2, 3], [0, 1, 2, 3, 4]], "float32")
    nothing = np.zeros((2, 2, 1, 4), "float32")
    hidden = -np.ones((2, 1), "float32")
    whole, keys, values = layer(x, positions, hidden, nothing, nothing)
    layer.scale.assign(rng.normal(size=4))
    whole, keys, values = layer(x, positions, hidden, nothing, nothing)
    past = (positions[:, :3], keys[:, :, :3], values[:, :, :3])
    rest, new_keys, _ = layer(x[:, 3:], positions[:, 3:], *past)
    np.testing.assert_allclose(to_numpy(rest), to_numpy(whole)[:, 3:], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(to_numpy(new_keys), to_numpy(keys)[:, :, 3:], rtol=1e-5)
    # What a negative position hides is not seen: the first row's first step may be anything.
    other = ops.concatenate([x[:, :1] + 7, x[:, 1:]], axis=1)
    changed, _, _ = layer(other, positions, hidden, nothing, nothing)
    np.testing.assert_allclose(to_numpy(changed)[0, 1:], to_numpy(whole)[0, 1:], rtol=1e-5)
    assert np.abs(to_numpy(changed)[1, 1:] - to_numpy(whole)[1, 1:]).max() > 1e-3


def test_odd_key_dim_is_refused():
    with pytest.raises(ValueError, match="key_dim must be even"):
        ContinuedAttention(num_heads=2, key_dim=3)


def test_short_sequence_uses_the_last_positions():
    layer = EndPositionalEncoding(max_len=5, dim=2)
    layer.build((None, None, 2))
    layer.embeddings.assign(np.arange(10.0).reshape(5, 2))
    found = to_numpy(layer(np.zeros((1, 3, 2), "float32")))
    np.testing.assert_array_equal(found[0], np.arange(4.0, 10).reshape(3, 2))
    with pytest.raises(ValueError, match="max_len=5"):
        layer(np.zeros((1, 6, 2), "float32"))
    with pytest.raises(ValueError, match="step by step"):
        layer.decode(np.zeros((1, 1, 2), "float32"), positions=np.zeros(1, int))


def test_steps_before_a_series_are_not_counted_as_missing():
    window = np.array([[np.inf, 2.0, np.nan, 6.0], [np.inf, 3.0, 3.0, np.nan]], "float32")
    values, known, begun, mean, divisor = (to_numpy(x) for x in PaddedNormalization()(window))
    np.testing.assert_allclose(values, [[0, -1, 0, 1], [0, 0, 0, 0]])
    np.testing.assert_array_equal(known, [[0, 1, 0, 1], [0, 1, 1, 0]])
    np.testing.assert_array_equal(begun, [[0, 1, 1, 1], [0, 1, 1, 1]])
    np.testing.assert_allclose([mean[:, 0], divisor[:, 0]], [[4, 3], [2, 1]])
