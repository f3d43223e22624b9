"""Pooling over channels that draws one of them in training."""

import keras
from keras import ops

from kerastrans.utils.precision import full_precision
from kerastrans.utils.random import draw_seed


@keras.saving.register_keras_serializable(package="kerastrans")
class StochasticPooling(keras.layers.Layer):
    """Pools each feature over the channels: the mean with softmax weights, or a draw in training.

    The values of a feature are also the logits of its channels. In training each feature of each
    window is taken from one channel, which is drawn with these probabilities.

    Args:
        seed: int, seed of the draws; None draws a seed.

    Call arguments:
        inputs: `(batch, num_channels, features)`.

    Returns:
        `(batch, 1, features)`.

    Example:
        >>> from keras import ops
        >>> inputs = ops.convert_to_tensor([[[0.0], [0.0], [3.0]]])
        >>> round(float(StochasticPooling()(inputs)[0, 0, 0]), 2)
        2.73

    Source: Zeiler, Fergus (2013), "Stochastic pooling for regularization of deep convolutional
    neural networks"; Han et al. (2024), SOFTS, section 3.2.
    """

    def __init__(self, seed=None, **kwargs):
        super().__init__(**kwargs)
        self.seed = draw_seed() if seed is None else seed
        self.seed_generator = keras.random.SeedGenerator(self.seed)

    def call(self, inputs, training=False):
        logits = ops.cast(inputs, full_precision())
        if training:
            weights = ops.one_hot(self.draw(logits), inputs.shape[1], axis=1, dtype=inputs.dtype)
        else:
            weights = ops.cast(ops.softmax(logits, axis=1), inputs.dtype)
        return ops.sum(inputs * weights, axis=1, keepdims=True)

    def draw(self, logits):
        """Return the number of a channel for each feature, `(batch, features)`."""
        uniform = keras.random.uniform(
            ops.shape(logits), minval=1e-7, dtype=logits.dtype, seed=self.seed_generator
        )
        return ops.argmax(logits - ops.log(-ops.log(uniform)), axis=1)

    def compute_output_shape(self, inputs_shape):
        return (inputs_shape[0], 1, inputs_shape[2])

    def get_config(self):
        return {**super().get_config(), "seed": self.seed}
