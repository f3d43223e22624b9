"""OLinear: linear maps between decorrelated steps (Yue et al., 2025).

Paper: https://arxiv.org/abs/2505.08550
Code: https://github.com/jackyue1994/OLinear/tree/f168e01
"""

import keras
from keras import initializers, layers, ops

from kerastrans.layers import CorrelationBasis, Dropout
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.normalized_window import STANDARDIZED, open_window
from kerastrans.models.parts.projections import dense, learn_tokens
from kerastrans.models.parts.sublayers import TORCH_EPSILON, torch_encoder
from kerastrans.utils.model_files import serializable
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_dropout

ARCHITECTURE = {
    "summary": "linear maps between decorrelated steps",
    "tags": ("mlp", "mixes channels", "affine", "takes heads"),
    "paper": {"embedding_dim": 16, "d_model": 512, "ff_dim": 512},
    "features": "head: b c f",
}


@checked
def build_olinear_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    embedding_dim=8,
    d_model=128,
    ff_dim=128,
    num_blocks=2,
    dropout=0.1,
    output_dropout=0.1,
    head=None,
    name="olinear",
):
    """Build OLinear: blocks of linear maps between two bases that decorrelate the steps.

    The bases of the context and of the horizon are constants that are computed from training rows,
    see `kerastrans.layers.CorrelationBasis`. A `Forecaster` does so before it trains the model. For
    a training with Keras, call `adapt` of the layers "context_basis" and "horizon_basis" before
    `fit`; otherwise the bases are cosines.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        embedding_dim: int, number of features that each value is expanded to.
        d_model: int, width of all blocks.
        ff_dim: int, hidden width of the networks over time, in the blocks and after them.
        num_blocks: int, number of blocks.
        dropout: float in [0, 1), dropout rate in the blocks.
        output_dropout: float in [0, 1), dropout rate of the forecast of the normalised window.
        head: None for point forecasts, or a head of `kerastrans.heads`, whose parameters are the
            last axis of the output.
        name: str, name of the model.

    Returns:
        A functional Keras model that maps `(batch, context_length, num_channels)` to
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: If a size is below 1, or too large.
        ValueError: If a dropout is outside [0, 1).
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_olinear_model(24, 12, 3, embedding_dim=2, d_model=8, ff_dim=16)
        >>> model.output_shape
        (None, 12, 3)

    Source: Yue et al. (2025), "OLinear: A linear model for time series forecasting in orthogonally
    transformed domain": the bases are its OrthoTrans, `NormalizedMixing` its NormLin.
    """
    dtype = full_precision()

    def learn_offsets(like, name):
        """Return a learnt value per channel and coefficient, `(batch, num_channels, length)`."""
        return learn_tokens(like, num_channels, name, "zeros")

    def mix_channels(x):
        """Mix the channels of each feature by weights that add up to 1."""
        x = NormalizedMixing(dropout)(dense(d_model)(x))
        return dense(d_model)(x)

    window = open_window(context_length, num_channels, head, **STANDARDIZED, affine=True)
    # OrthoTrans: decorrelated steps, each expanded to features. The order of both is free.
    x = ops.transpose(window.values, (0, 2, 1))  # (batch, channels, context_length)
    x = CorrelationBasis(name="context_basis")(x)
    offsets = learn_offsets(x, "context_offsets")
    initializer = initializers.RandomNormal(stddev=1.0)
    x = layers.Dense(
        embedding_dim, use_bias=False, kernel_initializer=initializer, name="expansion"
    )(ops.expand_dims(x, -1))  # (batch, channels, context_length, embedding_dim)
    x = layers.Add()([x, ops.expand_dims(offsets, -1)])
    # (batch, channels, context_length * embedding_dim)
    x = ops.reshape(x, (-1, num_channels, context_length * embedding_dim))
    x = dense(d_model, name="embedding")(x)
    for i in range(num_blocks):
        x = torch_encoder(x, ff_dim, dropout, self_attention=mix_channels, name=f"encoder_{i}")
    x = layers.LayerNormalization(epsilon=TORCH_EPSILON, name="norm")(x)
    # To coefficients of the horizon, and by the inverse of OrthoTrans to its steps.
    x = dense(embedding_dim * prediction_length, name="coefficients")(x)
    # (batch, channels, embedding_dim, prediction_length)
    x = ops.reshape(x, (-1, num_channels, embedding_dim, prediction_length))
    x = CorrelationBasis(inverse=True, name="horizon_basis")(x)
    x = layers.Add()([x, ops.expand_dims(learn_offsets(x, "horizon_offsets"), 2)])
    # (batch, channels, embedding_dim * prediction_length)
    x = ops.reshape(x, (-1, num_channels, embedding_dim * prediction_length))
    x = dense(ff_dim, activation="gelu", name="hidden")(x)
    x = dense(prediction_length * head.size, dtype=dtype, name="head")(x)
    x = Dropout(output_dropout, dtype=dtype)(x)
    return window.model(ops.transpose(x, (0, 2, 1)), head, prediction_length, name)


SMALLEST_SUM = 1e-12


@serializable
class NormalizedMixing(keras.layers.Layer):
    """Mixes tokens by a learnt matrix whose rows are positive and add up to 1 (NormLin).

    It replaces the matrix of an attention, which depends on the tokens, by one that all windows
    share. A softplus makes the weights positive; each row is then divided by its sum. The matrix
    begins with the identity plus standard normal noise, before the softplus.

    Args:
        dropout: float in [0, 1), dropout rate of the weights. All windows of a batch lose the same.

    Call arguments:
        inputs: `(batch, tokens, features)`.

    Returns:
        `(batch, tokens, features)`.

    Raises:
        ValueError: If `dropout` is outside [0, 1).

    Example:
        >>> from keras import ops
        >>> ops.shape(NormalizedMixing()(ops.ones((4, 3, 16))))
        (4, 3, 16)

    Source: Yue et al. (2025), OLinear, "NormLin".
    """

    def __init__(self, dropout=0.0, **kwargs):
        check_dropout(dropout)
        super().__init__(**kwargs)
        self.dropout = dropout
        self.weights_dropout = Dropout(dropout, dtype=full_precision())

    def build(self, inputs_shape):
        tokens = inputs_shape[1]
        noise = keras.initializers.RandomNormal(stddev=1.0)
        self.matrix = self.add_weight(
            shape=(tokens, tokens),
            initializer=lambda shape, dtype=None: (
                noise(shape, dtype) + ops.eye(tokens, dtype=dtype)
            ),
            dtype=full_precision(),
            autocast=False,
            name="matrix",
        )

    def call(self, inputs, training=False):
        weights = ops.softplus(self.matrix)
        total = ops.sum(weights, axis=-1, keepdims=True)
        weights = weights / ops.maximum(total, SMALLEST_SUM)
        weights = self.weights_dropout(weights, training=training)
        return ops.matmul(ops.cast(weights, inputs.dtype), inputs)

    def compute_output_shape(self, inputs_shape):
        return inputs_shape
