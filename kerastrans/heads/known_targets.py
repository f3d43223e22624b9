"""Wrapper that applies a Keras loss to series with missing values."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="kerastrans")
class KnownTargets(keras.losses.Loss):
    """Loss of points that ignores missing targets; Keras losses return NaN for them.

    A missing target is replaced by its forecast, so that it has neither an error nor a gradient.

    Args:
        loss: Keras loss, its name, or a function of targets and forecasts that is smallest when
            both are equal.
        name: Name of the loss.
        **kwargs: Additional arguments of `keras.losses.Loss`.

    Example:
        >>> import numpy as np
        >>> loss = KnownTargets("mean_squared_error")
        >>> float(loss(np.array([[[1.0], [np.nan]]]), np.array([[[3.0], [5.0]]])))
        4.0
    """

    def __init__(self, loss, name="known_targets", **kwargs):
        super().__init__(name=name, **kwargs)
        self.loss = keras.losses.get(loss)

    def call(self, y_true, y_pred):
        known = ops.isfinite(y_true)
        share = ops.mean(ops.cast(known, y_pred.dtype))
        errors = self.loss(ops.where(known, y_true, y_pred), y_pred)
        return errors / ops.maximum(share, 1e-6)  # mean over the known targets only

    def get_config(self):
        return {**super().get_config(), "loss": keras.losses.serialize(self.loss)}
