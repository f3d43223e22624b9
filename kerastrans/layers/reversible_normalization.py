"""Reversible instance normalisation: each window is normalised, and its forecast restored."""

import keras
from keras import ops

from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_choice

CENTERS = (None, "mean", "last")
SCALES = (None, "std", "mean_abs")


@keras.saving.register_keras_serializable(package="kerastrans")
class ReversibleInstanceNormalization(keras.layers.Layer):
    """Centres and scales every window and channel by its own statistics, and undoes it later.

    Called with a window it returns the normalised window and the statistics; called with a
    forecast and these statistics it returns the forecast in the units of the window:

        normalization = ReversibleInstanceNormalization()
        x, statistics = normalization(history)
        ...
        outputs = normalization(x, statistics)

    It computes in full precision whatever the dtype policy.

    Args:
        center: what is subtracted: the window's "mean", its "last" value, or None for nothing.
        scale: what is divided by: the standard deviation "std" (with `epsilon` added to the
            variance), the mean absolute value "mean_abs" (plus `epsilon`), or None for nothing.
        affine: bool, whether a learnt scale and offset per channel follow.
        epsilon: float, keeps the scale of a constant window above zero.

    Call arguments:
        inputs: `(batch, time, num_channels)`.
        statistics: `(batch, 2, num_channels)`, centre and scale, from the first call.

    Returns:
        `(inputs, statistics)` without `statistics`; `(batch, time, num_channels)` with them.

    Raises:
        ValueError: unknown `center` or `scale`.

    Example:
        >>> from keras import ops
        >>> layer = ReversibleInstanceNormalization()
        >>> x, statistics = layer(ops.reshape(ops.arange(6.0), (1, 3, 2)))
        >>> ops.convert_to_numpy(layer(x, statistics)).round(3)[0, 2].tolist()
        [4.0, 5.0]

    Source: Kim et al. (2022), equations 1-3; "last" from Zeng et al. (2023), NLinear; "mean_abs"
    from Salinas et al. (2020), section 3.3.
    """

    def __init__(self, center="mean", scale="std", affine=False, epsilon=1e-5, **kwargs):
        check_choice("center", center, CENTERS)
        check_choice("scale", scale, SCALES)
        super().__init__(**{"dtype": full_precision(), **kwargs})
        self.center = center
        self.scale = scale
        self.affine = affine
        self.epsilon = epsilon

    def build(self, inputs_shape, statistics_shape=None):
        if self.affine:
            shape = (inputs_shape[-1],)
            self.gamma = self.add_weight(shape=shape, initializer="ones", name="gamma")
            self.beta = self.add_weight(shape=shape, initializer="zeros", name="beta")

    def call(self, inputs, statistics=None):
        if statistics is not None:
            return self._restore(inputs, statistics)
        statistics = self._statistics(inputs)
        x = (inputs - statistics[:, :1]) / statistics[:, 1:]
        return (x * self.gamma + self.beta if self.affine else x), statistics

    def _statistics(self, inputs):
        first = inputs[:, :1]
        center = {
            None: lambda: ops.zeros_like(first),
            "mean": lambda: ops.mean(inputs, axis=1, keepdims=True),
            "last": lambda: inputs[:, -1:],
        }[self.center]()
        scale = {
            None: lambda: ops.ones_like(first),
            "std": lambda: ops.sqrt(ops.var(inputs, axis=1, keepdims=True) + self.epsilon),
            "mean_abs": lambda: ops.mean(ops.abs(inputs), axis=1, keepdims=True) + self.epsilon,
        }[self.scale]()
        return ops.concatenate([center, scale], axis=1)

    def _restore(self, inputs, statistics):
        x = (inputs - self.beta) / self.gamma if self.affine else inputs
        return x * statistics[:, 1:] + statistics[:, :1]

    def get_config(self):
        return {
            **super().get_config(),
            "center": self.center,
            "scale": self.scale,
            "affine": self.affine,
            "epsilon": self.epsilon,
        }
