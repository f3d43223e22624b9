"""Positional encodings, sinusoidal or learnt, that are added to the inputs."""

from typing import Any

import keras
import numpy as np
from keras import ops

from kerastrans.utils.model_files import serializable
from kerastrans.utils.types import Tensor
from kerastrans.utils.validation import check_positive, check_positive_integers


class _Positional(keras.layers.Layer):
    """Base class that adds `encode(positions)` `(length, dim)` to `(batch, length, dim)`."""

    def __init__(self, max_len, dim, **kwargs):
        check_positive_integers(dim=dim)
        super().__init__(**kwargs)
        self.supports_masking = True
        self.max_len = max_len
        self.dim = dim

    def build(self, inputs_shape):
        if inputs_shape[-1] != self.dim:
            raise ValueError(
                f"{type(self).__name__}(dim={self.dim}) requires inputs whose last axis is "
                f"{self.dim}, got shape {tuple(inputs_shape)}."
            )

    def call(self, inputs: Tensor, offset: Tensor | int = 0) -> Tensor:
        length = inputs.shape[1]
        if length is not None and isinstance(offset, int):
            self.check_length(offset + length)
        positions = offset + ops.arange(ops.shape(inputs)[1], dtype="int32")
        return self.add_encoding(inputs, positions)

    def add_encoding(self, inputs, positions):
        """Return the inputs plus the encoding of their positions."""
        inputs = ops.cast(inputs, self.compute_dtype)  # integers would cut the encoding off
        return inputs + ops.cast(self.encode(positions), inputs.dtype)

    def decode(self, inputs, offset=0, *, positions):
        """Encode the newest steps, see `kerastrans.decoding.contract`."""
        return self.add_encoding(inputs, offset + positions)

    def check_length(self, length):
        """Raise ValueError if the layer has fewer than `length` positions."""
        if self.max_len is not None and length > self.max_len:
            raise ValueError(
                f"{self.name} holds max_len={self.max_len} positions, got a sequence of {length}; "
                "shorten it or build the model with a larger max_len."
            )

    def compute_output_shape(self, inputs_shape):
        return inputs_shape

    def get_config(self):
        return {**super().get_config(), "max_len": self.max_len, "dim": self.dim}


@serializable
class PositionalEncoding(_Positional):
    """Sinusoidal positional encoding, added to the inputs.

    Column 2i holds sin(p / max_wavelength^(2i/dim)), column 2i+1 the cosine of the same angle. The
    width may be odd. The angles are float32 for any dtype of the inputs, so that distant positions
    stay apart under mixed precision.

    Args:
        max_len: int, maximum number of positions; None for any number, since sinusoids are defined
            for all positions.
        dim: int, width of the inputs.
        max_wavelength: float, base of the wavelengths, 10000 in the paper.

    Call arguments:
        inputs: `(batch, length, dim)`.
        offset: int or scalar tensor, position of the first time step; the index of the step when
            decoding step by step.

    Returns:
        `(batch, length, dim)`, in the dtype of the inputs.

    Raises:
        ValueError: If `dim` is not the width of the inputs.
        ValueError: If there are more than `max_len` positions.

    Example:
        >>> from keras import ops
        >>> ops.shape(PositionalEncoding(max_len=100, dim=16)(ops.zeros((4, 10, 16))))
        (4, 10, 16)

    Source: Vaswani et al. (2017), section 3.5.
    """

    def __init__(
        self, max_len: int | None, dim: int, max_wavelength: float = 10000.0, **kwargs: Any
    ) -> None:
        super().__init__(max_len, dim, **kwargs)
        if max_len is not None:
            check_positive_integers(max_len=max_len)
        check_positive(max_wavelength=max_wavelength)
        self.max_wavelength = max_wavelength

    def encode(self, positions):
        return sinusoids(positions, self.dim, self.max_wavelength)


def sinusoids(positions, dim, max_wavelength=10000.0):
    """Return the sinusoidal encodings `(..., dim)` of positions `(...)`, in float32."""
    columns = np.arange(dim)
    frequencies = float(max_wavelength) ** (-(columns // 2 * 2) / dim)
    frequencies = ops.convert_to_tensor(frequencies, "float32")
    angles = ops.expand_dims(ops.cast(positions, "float32"), -1) * frequencies
    is_sine = ops.convert_to_tensor(columns % 2 == 0)
    return ops.where(is_sine, ops.sin(angles), ops.cos(angles))


@serializable
class LearntPositionalEncoding(_Positional):
    """Learnt positional encoding: one trainable vector per position, added to the inputs.

    The arguments and call arguments are those of `PositionalEncoding`, but `max_len` is the number
    of vectors: the layer refuses longer sequences. The additional argument `initializer` is that of
    the vectors, as in `keras.layers.Embedding`.

    Example:
        >>> from keras import ops
        >>> ops.shape(LearntPositionalEncoding(max_len=100, dim=16)(ops.zeros((4, 10, 16))))
        (4, 10, 16)

    Source: Gehring et al. (2017), section 3.1.
    """

    def __init__(
        self, max_len: int, dim: int, initializer: Any = "random_normal", **kwargs: Any
    ) -> None:
        check_positive_integers(max_len=max_len)
        super().__init__(max_len, dim, **kwargs)
        self.initializer = keras.initializers.get(initializer)

    def build(self, inputs_shape):
        super().build(inputs_shape)
        self.embeddings = self.add_weight(
            shape=(self.max_len, self.dim), initializer=self.initializer, name="embeddings"
        )

    def encode(self, positions):
        return ops.take(self.embeddings, positions, axis=0)


@keras.saving.register_keras_serializable(package="kerastrans")
class EndPositionalEncoding(LearntPositionalEncoding):
    """Learnt positional encoding that counts from the end: the last position has the last vector.

    The arguments are those of `LearntPositionalEncoding`.

    Call arguments:
        inputs: `(batch, length, dim)`.

    Returns:
        `(batch, length, dim)`.

    Raises:
        ValueError: See `LearntPositionalEncoding`.

    Example:
        >>> import numpy as np
        >>> from keras import ops
        >>> layer = EndPositionalEncoding(max_len=3, dim=1)
        >>> layer.build((None, None, 1))
        >>> layer.set_weights([np.array([[1.0], [2.0], [3.0]])])
        >>> ops.convert_to_numpy(layer(ops.zeros((1, 2, 1)))).tolist()
        [[[2.0], [3.0]]]

    Source: PatchTST-FM (IBM, 2026); there a short history fills the end of the context.
    """

    def call(self, inputs):
        self.check_length(inputs.shape[1] or 0)
        positions = (
            self.max_len - ops.shape(inputs)[1] + ops.arange(ops.shape(inputs)[1], dtype="int32")
        )
        return self.add_encoding(inputs, positions)

    def decode(self, inputs, *, positions):
        """Raise ValueError: a new step would change the positions of all earlier ones."""
        raise ValueError(f"{self.name} counts from the end: it cannot be decoded step by step.")
