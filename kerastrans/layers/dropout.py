"""Dropout that costs a training step on JAX no more than what it stands between."""

import math

import keras
import numpy as np
from keras import ops


@keras.saving.register_keras_serializable(package="kerastrans")
class Dropout(keras.layers.Dropout):
    """Keras's dropout; on JAX with a mask that XLA computes where it is used.

    Keras draws a random number per element, which JAX's generator makes slower on a CPU than a
    Transformer's products. Here it draws two for the whole tensor, and a hash of them and of the
    element's place says whether the element stays. Arguments as `keras.layers.Dropout`; on the
    other backends, and with a `noise_shape`, it is that layer.

    Source: Srivastava et al. (2014); the hash is of Wellons' "hash prospector" (2018), two rounds.
    """

    def call(self, inputs, training=False):
        fused = keras.backend.backend() == "jax" and self.noise_shape is None
        if not (fused and training and self.rate):
            return super().call(inputs, training)
        places = ops.reshape(ops.arange(math.prod(inputs.shape), dtype="uint32"), inputs.shape)
        keys = keras.random.randint((2,), 0, 2**31 - 1, seed=self.seed_generator)
        first, second = ops.split(ops.cast(keys, "uint32"), 2)
        stays = _mix(_mix(places ^ first) ^ second) >= np.uint32(self.rate * 2**32)
        return ops.where(stays, inputs / (1 - self.rate), ops.zeros_like(inputs))


def _mix(x):
    """A hash of 32 bits to 32 bits, each of which depends on all."""
    x = (x ^ (x >> np.uint32(16))) * np.uint32(0x21F0AAAD)
    x = (x ^ (x >> np.uint32(15))) * np.uint32(0xD35A2D97)
    return x ^ (x >> np.uint32(15))
