"""Dropout that costs a training step no more than the layers around it."""

import functools
import math

import keras
import numpy as np
from keras import ops

from kerastrans.utils.backend import compile_function
from kerastrans.utils.keras_internals import dropout_state


@keras.saving.register_keras_serializable(package="kerastrans")
class Dropout(keras.layers.Dropout):
    """Keras's dropout, with a mask that XLA computes in one pass.

    Keras draws a random number per element, which costs more on a CPU than a Transformer's
    products. Here it draws two for the whole tensor, and a hash of them and of the element's place
    says whether the element stays. Arguments as `keras.layers.Dropout`; on PyTorch, and with a
    `noise_shape`, it is that layer.

    Example:
        >>> from keras import ops
        >>> Dropout(0.5)(ops.ones((2, 3)), training=True).shape
        (2, 3)

    Source: Srivastava et al. (2014); the hash is of Wellons' "hash prospector" (2018), two rounds.
    """

    def call(self, inputs, training=False):
        noise_shape, seed_generator = dropout_state(self)
        hashed = keras.backend.backend() != "torch" and noise_shape is None
        if not (hashed and training and self.rate):
            return super().call(inputs, training)
        keys = keras.random.randint((2,), 0, 2**31 - 1, seed=seed_generator)
        least = ops.convert_to_tensor(np.uint32(self.rate * 2**32))
        stays = _compiled_mask()(inputs, keys, least)
        return ops.where(stays, inputs / (1 - self.rate), ops.zeros_like(inputs))


@functools.cache
def _compiled_mask():
    return compile_function(_mask, variables=())


def _mask(inputs, keys, least):
    """Which elements stay: those whose place has a hash of at least `least`."""
    shape = ops.shape(inputs)
    # Counted in int32: XLA on TensorFlow has no range of uint32.
    places = ops.cast(ops.arange(math.prod(shape), dtype="int32"), "uint32")
    first, second = ops.split(ops.cast(keys, "uint32"), 2)
    return _mix(_mix(ops.reshape(places, shape) ^ first) ^ second) >= least


def _mix(x):
    """A hash of 32 bits to 32 bits, each of which depends on all."""
    x = (x ^ ops.right_shift(x, np.uint32(16))) * np.uint32(0x21F0AAAD)
    x = (x ^ ops.right_shift(x, np.uint32(15))) * np.uint32(0xD35A2D97)
    return x ^ ops.right_shift(x, np.uint32(15))
