import numpy as np
import pytest

from kerastrans.models.pretrained.chronos.v2_network import GridAttention, LastTokens
from tests.conftest import to_numpy

RNG = np.random.default_rng(0)
X = RNG.normal(size=(2, 3, 5, 4)).astype("float32")
SEEN = np.ones((2, 3, 5), bool)


def changes(layer, where):
    """Whether each token's result changes with the token at `where`."""
    moved = X.copy()
    moved[where] += 1
    difference = np.abs(to_numpy(layer(X, SEEN) - layer(moved, SEEN)))
    return difference.max(axis=-1) > 1e-6


def test_attention_along_time_stays_within_a_series():
    changed = changes(GridAttention(num_heads=2, key_dim=4, axis="time"), (0, 1, 2))
    assert changed[0, 1].all()
    assert changed.sum() == 5


def test_attention_along_series_stays_within_a_time_step():
    changed = changes(GridAttention(num_heads=2, key_dim=3, axis="series"), (0, 1, 2))
    assert changed[0, :, 2].all()
    assert changed.sum() == 3


def test_attention_along_series_does_not_depend_on_their_order():
    layer = GridAttention(num_heads=2, key_dim=3, axis="series")
    turned = to_numpy(layer(X[:, ::-1].copy(), SEEN))
    np.testing.assert_allclose(turned[:, ::-1], to_numpy(layer(X, SEEN)), rtol=1e-4, atol=1e-5)


def test_attention_along_time_depends_only_on_distances():
    layer = GridAttention(num_heads=2, key_dim=4, axis="time")
    hidden = np.concatenate([np.zeros((2, 3, 2), bool), SEEN], axis=2)
    later = np.concatenate([X[:, :, :2], X], axis=2)
    result = to_numpy(layer(X, SEEN))
    shifted = to_numpy(layer(later, hidden))[:, :, 2:]
    np.testing.assert_allclose(shifted, result, rtol=1e-4, atol=1e-5)
    turned = to_numpy(layer(X[:, :, ::-1].copy(), SEEN))[:, :, ::-1]
    assert np.abs(turned - result).max() > 1e-3


@pytest.mark.parametrize("axis", ["time", "series"])
def test_masked_tokens_have_no_effect(axis):
    layer = GridAttention(num_heads=2, key_dim=4, axis=axis)
    seen = SEEN.copy()
    seen[:, 1, 2] = False
    moved = X.copy()
    moved[:, 1, 2] += 1
    one, other = (to_numpy(layer(x, seen))[seen] for x in (X, moved))
    np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_layer_reloads_and_refuses_invalid_arguments():
    layer = GridAttention(num_heads=2, key_dim=4, axis="time", theta=100.0)
    assert GridAttention.from_config(layer.get_config()).theta == 100.0
    with pytest.raises(ValueError, match="axis"):
        GridAttention(num_heads=2, key_dim=4, axis="batch")
    with pytest.raises(ValueError, match="key_dim"):
        GridAttention(num_heads=2, key_dim=3)


def test_last_tokens_match_the_length_of_the_other_input():
    np.testing.assert_array_equal(LastTokens()(X, X[:, :, :2, :1]), X[:, :, -2:])
