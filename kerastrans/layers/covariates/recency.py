"""Features for the distance of each step from the end of the history."""

import keras
import numpy as np
from keras import ops

from kerastrans.utils.model_files import serializable
from kerastrans.utils.validation import check_positive_integers

DECAY_RATES = (0.5, 2.0, 8.0)  # per length of the history


@serializable
class Recency(keras.layers.Layer):
    """Appends to each step five bounded features of its distance from the end of the history.

    The features are the distance in units of the history's length, negative in the past; its
    signed logarithm; and its exponential decay at three rates.

    Args:
        context_length: int, number of steps of the history.
        start: int, position of the first step: 0 for the history, `context_length` for the future.

    Call arguments:
        inputs: `(batch, time, features)`.

    Returns:
        `(batch, time, features + 5)`.

    Raises:
        ValueError: If `context_length` is below 1.

    Example:
        >>> from keras import ops
        >>> ops.shape(Recency(context_length=10)(ops.ones((4, 10, 2))))
        (4, 10, 7)

    Source: the `tinycast` and `fracast` packages (2026).
    """

    def __init__(self, context_length, start=0, **kwargs):
        check_positive_integers(context_length=context_length)
        super().__init__(**kwargs)
        self.context_length = context_length
        self.start = start

    def call(self, inputs):
        steps = self.start + np.arange(inputs.shape[1])
        distance = (steps - (self.context_length - 1)) / self.context_length
        size = np.abs(distance)
        logarithm = np.sign(distance) * np.log1p(size) / np.log(2)
        decays = [np.exp(-rate * size) for rate in DECAY_RATES]
        features = np.stack([distance, logarithm, *decays], axis=-1)
        features = ops.convert_to_tensor(features[None], dtype=inputs.dtype)
        shape = (ops.shape(inputs)[0], *features.shape[1:])
        return ops.concatenate([inputs, ops.broadcast_to(features, shape)], axis=-1)

    def compute_output_shape(self, inputs_shape):
        return (*inputs_shape[:-1], inputs_shape[-1] + 2 + len(DECAY_RATES))
