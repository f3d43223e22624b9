import numpy as np
import pytest
from keras import ops

from kerastrans.layers import ContinuedAttention, LinearInterpolation
from kerastrans.layers.rotary import rotate

from ..conftest import to_numpy


def test_turned_features_keep_their_length_and_know_only_distances():
    rng = np.random.default_rng(0)
    query, key = rng.normal(size=(2, 1, 1, 1, 6)).astype("float32")

    def product(where, other):
        turned = rotate(query, np.array([[where]])), rotate(key, np.array([[other]]))
        return float(np.sum(to_numpy(turned[0]) * to_numpy(turned[1])))

    assert product(3.0, 3.0) == pytest.approx(float(np.sum(query * key)), rel=1e-5)
    assert product(9.0, 4.0) == pytest.approx(product(-1.0, -6.0), rel=1e-4)
    assert product(9.0, 4.0) != pytest.approx(product(9.0, 5.0), rel=1e-2)


def test_missing_steps_are_on_the_line_between_their_neighbours():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(4, 13)).astype("float32")
    values[rng.random(values.shape) < 0.5] = np.nan
    values[3] = np.nan
    filled = to_numpy(LinearInterpolation()(values))
    for row, found in zip(values[:3], filled, strict=False):
        known = np.flatnonzero(~np.isnan(row))
        np.testing.assert_allclose(found, np.interp(np.arange(13), known, row[known]), rtol=1e-5)
    np.testing.assert_array_equal(filled[3], 0)


def test_attention_continued_is_attention_at_once():
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


def test_the_halves_of_a_head_are_pairs():
    with pytest.raises(ValueError, match="key_dim must be even"):
        ContinuedAttention(num_heads=2, key_dim=3)
