"""Features of the decoder's steps that are known in advance."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="kerastrans")
class KnownFeatures(keras.layers.Layer):
    """Adds to each step of the decoder its features, which do not depend on earlier steps.

    Call arguments:
        inputs: `(batch, time, d_model)`.
        features: `(batch, steps, d_model)`, at least as many steps.

    Returns:
        `(batch, time, d_model)`.

    Raises:
        ValueError: If there are more steps to decode than steps with features.

    Example:
        >>> from keras import ops
        >>> ops.shape(KnownFeatures()(ops.ones((4, 3, 8)), ops.ones((4, 12, 8))))
        (4, 3, 8)
    """

    def call(self, inputs, features):
        steps, known = inputs.shape[1], features.shape[1]
        if None not in (steps, known) and steps > known:
            raise ValueError(f"{self.name}: {steps} steps, but features of {known} steps only.")
        return inputs + features[:, : ops.shape(inputs)[1]]

    def check_decode(self, inputs, features, *, time_axes):
        """See `kerastrans.decoding.contract`."""
        if "features" in time_axes:
            raise ValueError(f"{self.name}: features must not depend on the decoder's input.")
        return True

    def decode(self, inputs, features, *, index):
        """Return the newest step `(batch, 1, d_model)` plus its features."""
        return inputs + ops.take(features, index, axis=1)[:, None]

    def compute_output_shape(self, inputs_shape, features_shape):
        return inputs_shape
