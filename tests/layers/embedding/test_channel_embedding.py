import keras
import numpy as np
import pytest

from kerastrans.layers import ChannelEmbedding
from tests.conftest import to_numpy


def test_each_channel_has_its_own_vector_appended_to_its_features():
    layer = ChannelEmbedding(width=2)
    inputs = np.arange(24, dtype="float32").reshape(4, 3, 2)
    outputs = to_numpy(layer(inputs))
    np.testing.assert_array_equal(outputs[..., :2], inputs)
    np.testing.assert_array_equal(outputs[0, :, 2:], to_numpy(layer.vectors)[0])
    np.testing.assert_array_equal(outputs[3], outputs[0] + [[18, 18, 0, 0]] * 3)
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(layer))
    assert again.width == 2


def test_a_width_below_one_is_refused():
    with pytest.raises(ValueError, match="width must be an integer of at least 1, got 0"):
        ChannelEmbedding(0)
