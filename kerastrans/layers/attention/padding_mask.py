"""The padding mask as a layer, for functional models with sequences of any length."""

import keras
from keras import ops

from kerastrans.layers.masks import create_padding_mask


@keras.saving.register_keras_serializable(package="kerastrans")
class PaddingMask(keras.layers.Layer):
    """`create_padding_mask` for the number of steps of a sequence.

    Call arguments:
        sequence: `(batch, time)` or `(batch, time, ...)`; only its length is used.
        valid_lengths: Integers `(batch,)`.

    Returns:
        Boolean `(batch, time)`, True for steps that are not padding.

    Example:
        >>> from keras import ops
        >>> mask = PaddingMask()(ops.zeros((2, 3, 1)), ops.convert_to_tensor([1, 3]))
        >>> ops.convert_to_numpy(mask).astype(int).tolist()
        [[1, 0, 0], [1, 1, 1]]
    """

    def call(self, sequence, valid_lengths):
        return create_padding_mask(valid_lengths, ops.shape(sequence)[1])

    def compute_mask(self, sequence, previous_mask):
        """Return None: the result is a mask, and has none."""
        return None

    def decode(self, sequence, valid_lengths, *, index):
        """Return the mask `(batch, 1)` of the step at position `index`."""
        return ops.expand_dims(index < ops.cast(valid_lengths, "int32"), 1)

    def compute_output_spec(self, sequence, valid_lengths):
        return keras.KerasTensor(sequence.shape[:2], dtype="bool")
