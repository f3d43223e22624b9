"""Mamba: a selective state space over the steps of the window (Gu, Dao, 2023, figure 3).

Paper: https://arxiv.org/abs/2312.00752
Code: https://github.com/thuml/Time-Series-Library/tree/4e938a1
"""

import keras
import numpy as np
from keras import layers, ops

from kerastrans.layers import CausalDepthwiseConvolution
from kerastrans.layers.initializers import FanInUniform
from kerastrans.layers.recurrent.linear_recurrence import linear_recurrence
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.encoder_decoders import embed_values
from kerastrans.models.parts.normalized_window import STANDARDIZED, open_window
from kerastrans.models.parts.projections import dense
from kerastrans.utils.keras_internals import KeepsQuantization
from kerastrans.utils.model_files import serializable
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_positive_integers

ARCHITECTURE = {
    "summary": "selective state space over time",
    "license": "MIT",
    "tags": ("recurrent", "mixes channels", "affine", "takes heads"),
    "features": "head: b t f",
}


@checked
def build_mamba_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    d_model=64,
    state_dim=16,
    expansion=2,
    kernel_size=4,
    num_blocks=2,
    dropout=0.1,
    head=None,
    name="mamba",
):
    """Build Mamba over time: the forecast is read from the last `prediction_length` states.

    If the horizon is longer than the context, the normalised window is continued with zeros.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        d_model: int, width of all blocks.
        state_dim: int, number of states of each feature.
        expansion: int, factor of the width inside a block.
        kernel_size: int, number of steps of the causal convolution of each block.
        num_blocks: int, number of blocks.
        dropout: float in [0, 1), dropout rate on the embedding.
        head: None for point forecasts, or a head of `kerastrans.heads`, whose parameters are the
            last axis of the output.
        name: str, name of the model.

    Returns:
        A functional Keras model that maps `(batch, context_length, num_channels)` to
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: If a size is below 1, or too large.
        ValueError: If `dropout` is outside [0, 1).
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_mamba_model(24, 12, 3, d_model=8, state_dim=4)
        >>> model.output_shape
        (None, 12, 3)

    Source: Gu, Dao (2023), "Mamba: Linear-time sequence modeling with selective state spaces",
    section 3; as a forecaster, the Time-Series-Library of Wu et al.
    """
    width, rank = expansion * d_model, -(-d_model // 16)

    def mix(x):
        x, gate = ops.split(dense(2 * width, use_bias=False)(x), 2, axis=-1)
        initial = {"kernel_initializer": FanInUniform()}
        x = ops.silu(CausalDepthwiseConvolution(kernel_size, **initial)(x))
        x = SelectiveStateSpace(state_dim, rank)(x)
        return dense(d_model, use_bias=False)(x * ops.silu(gate))

    window = open_window(context_length, num_channels, head, **STANDARDIZED)
    missing = max(0, prediction_length - context_length)
    x = ops.pad(window.values, ((0, 0), (0, missing), (0, 0)))
    x = embed_values(x, d_model, dropout)
    for _ in range(num_blocks):
        x = layers.Add()([x, mix(layers.RMSNormalization(epsilon=1e-5)(x))])
    dtype = full_precision()
    x = layers.RMSNormalization(epsilon=1e-5, dtype=dtype)(x)[:, -prediction_length:]
    x = dense(num_channels * head.size, use_bias=False, dtype=dtype, name="head")(x)
    return window.model(x, head, prediction_length, name)


@serializable
class SelectiveStateSpace(KeepsQuantization, keras.layers.Layer):
    """Diagonal state space whose step size, input and output maps depend on the inputs.

    Each feature has `state_dim` states: `s' = exp(d A) s + d B x`, `y = C s + D x`. The step sizes
    `d` and the vectors `B` and `C` are linear in the inputs. All steps are computed by a parallel
    scan, in full precision.

    Args:
        state_dim: int, number of states of each feature.
        rank: int, rank of the map to the step sizes.

    Call arguments:
        inputs: `(batch, time, d_model)`.

    Returns:
        `(batch, time, d_model)`.

    Raises:
        ValueError: If a size is below 1.

    Example:
        >>> from keras import ops
        >>> ops.shape(SelectiveStateSpace(state_dim=4, rank=1)(ops.ones((4, 10, 16))))
        (4, 10, 16)

    Source: Gu, Dao (2023), "Mamba: Linear-time sequence modeling with selective state spaces",
    algorithm 2, with the Euler step for B of the authors' code.
    """

    def __init__(self, state_dim, rank, **kwargs):
        check_positive_integers(state_dim=state_dim, rank=rank)
        super().__init__(**{"dtype": full_precision(), **kwargs})
        self.state_dim = state_dim
        self.rank = rank

    def build(self, inputs_shape):
        width = inputs_shape[-1]
        rates = keras.initializers.Constant(np.log(np.arange(1.0, self.state_dim + 1)))
        self.log_rate = self.add_weight(
            shape=(width, self.state_dim), initializer=rates, name="log_rate"
        )
        self.skip = self.add_weight(shape=(width,), initializer="ones", name="skip")
        options = {"kernel_initializer": FanInUniform(), "dtype": self.dtype_policy}
        self.select = keras.layers.Dense(
            self.rank + 2 * self.state_dim, use_bias=False, **options, name="select"
        )
        self.select.build(inputs_shape)
        options["kernel_initializer"] = FanInUniform()
        self.step = keras.layers.Dense(width, activation="softplus", **options, name="step")
        self.step.build((*inputs_shape[:-1], self.rank))

    def call(self, inputs):
        ends = (self.rank, self.rank + self.state_dim)
        step, write, read = ops.split(self.select(inputs), ends, axis=-1)
        step = self.step(step)  # (batch, time, d_model)
        # (batch, time, d_model, state_dim)
        decay = ops.exp(step[..., None] * -ops.exp(self.log_rate))
        driven = (step * inputs)[..., None] * write[..., None, :]
        return (
            ops.sum(linear_recurrence(decay, driven) * read[..., None, :], axis=-1)
            + self.skip * inputs
        )

    def compute_output_shape(self, inputs_shape):
        return inputs_shape
