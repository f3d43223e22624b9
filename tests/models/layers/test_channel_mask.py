import numpy as np
import pytest

from kerastrans.models.duet import ChannelMask, MaskedChannelAttention
from tests.conftest import to_numpy


@pytest.fixture
def series():
    return np.random.default_rng(0).standard_normal((2, 3, 10)).astype("float32")


def probabilities(layer, x):
    """Probabilities in float64, from the definition."""
    spectra = np.abs(np.fft.rfft(x.astype("float64"))) @ to_numpy(layer.metric).astype("float64").T
    distances = ((spectra[:, :, None] - spectra[:, None]) ** 2).sum(axis=-1)
    inverse = 1 / (distances + 1e-10)
    itself = np.eye(x.shape[1], dtype=bool)
    inverse[:, itself] = 0
    inverse = inverse / inverse.max(axis=-1, keepdims=True)
    inverse[:, itself] = 1
    return 0.99 * inverse


@pytest.mark.slow
def test_a_mask_is_drawn_with_the_probabilities_in_training_only(series):
    layer = ChannelMask(seed=0)
    layer(series)
    expected = probabilities(layer, series)
    np.testing.assert_array_equal(to_numpy(layer(series)), expected > 0.5)
    # A choice between the logit and its negative: the odds are squared.
    squared = expected**2 / (expected**2 + (1 - expected) ** 2)
    drawn = np.mean([to_numpy(layer(series, training=True)) for _ in range(400)], axis=0)
    np.testing.assert_allclose(drawn, squared, atol=0.1)


def test_draw_always_makes_every_mask_random(series):
    layer = ChannelMask(draw_always=True, seed=0)
    masks = {to_numpy(layer(series)).tobytes() for _ in range(20)}
    assert len(masks) > 1


def test_equal_channels_attend_to_each_other():
    series = np.ones((1, 2, 8), "float32")
    np.testing.assert_array_equal(to_numpy(ChannelMask()(series)), np.ones((1, 2, 2)))


def test_hidden_channels_keep_a_small_weight():
    x = np.random.default_rng(1).standard_normal((1, 3, 4)).astype("float32")
    mask = np.array([[[1, 0, 1], [0, 1, 0], [1, 1, 1]]], "float32")
    layer = MaskedChannelAttention(num_heads=1, key_dim=4)
    found = to_numpy(layer(x, mask))
    query, key, value = (
        to_numpy(part(x)) for part in (layer.query_dense, layer.key_dense, layer.value_dense)
    )
    scores = np.where(mask == 1, query @ key.swapaxes(1, 2), -np.log(1e10)) / 2
    weights = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(found, to_numpy(layer.output_dense(weights @ value)), atol=1e-5)


@pytest.mark.parametrize("training", [False, True])
def test_a_single_channel_attends_to_itself(series, training):
    mask = to_numpy(ChannelMask(seed=0)(series[:, :1], training=training))
    assert np.isfinite(mask).all()
    assert (mask == 1).all()
