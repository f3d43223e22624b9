"""An embedding of the channel and the segment of the future that a state forecasts."""

import keras
from keras import ops

from kerastrans.utils.validation import check_positive_integers


@keras.saving.register_keras_serializable(package="kerastrans")
class ChannelSegmentEmbedding(keras.layers.Layer):
    """One vector per channel and segment; half is learnt per segment, half per channel.

    Args:
        num_segments: int, number of segments to forecast.
        channels: bool, whether channels differ; otherwise the whole vector is learnt per segment.

    Call arguments:
        inputs: `(batch, num_channels, ..., d_model)`, with an even `d_model`; only the shape is
            used.

    Returns:
        `(1, num_channels, num_segments, d_model)`, the same for every example.

    Raises:
        ValueError: If `num_segments` is below 1.
        ValueError: If channels differ and `d_model` is odd.

    Example:
        >>> from keras import ops
        >>> ops.shape(ChannelSegmentEmbedding(num_segments=5)(ops.ones((4, 3, 16))))
        (1, 3, 5, 16)

    Source: Lin et al. (2023), SegRNN, section 3.3.
    """

    def __init__(self, num_segments, channels=True, **kwargs):
        check_positive_integers(num_segments=num_segments)
        super().__init__(**kwargs)
        self.num_segments = num_segments
        self.has_channels = channels

    def build(self, inputs_shape):
        num_channels, width = inputs_shape[1], inputs_shape[-1]
        if self.has_channels and width % 2:
            raise ValueError(f"d_model must be even, got {width}.")
        width = width // 2 if self.has_channels else width
        normal = keras.initializers.RandomNormal(stddev=1.0)
        self.segments = self.add_weight(
            shape=(1, 1, self.num_segments, width), initializer=normal, name="segments"
        )
        if self.has_channels:
            normal = keras.initializers.RandomNormal(stddev=1.0)
            self.channels = self.add_weight(
                shape=(1, num_channels, 1, width), initializer=normal, name="channels"
            )

    def call(self, inputs):
        parts = [self.segments, self.channels] if self.has_channels else [self.segments]
        shape = (*self.compute_output_shape(inputs.shape)[:-1], parts[0].shape[-1])
        parts = [ops.broadcast_to(part, shape) for part in parts]
        return ops.cast(ops.concatenate(parts, axis=-1), self.compute_dtype)

    def compute_output_shape(self, inputs_shape):
        return (1, inputs_shape[1], self.num_segments, inputs_shape[-1])

    def get_config(self):
        return {
            **super().get_config(),
            "num_segments": self.num_segments,
            "channels": self.has_channels,
        }
