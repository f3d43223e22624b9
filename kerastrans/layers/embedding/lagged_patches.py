"""Tokens of an autoregressive model: patches of the values before the targets."""

from fractions import Fraction

import keras
from keras import ops

from kerastrans.utils.model_files import serializable
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_positive_integers


@keras.saving.register_keras_serializable(package="kerastrans")
class LaggedPatches(keras.layers.Layer):
    """Cuts the decoder's input of each channel into patches, next to patches of earlier values.

    The first patch of the inputs is the last one of the history, so that every patch precedes the
    one to forecast. A patch contains values, 0 if they are missing, and which of them are known.

    Args:
        patch_length: int, number of steps in a patch.
        lags: Numbers of steps, each from `patch_length` to the context length. A token also
            contains the values so many steps before its targets.

    Call arguments:
        inputs: `(batch, time, num_channels)`, the values `patch_length` steps before the targets,
            NaN if missing. Steps after the last whole patch are a patch with missing values.
        history: `(batch, context_length, num_channels)`, NaN if missing.

    Returns:
        `(batch * num_channels, patches, 2 * patch_length * (1 + len(lags)))`.

    Raises:
        ValueError: If a size is below 1, or a lag is shorter than a patch.
        ValueError: If a lag or the patch is longer than the history.

    Example:
        >>> from keras import ops
        >>> layer = LaggedPatches(patch_length=4, lags=[24])
        >>> ops.shape(layer(ops.ones((5, 12, 2)), ops.ones((5, 48, 2))))
        (10, 3, 16)

    Source: Nie et al. (2023), section 3.1, for patches; Salinas et al. (2020), section 4, for lags.
    """

    takes_missing = True

    def __init__(self, patch_length, lags=(), **kwargs):
        check_positive_integers(patch_length=patch_length)
        super().__init__(**{"dtype": full_precision(), **kwargs})
        self.patch_length = patch_length
        self.lags = tuple(lags)
        for lag in self.lags:
            check_positive_integers(lags=lag)
            if lag < patch_length:
                raise ValueError(
                    f"a lag must be at least the patch_length of {patch_length}, got {lag}: the "
                    "values of a patch are forecast together."
                )

    def build(self, inputs_shape, history_shape):
        longest = max((self.patch_length, *self.lags))
        if longest > history_shape[1]:
            name = "lag" if longest in self.lags else "patch_length"
            raise ValueError(
                f"a {name} of {longest} steps is longer than the context of {history_shape[1]}."
            )
        self.batch_factor = inputs_shape[2]

    def call(self, inputs, history):
        series = ops.concatenate([history[:, : -self.patch_length], inputs], axis=1)
        steps, end = ops.shape(inputs)[1], history.shape[1]
        lagged = [series[:, end - lag : end - lag + steps] for lag in self.lags]
        return self._patches([inputs, *lagged])

    def check_decode(self, inputs, history, *, time_axes):
        """See `kerastrans.decoding.contract`."""
        if "history" in time_axes:
            raise ValueError(f"{self.name}: the history must not depend on the decoder's input.")
        return False

    def start_cache(self, inputs, history, *, batch_size, length):
        """Return the history with room for the values of `length` patches, if there are lags."""
        if not self.lags:
            return ()
        room = ops.zeros((batch_size, length * self.patch_length, history.shape[2]), history.dtype)
        return (ops.concatenate([history, room], axis=1),)

    def decode(self, inputs, history, *, cache, index, time_axes):
        """Return the tokens of the newest patches `(batch, steps, num_channels)`."""
        if not self.lags:
            return self._patches([inputs]), cache
        (series,) = cache
        place = history.shape[1] + index * self.patch_length  # of the targets
        series = ops.slice_update(series, (0, place - self.patch_length, 0), inputs)
        steps = ops.arange(inputs.shape[1], dtype="int32") + place
        lagged = [ops.take(series, steps - lag, axis=1) for lag in self.lags]
        return self._patches([inputs, *lagged]), (series,)

    def _patches(self, parts):
        """Return tokens of tensors `(batch, time, num_channels)`."""
        size, channels = self.patch_length, parts[0].shape[2]
        x = ops.stack([ops.cast(part, self.compute_dtype) for part in parts], axis=-1)
        count = (ops.shape(x)[1] + size - 1) // size
        if size > 1:  # complete the last patch
            missing = ops.repeat(ops.full_like(x[:, :1], float("nan")), size - 1, axis=1)
            x = ops.concatenate([x, missing], axis=1)[:, : count * size]
        x = ops.reshape(x, (-1, count, size, channels, len(parts)))
        x = ops.reshape(ops.transpose(x, (0, 3, 1, 2, 4)), (-1, count, size * len(parts)))
        missing = ops.isnan(x)  # in ONNX, only a `where` of `isnan` itself leaves no NaN
        values = ops.where(missing, ops.zeros_like(x), x)
        return ops.concatenate([values, 1 - ops.cast(missing, x.dtype)], axis=-1)

    def compute_output_shape(self, inputs_shape, history_shape):
        batch, steps, channels = inputs_shape
        rows = None if batch is None else batch * channels
        count = None if steps is None else -(-steps // self.patch_length)
        return rows, count, 2 * self.patch_length * (1 + len(self.lags))

    def get_config(self):
        own = {"patch_length": self.patch_length, "lags": list(self.lags)}
        return {**super().get_config(), **own}


@serializable
class UnfoldPatches(keras.layers.Layer):
    """Returns patches of raw values to the steps and channels of the decoder's input.

    The network forecasts each step of a patch given the patches before it. How the steps of a patch
    depend on each other is a weight of this layer, which draws of the model's head have.

    Attributes:
        dependence: Weight `(patch_length, patch_length)` that is not trained: a root of the
            correlation matrix of the normal scores of a patch's steps. It is the identity in a new
            layer, whose steps are independent, and `kerastrans.Forecaster.fit` measures it. None
            for patches of one step, and with `squeeze`, which has no distribution.

    Args:
        patch_length: int, number of steps in a patch.
        num_channels: int, number of channels, which `LaggedPatches` moved into the batch.
        squeeze: bool, whether the last axis of the result, of size 1, is removed.

    Call arguments:
        inputs: `(batch * num_channels, patches, patch_length * size)`.
        like: `(batch, time, num_channels)`, the decoder's input; steps after its last one are cut.

    Returns:
        `(batch, time, num_channels, size)`, or `(batch, time, num_channels)`.

    Example:
        >>> from keras import ops
        >>> layer = UnfoldPatches(patch_length=4, num_channels=2)
        >>> ops.shape(layer(ops.ones((10, 3, 28)), ops.ones((5, 10, 2))))
        (5, 10, 2, 7)
    """

    def __init__(self, patch_length, num_channels, squeeze=False, **kwargs):
        check_positive_integers(patch_length=patch_length, num_channels=num_channels)
        super().__init__(**{"dtype": full_precision(), **kwargs})
        self.patch_length = patch_length
        self.num_channels = num_channels
        self.squeeze = squeeze
        self.dependence = None
        self.batch_factor = Fraction(1, num_channels)

    def build(self, inputs_shape, like_shape=None):
        if self.patch_length > 1 and not self.squeeze:
            self.dependence = self.add_weight(
                (self.patch_length, self.patch_length),
                keras.initializers.Identity(),
                trainable=False,
                name="dependence",
            )

    def call(self, inputs, like):
        count, size = ops.shape(inputs)[1], inputs.shape[2] // self.patch_length
        x = ops.reshape(inputs, (-1, self.num_channels, count * self.patch_length, size))
        x = ops.transpose(x, (0, 2, 1, 3))[:, : ops.shape(like)[1]]
        return x[..., 0] if self.squeeze else x

    def decode(self, inputs, like, *, positions):
        """Return the steps of the newest patches."""
        return self(inputs, like)

    def compute_output_shape(self, inputs_shape, like_shape):
        size = inputs_shape[2] // self.patch_length
        return (*like_shape[:2], self.num_channels, *(() if self.squeeze else (size,)))
