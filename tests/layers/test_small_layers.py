"""Layers of a few lines: what each of them puts out, exactly."""

import numpy as np
import pytest

from kerastrans.layers import (
    ChannelSegmentEmbedding,
    FutureClock,
    GlobalToken,
    Median,
    RecurrentCycle,
    RecurrentForecaster,
    ValueEmbedding,
)

from ..conftest import to_numpy


def test_recurrent_cycle_starts_at_the_position():
    layer = RecurrentCycle(5, 2)
    position = np.array([0, 3, 12], "int32")
    assert not to_numpy(layer(position, length=4)).any()
    cycle = np.arange(10.0).reshape(5, 2)
    layer.set_weights([cycle])
    found = to_numpy(layer(position, length=7, offset=4))
    for row, start in zip(found, position, strict=True):
        np.testing.assert_array_equal(row, cycle[(start + 4 + np.arange(7)) % 5])


def test_channel_segment_embedding_joins_segment_and_channel():
    layer = ChannelSegmentEmbedding(3)
    found = to_numpy(layer(np.zeros((2, 4, 6), "float32")))
    assert found.shape == (1, 4, 3, 6)
    segments, channels = map(to_numpy, (layer.segments, layer.channels))
    np.testing.assert_array_equal(found[0, :, 2, :3], np.repeat(segments[0, :, 2], 4, axis=0))
    np.testing.assert_array_equal(found[0, 3, :, 3:], np.repeat(channels[0, 3], 3, axis=0))
    with pytest.raises(ValueError, match="d_model must be even, got 5"):
        ChannelSegmentEmbedding(3)(np.zeros((2, 4, 5)))


def test_global_token_is_appended_to_each_channel():
    layer = GlobalToken(3)
    x = np.random.default_rng(0).standard_normal((6, 4, 2)).astype("float32")
    found = to_numpy(layer(x))
    np.testing.assert_array_equal(found[:, :4], x)
    np.testing.assert_array_equal(found[:, 4], np.tile(to_numpy(layer.tokens)[0], (2, 1)))


def test_future_clock_counts_to_one():
    found = to_numpy(FutureClock(4)(np.zeros((2, 9, 3))))
    np.testing.assert_allclose(found[..., 0], [[0.25, 0.5, 0.75, 1.0]] * 2)


def test_value_embedding_pads_the_series_circularly():
    layer = ValueEmbedding(3)
    x = np.random.default_rng(0).standard_normal((2, 5, 2)).astype("float32")
    found = to_numpy(layer(x))
    steps = np.concatenate([x[:, [4, 0, 1, 2, 3]], x, x[:, [1, 2, 3, 4, 0]]], axis=-1)
    np.testing.assert_allclose(found, steps @ to_numpy(layer.kernel), atol=1e-5)


def test_recurrent_forecaster_feeds_back_its_forecasts():
    """Longer horizons begin with the shorter ones, and go on as from an observed forecast."""
    x = np.random.default_rng(0).standard_normal((2, 6, 1)).astype("float32")
    longer, one = RecurrentForecaster(5, 2, 4), RecurrentForecaster(5, 2, 1)
    forecast = to_numpy(longer(x))
    one(x)
    one.set_weights(longer.get_weights())
    for step in range(4):
        seen = np.concatenate([x, forecast[:, :step]], axis=1)
        np.testing.assert_allclose(to_numpy(one(seen))[:, 0], forecast[:, step], atol=1e-5)


@pytest.mark.parametrize("count", [1, 2, 5, 6])
def test_median_equals_numpy(count):
    parts = np.random.default_rng(count).normal(size=(count, 3, 4)).astype("float32")
    np.testing.assert_allclose(to_numpy(Median()(list(parts))), np.median(parts, axis=0), rtol=1e-6)
