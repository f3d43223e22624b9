"""Positions as layers whose result is added by the model, with the arguments of KerasHub's."""

from typing import Any

import keras
from keras import ops

from kerastrans.layers.attention.rotary import rotate
from kerastrans.layers.embedding.positional_encoding import sinusoids
from kerastrans.utils.model_files import serializable
from kerastrans.utils.types import Tensor
from kerastrans.utils.validation import check_positive, check_positive_integers


class _Positions(keras.layers.Layer):
    """Base class of layers that define `encode` of the inputs and of positions `(..., time)`."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(
        self, inputs: Tensor, start_index: Tensor | int = 0, positions: Tensor | None = None
    ) -> Tensor:
        length = inputs.shape[1]
        if positions is None:
            if length is not None and isinstance(start_index, int):
                self.check_length(start_index + length)
            positions = start_index + ops.arange(ops.shape(inputs)[1], dtype="int32")
        positions = ops.convert_to_tensor(positions)
        if len(positions.shape) == 1:
            positions = ops.expand_dims(positions, 0)
        return self.encode(inputs, positions)

    def decode(self, inputs, start_index=0, *, positions):
        """Return the result for the newest steps, see `kerastrans.decoding.contract`."""
        return self(inputs, positions=start_index + positions)

    def check_length(self, length):
        """Raise ValueError if the layer has fewer than `length` positions."""

    def compute_output_shape(self, inputs_shape):
        return inputs_shape


@serializable
class SinePositionEncoding(_Positions):
    """Sinusoidal positional encoding of the inputs' shape, not added to the inputs.

    `kerastrans.PositionalEncoding` adds the same encoding to its inputs.

    Args:
        max_wavelength: float, base of the wavelengths.
        **kwargs: Arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: `(batch, time, width)`; only the shape is used.
        start_index: int or scalar tensor, position of the first step.
        positions: `(time,)` or `(batch, time)`, in place of `start_index`.

    Returns:
        `(batch, time, width)`.

    Example:
        >>> from keras import ops
        >>> ops.shape(SinePositionEncoding()(ops.zeros((4, 10, 16))))
        (4, 10, 16)

    Source: Vaswani et al. (2017), section 3.5.
    """

    def __init__(self, max_wavelength: float = 10000, **kwargs: Any) -> None:
        check_positive(max_wavelength=max_wavelength)
        super().__init__(**kwargs)
        self.max_wavelength = max_wavelength

    def encode(self, inputs, positions):
        encoding = sinusoids(positions, inputs.shape[-1], self.max_wavelength)
        return ops.broadcast_to(ops.cast(encoding, self.compute_dtype), ops.shape(inputs))


@serializable
class PositionEmbedding(_Positions):
    """Learnt positional encoding of the inputs' shape, not added to the inputs.

    `kerastrans.LearntPositionalEncoding` adds it to its inputs.

    Args:
        sequence_length: int, number of positions.
        initializer: Initializer of the vectors.
        **kwargs: Arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: `(batch, time, width)` with at most `sequence_length` steps; only the shape is used.
        start_index: int or scalar tensor, position of the first step.
        positions: Integers `(time,)` or `(batch, time)`, in place of `start_index`.

    Returns:
        `(batch, time, width)`.

    Raises:
        ValueError: If the inputs have more than `sequence_length` steps.

    Example:
        >>> from keras import ops
        >>> ops.shape(PositionEmbedding(sequence_length=10)(ops.zeros((8, 10, 16))))
        (8, 10, 16)

    Source: Gehring et al. (2017), section 3.1; Devlin et al. (2019).
    """

    def __init__(
        self, sequence_length: int, initializer: Any = "glorot_uniform", **kwargs: Any
    ) -> None:
        check_positive_integers(sequence_length=sequence_length)
        super().__init__(**kwargs)
        self.sequence_length = sequence_length
        self.initializer = keras.initializers.get(initializer)

    def build(self, inputs_shape):
        shape = (self.sequence_length, inputs_shape[-1])
        self.position_embeddings = self.add_weight(shape, self.initializer, name="embeddings")

    def encode(self, inputs, positions):
        encoding = ops.take(self.position_embeddings, positions, axis=0)
        return ops.broadcast_to(ops.cast(encoding, self.compute_dtype), ops.shape(inputs))

    def check_length(self, length):
        """Raise ValueError if the layer has fewer than `length` positions."""
        if length > self.sequence_length:
            raise ValueError(
                f"{self.name} has sequence_length={self.sequence_length} positions, got a sequence "
                f"of {length}."
            )


@serializable
class RotaryEmbedding(_Positions):
    """Rotary positions: pairs of features are turned by angles that grow with the position.

    Args:
        max_wavelength: float, base of the angles.
        scaling_factor: float, divisor of the positions ("linear" scaling in KerasHub).
        **kwargs: Arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: `(batch, time, width)` or `(batch, time, heads, width)` with an even width.
        start_index: int or scalar tensor, position of the first step.
        positions: `(time,)` or `(batch, time)`, in place of `start_index`.

    Returns:
        Tensor with the shape of the inputs.

    Raises:
        ValueError: If the inputs have another number of axes, or an odd width.

    Example:
        >>> import numpy as np
        >>> tuple(RotaryEmbedding()(np.ones((16, 256, 8, 18))).shape)
        (16, 256, 8, 18)

    Source: Su et al. (2021), section 3.2.
    """

    def __init__(
        self, max_wavelength: float = 10000, scaling_factor: float = 1.0, **kwargs: Any
    ) -> None:
        check_positive(max_wavelength=max_wavelength, scaling_factor=scaling_factor)
        super().__init__(**kwargs)
        self.max_wavelength = max_wavelength
        self.scaling_factor = scaling_factor

    def build(self, inputs_shape):
        if len(inputs_shape) not in (3, 4) or inputs_shape[-1] % 2:
            raise ValueError(
                "RotaryEmbedding requires (batch, time, width) or (batch, time, heads, width) with "
                f"an even width, got {tuple(inputs_shape)}."
            )

    def encode(self, inputs, positions):
        positions = ops.cast(positions, "float32") / self.scaling_factor
        if len(inputs.shape) == 3:
            return rotate(ops.expand_dims(inputs, 1), positions, self.max_wavelength)[:, 0]
        turned = rotate(ops.transpose(inputs, (0, 2, 1, 3)), positions, self.max_wavelength)
        return ops.transpose(turned, (0, 2, 1, 3))
