"""A plain Keras loss for series with gaps."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="kerastrans")
class KnownTargets(keras.losses.Loss):
    """Another loss of points, over the targets that are known: Keras's own give NaN for a NaN.

    A missing target is taken to be as forecast, so that it has no error and no gradient.

    Args:
        loss: a Keras loss, its name, or a function of targets and forecasts, which is smallest
            where both are equal.
        name: of the loss.
        **kwargs: more arguments of `keras.losses.Loss`.

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
        return errors / ops.maximum(share, 1e-6)

    def get_config(self):
        return {**super().get_config(), "loss": keras.losses.serialize(self.loss)}
