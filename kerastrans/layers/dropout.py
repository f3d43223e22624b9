"""Dropout with a random mask that is cheap to compute."""

import functools
import math

import keras
import numpy as np
from keras import ops

from kerastrans.utils.compilation import compile_function
from kerastrans.utils.keras_internals import dropout_state


@keras.saving.register_keras_serializable(package="kerastrans")
class Dropout(keras.layers.Dropout):
    """Keras's dropout, with a mask that XLA computes in one pass.

    `keras.layers.Dropout` draws one random number per element, which costs more on a CPU than the
    matrix products of a Transformer. This layer draws two numbers for the whole tensor; a hash of
    them and of the position of an element decides whether the element is kept. The arguments are
    those of `keras.layers.Dropout`. On PyTorch, and with a `noise_shape`, the layer behaves like
    `keras.layers.Dropout`.

    Example:
        >>> from keras import ops
        >>> ops.shape(Dropout(0.5)(ops.ones((2, 3)), training=True))
        (2, 3)

    Source: Srivastava et al. (2014); the hash comes from Wellons' "hash prospector" (2018) and has
    two rounds.
    """

    def call(self, inputs, training=False):
        hashed = keras.backend.backend() != "torch" and dropout_state(self)[0] is None
        if not (hashed and training and self.rate):
            return super().call(inputs, training)
        return self.drop(inputs, self.draw())

    def draw(self):
        """Return two random numbers, which `drop` makes a mask of."""
        return keras.random.randint((2,), 0, 2**31 - 1, seed=dropout_state(self)[1])

    def drop(self, inputs, keys, start=0):
        """Return `inputs` after dropout by the mask of `keys`.

        Args:
            inputs: Tensor, or a part of one whose first element is the element `start` of all.
            keys: Result of `draw`.
            start: int or int32 scalar.
        """
        threshold = ops.convert_to_tensor(np.uint32(self.rate * 2**32))
        start = ops.convert_to_tensor(start, "int32")
        is_kept = _compiled_mask()(inputs, keys, threshold, start)
        return ops.where(is_kept, inputs / (1 - self.rate), ops.zeros_like(inputs))


@functools.cache
def _compiled_mask():
    return compile_function(_mask, variables=())


def _mask(inputs, keys, threshold, start):
    """Return which elements are kept: those whose position hashes to at least `threshold`."""
    shape = ops.shape(inputs)
    # The range is int32 because XLA on TensorFlow does not support a range of uint32.
    positions = ops.cast(ops.arange(math.prod(shape), dtype="int32"), "uint32")
    positions = positions + ops.cast(start, "uint32")
    first, second = ops.split(ops.cast(keys, "uint32"), 2)
    return _mix(_mix(ops.reshape(positions, shape) ^ first) ^ second) >= threshold


def _mix(x):
    """Hash 32 bits to 32 bits such that each output bit depends on all input bits."""
    x = (x ^ ops.right_shift(x, np.uint32(16))) * np.uint32(0x21F0AAAD)
    x = (x ^ ops.right_shift(x, np.uint32(15))) * np.uint32(0xD35A2D97)
    return x ^ ops.right_shift(x, np.uint32(15))
