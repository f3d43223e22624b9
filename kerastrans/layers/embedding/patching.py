"""Patches: short segments of a series, one per token."""

import math

import keras
from keras import ops

from kerastrans.utils.model_files import serializable
from kerastrans.utils.validation import check_positive_integers


@serializable
class Patching(keras.layers.Layer):
    """Cuts every channel into patches.

    Args:
        patch_length: int, number of steps in a patch.
        stride: int, number of steps between the starts of two patches.
        pad_end: bool, whether to repeat the last value `stride` times at the end, so that one more
            patch covers the newest steps.

    Call arguments:
        inputs: `(batch, time, num_channels)`.

    Returns:
        `(batch, num_channels, patches, patch_length)`, with
        `patches = (time - patch_length) // stride + 1`, plus one if the end is padded.

    Raises:
        ValueError: If a size is below 1.
        ValueError: If a series is shorter than a patch.

    Example:
        >>> from keras import ops
        >>> ops.shape(Patching(patch_length=16, stride=8)(ops.ones((4, 48, 3))))
        (4, 3, 5, 16)

    Source: Nie et al. (2023), section 3.1, "Patching".
    """

    def __init__(self, patch_length, stride, pad_end=False, **kwargs):
        check_positive_integers(patch_length=patch_length, stride=stride)
        super().__init__(**kwargs)
        self.patch_length = patch_length
        self.stride = stride
        self.pad_end = pad_end

    def build(self, inputs_shape):
        if inputs_shape[1] < self.patch_length:
            raise ValueError(
                f"a patch of patch_length={self.patch_length} steps does not fit into a context "
                f"of {inputs_shape[1]}."
            )

    def call(self, inputs):
        x = ops.transpose(inputs, (0, 2, 1))  # (batch, num_channels, time)
        if self.pad_end:
            x = ops.concatenate([x, ops.repeat(x[..., -1:], self.stride, axis=-1)], axis=-1)
        patches = (x.shape[-1] - self.patch_length) // self.stride + 1
        # Cut the series into pieces whose length divides both patch and stride. Slicing pieces has
        # a cheap gradient; gathering single steps does not.
        piece = math.gcd(self.patch_length, self.stride)
        length = (patches - 1) * self.stride + self.patch_length
        pieces = ops.reshape(x[..., :length], (-1, x.shape[1], length // piece, piece))
        step = self.stride // piece
        parts = [
            pieces[:, :, start : start + (patches - 1) * step + 1 : step]
            for start in range(self.patch_length // piece)
        ]
        return parts[0] if len(parts) == 1 else ops.concatenate(parts, axis=-1)
