"""The padding mask as a layer, for functional models whose sequences may be of any length."""

import keras
from keras import ops

from kerastrans.layers.masks import create_padding_mask


@keras.saving.register_keras_serializable(package="kerastrans")
class PaddingMask(keras.layers.Layer):
    """`create_padding_mask` for the steps that a sequence has.

    Call arguments:
        sequence: `(batch, time)` or `(batch, time, ...)`, of which only the length counts.
        valid_lengths: integers `(batch,)`.

    Returns:
        Boolean `(batch, time)`: True where there is data.
    """

    def call(self, sequence, valid_lengths):
        return create_padding_mask(valid_lengths, ops.shape(sequence)[1])

    def compute_output_spec(self, sequence, valid_lengths):
        return keras.KerasTensor(sequence.shape[:2], dtype="bool")
