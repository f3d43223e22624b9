import numpy as np
import pytest

from kerastrans.models.segrnn import ChannelSegmentEmbedding
from tests.conftest import to_numpy


def test_channel_segment_embedding_joins_segment_and_channel():
    layer = ChannelSegmentEmbedding(3)
    found = to_numpy(layer(np.zeros((2, 4, 6), "float32")))
    assert found.shape == (1, 4, 3, 6)
    segments, channels = map(to_numpy, (layer.segments, layer.channels))
    np.testing.assert_array_equal(found[0, :, 2, :3], np.repeat(segments[0, :, 2], 4, axis=0))
    np.testing.assert_array_equal(found[0, 3, :, 3:], np.repeat(channels[0, 3], 3, axis=0))
    with pytest.raises(ValueError, match="d_model must be even, got 5"):
        ChannelSegmentEmbedding(3)(np.zeros((2, 4, 5)))
