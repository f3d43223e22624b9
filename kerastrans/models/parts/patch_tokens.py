"""Tokens of autoregressive Transformers: patches of a channel's values, with known features."""

from dataclasses import dataclass

import keras
from keras import layers, ops

from kerastrans.decoding.rollout import Rollout
from kerastrans.layers import LaggedPatches, UnfoldPatches
from kerastrans.models.parts.normalized_window import open_window
from kerastrans.models.parts.projections import concatenate, dense
from kerastrans.models.parts.regression import covariate_columns
from kerastrans.utils.precision import full_precision


@dataclass(frozen=True)
class PatchTokens:
    """Inputs of an autoregressive model over patches, and the embeddings of their tokens.

    A token holds a patch of values, and is followed by the patch that the model forecasts from it.

    Attributes:
        window: `Window` of the history, whose missing values are NaN.
        inputs: List of all inputs of the model, the decoder's last.
        history: `(batch * num_channels, patches, d_model)`, all tokens of the history.
        decoder: `(batch * num_channels, time, d_model)`, tokens of the decoder's input. The first
            is the last one of the history.
        patch_length: int, number of steps in a patch.
    """

    window: object
    inputs: list
    history: keras.KerasTensor
    decoder: keras.KerasTensor
    patch_length: int

    def forecast(self, x, head, statistics=None):
        """Return the forecast of the patches that follow the tokens of the decoder.

        Args:
            x: Raw values, `(batch * num_channels, time, patch_length * size)`.
            head: Head of the model.
            statistics: Statistics of the window if they passed another layer.
        """
        num_channels = self.window.history.shape[2]
        squeeze = not head.has_parameter_axis
        x = UnfoldPatches(self.patch_length, num_channels, squeeze)(x, self.inputs[-1])
        return _restore(x, head, self.window.statistics if statistics is None else statistics)

    def history_forecast(self, x, head):
        """Return the forecasts of patches inside the history.

        Args:
            x: Raw values, `(batch * num_channels, patches, patch_length * size)`.
            head: Head of the model.
        """
        num_channels, steps = self.window.history.shape[2], x.shape[1] * self.patch_length
        # (batch, time, channels, size)
        x = ops.transpose(ops.reshape(x, (-1, num_channels, steps, head.size)), (0, 2, 1, 3))
        x = x if head.has_parameter_axis else x[..., 0]
        return _restore(x, head, self.window.statistics)

    def model(self, outputs, head, prediction_length, name):
        """Return the autoregressive model, or the rollout of a point forecast."""
        model = keras.Model(self.inputs, outputs, name=name)
        if head.has_parameter_axis:
            return model
        *inputs, _ = self.inputs
        inputs = {x.name: keras.Input(x.shape[1:], dtype=x.dtype, name=x.name) for x in inputs}
        outputs = Rollout(model, prediction_length)(list(inputs.values()))
        return keras.Model(inputs if len(inputs) > 1 else inputs["history"], outputs, name=name)


def patch_tokens(
    context_length,
    prediction_length,
    num_channels,
    patch_length,
    d_model,
    head,
    covariates,
    lags=(),
):
    """Create the inputs of an autoregressive model over patches, and embed their tokens.

    The window is normalised by its mean and standard deviation; counts are divided by their mean.
    All channels share the weights. The features of covariates belong to the patch to forecast;
    past covariates to the patch of the token.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        patch_length: int, number of steps in a patch.
        d_model: int, width of a token.
        head: Head of the model.
        covariates: Sizes of covariates, see `kerastrans.zoo.build`, or None.
        lags: See `LaggedPatches`; only tokens of the decoder have them.

    Returns:
        `PatchTokens`.

    Example:
        >>> from kerastrans import heads
        >>> tokens = patch_tokens(24, 12, 3, 4, 16, heads.get("normal"), None)
        >>> tokens.history.shape, tokens.decoder.shape
        ((None, 6, 16), (None, None, 16))
    """
    window = open_window(context_length, num_channels, head, center="mean", scale="std", fill=False)
    extra, columns = covariate_columns(window, prediction_length, covariates)
    decoder_inputs = keras.Input((None, num_channels), name="decoder_inputs")
    values = (decoder_inputs - window.statistics[:, :1]) / window.statistics[:, 1:]

    missing = -context_length % patch_length
    padded = ops.pad(window.values, [(0, 0), (missing, 0), (0, 0)], constant_values=float("nan"))
    history = LaggedPatches(patch_length)(padded, padded)
    decoder = LaggedPatches(patch_length, lags)(values, window.values)
    options = {"dtype": full_precision()}
    history = dense(d_model, **options, name="history_embedding")(history)
    decoder = dense(d_model, **options, name="decoder_embedding")(decoder)
    num_tokens = history.shape[1] - 1 - prediction_length // -patch_length
    features = _features(columns, missing, num_tokens, patch_length)
    if features is not None:
        features = dense(d_model, **options, name="feature_embedding")(features)
        features = ops.repeat(features, num_channels, axis=0)  # (batch * channels, tokens, d_model)
        count = history.shape[1]
        history = history + features[:, :count]  # the last is also the decoder's first
        decoder = KnownFeatures(**options)(decoder, features[:, count - 1 :])
    inputs = [window.history, *extra.values(), decoder_inputs]
    return PatchTokens(window, inputs, history, decoder, patch_length)


def _restore(x, head, statistics):
    """Apply a head to raw values in the units of the normalised window."""
    if head.has_parameter_axis:
        return head(x, statistics=statistics)
    return head(x * statistics[:, 1:] + statistics[:, :1])


def _features(columns, missing, num_tokens, patch_length):
    """Return the features of all tokens, `(batch, tokens, features)`; None without covariates.

    Args:
        columns: Columns of `covariate_columns`.
        missing: int, number of steps that the history lacks to whole patches.
        num_tokens: int, number of tokens of history and decoder, without the last of the history.
        patch_length: int, number of steps in a patch.
    """
    parts = []
    for kind, first in (("past", 0), ("future", 1)):  # patch of the first token's features
        if kind in columns:
            x = concatenate(columns[kind])
            after = (num_tokens + first) * patch_length - missing - x.shape[1]
            x = ops.pad(x, [(0, 0), (missing, after), (0, 0)])
            # (batch, tokens, patch_length * features)
            x = ops.reshape(x, (-1, num_tokens + first, patch_length * x.shape[2]))
            parts.append(x[:, first:])
    parts += [layers.RepeatVector(num_tokens)(x) for x in columns.get("static", [])]
    return concatenate(parts) if parts else None


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

    def decode(self, inputs, features, *, positions):
        """Return the newest steps `(batch, time, d_model)` plus their features."""
        return inputs + ops.take(features, positions, axis=1)

    def compute_output_shape(self, inputs_shape, features_shape):
        return inputs_shape
