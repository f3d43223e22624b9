"""The distance of each step of the horizon from the end of the history."""

import keras
import numpy as np
from keras import ops

from kerastrans.utils.validation import check_positive_integers


@keras.saving.register_keras_serializable(package="kerastrans")
class FutureClock(keras.layers.Layer):
    """The distance of every step of the horizon from the end of the history, from 1/h to 1.

    Args:
        prediction_length: int, number of steps of the horizon, h.

    Call arguments:
        inputs: `(batch, ...)`; only the batch size is used.

    Returns:
        `(batch, prediction_length, 1)`.

    Raises:
        ValueError: If `prediction_length` is below 1.

    Example:
        >>> from keras import ops
        >>> ops.convert_to_numpy(FutureClock(4)(ops.ones((1, 48, 3))))[0, :, 0].tolist()
        [0.25, 0.5, 0.75, 1.0]
    """

    def __init__(self, prediction_length, **kwargs):
        check_positive_integers(prediction_length=prediction_length)
        super().__init__(**kwargs)
        self.prediction_length = prediction_length

    def call(self, inputs):
        steps = np.arange(1, self.prediction_length + 1)[None, :, None] / self.prediction_length
        steps = ops.convert_to_tensor(steps, self.compute_dtype)
        return ops.broadcast_to(steps, (ops.shape(inputs)[0], self.prediction_length, 1))

    def compute_output_shape(self, inputs_shape):
        return (inputs_shape[0], self.prediction_length, 1)

    def get_config(self):
        return {**super().get_config(), "prediction_length": self.prediction_length}
