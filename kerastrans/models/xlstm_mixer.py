"""xLSTM-Mixer: a recurrent network over channels refines a linear forecast (Kraus et al., 2025).

Paper: https://arxiv.org/abs/2410.16928
Code: https://github.com/FFFAAAJL/xLSTM-Mixer/tree/730b053
"""

import keras
import numpy as np
from keras import layers, ops

from kerastrans.layers import CausalDepthwiseConvolution, Dropout
from kerastrans.layers.initializers import FanInUniform
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.normalized_window import STANDARDIZED, open_window
from kerastrans.models.parts.projections import dense, learn_tokens, time_dense
from kerastrans.models.parts.sublayers import TORCH_EPSILON
from kerastrans.utils.model_files import serializable
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_divides, check_positive_integers

ARCHITECTURE = {
    "summary": "recurrent network over channels, two views",
    "license": "MIT",
    "tags": ("recurrent", "mixes channels", "affine", "takes heads"),
    "paper": {"d_model": 256, "num_heads": 8},
    "features": "head: b c f",
}
SMALL = 0.4**0.5  # deviation of initial weights, in units of 1 / sqrt(d_model)
FF_FACTOR, FF_MULTIPLE = 1.3, 64  # the default hidden width in units of `d_model`, rounded up


@checked
def build_xlstm_mixer_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    d_model=64,
    num_heads=4,
    ff_dim=None,
    num_blocks=1,
    num_memory_tokens=None,
    kernel_size=None,
    dropout=0.1,
    head=None,
    name="xlstm_mixer",
):
    """Build xLSTM-Mixer: a linear forecast of each channel, refined by an sLSTM over the channels.

    The network reads the channels one after the other, so that their order matters. It reads them
    twice, the second time with reversed features.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        d_model: int, width of all blocks.
        num_heads: int, number of heads of the recurrent layers, a divisor of `d_model`.
        ff_dim: int, hidden width of the feed-forward networks; None for 1.3 times `d_model`,
            rounded up to a multiple of 64.
        num_blocks: int, number of blocks.
        num_memory_tokens: int, number of learnt tokens before the channels; None for none.
        kernel_size: int, number of channels in the causal convolution before the input and forget
            gates of the recurrent layers; None for no convolution.
        dropout: float in [0, 1), dropout rate.
        head: None for point forecasts, or a head of `kerastrans.heads`, whose parameters are the
            last axis of the output.
        name: str, name of the model.

    Returns:
        A functional Keras model that maps `(batch, context_length, num_channels)` to
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: If a size is below 1, or too large.
        ValueError: If `num_heads` does not divide `d_model`.
        ValueError: If `dropout` is outside [0, 1).
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_xlstm_mixer_model(24, 12, 3, d_model=8, num_heads=2)
        >>> model.output_shape
        (None, 12, 3)

    Source: Kraus et al. (2025), "xLSTM-Mixer: Multivariate time series forecasting by mixing via
    scalar memories", section 3.
    """
    if ff_dim is None:
        ff_dim = -int(-FF_FACTOR * d_model // FF_MULTIPLE) * FF_MULTIPLE

    def normalise(x):
        return layers.LayerNormalization(epsilon=TORCH_EPSILON, center=False)(x)

    def feed_forward(x):
        gate, values = ops.split(linear(2 * ff_dim, SMALL / d_model**0.5)(x), 2, axis=-1)
        outputs = linear(d_model, 2 / num_blocks / d_model**0.5)
        return outputs(ops.gelu(gate, approximate=False) * values)

    def linear(units, deviation):
        initial = keras.initializers.RandomNormal(stddev=deviation)
        return layers.Dense(units, use_bias=False, kernel_initializer=initial)

    def add_residual(x, sublayer):
        return layers.Add()([x, Dropout(dropout)(sublayer(normalise(x)))])

    window = open_window(context_length, num_channels, head, **STANDARDIZED)
    dtype = full_precision()
    last = window.values[:, -1:]
    x = time_dense(window.values - last, prediction_length, dtype=dtype, name="linear") + last
    x = dense(d_model, name="embedding")(ops.transpose(x, (0, 2, 1)))  # (batch, channels, d_model)
    if num_memory_tokens:
        initial = keras.initializers.RandomNormal(stddev=0.01)
        tokens = learn_tokens(x, num_memory_tokens, "memory", initial)
        x = ops.concatenate([tokens, x], axis=1)
    tokens = x.shape[1]
    # (2 * batch, tokens, d_model), every second one with its features in reverse order
    x = ops.reshape(ops.stack([x, ops.flip(x, axis=-1)], axis=1), (-1, tokens, d_model))
    for i in range(num_blocks):  # (2 * batch, tokens, d_model): both views read by the same layers
        depth = i / max(1, num_blocks - 1)
        x = add_residual(x, ScalarLSTM(num_heads, kernel_size, depth))
        x = add_residual(x, feed_forward)
    # (batch, 2, channels, d_model)
    x = ops.reshape(normalise(x), (-1, 2, tokens, d_model))[:, :, -num_channels:]
    # (batch, channels, 2 * d_model)
    x = ops.reshape(ops.transpose(x, (0, 2, 1, 3)), (-1, num_channels, 2 * d_model))
    # (batch, channels, time * size)
    x = dense(prediction_length * head.size, dtype=dtype, name="head")(x)
    return window.model(ops.transpose(x, (0, 2, 1)), head, prediction_length, name)


NUM_GATES, FORGET = 4, 1  # input, forget, cell, output
EMPTY = -1e9  # logarithm of the first state's scale: nothing of it is left


class _Cell(keras.layers.Layer):
    """One step of `ScalarLSTM`; its inputs are the raw gates of a token."""

    def __init__(self, num_heads, width, **kwargs):
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.width = width
        # Output, cell, normaliser, and the logarithm of the scale of the last two.
        self.state_size = [num_heads * width] * 4
        self.output_size = num_heads * width

    def build(self, inputs_shape):
        self.recurrent_kernel = self.add_weight(
            shape=(self.num_heads, self.width, NUM_GATES * self.width),
            initializer="zeros",
            name="recurrent_kernel",
        )

    def get_initial_state(self, batch_size=None):
        shape, dtype = (batch_size, self.output_size), self.compute_dtype
        return [*(ops.zeros(shape, dtype) for _ in range(3)), ops.full(shape, EMPTY, dtype)]

    def call(self, inputs, states):
        output, cell, normaliser, scale = states
        heads = ops.reshape(output, (-1, self.num_heads, 1, self.width))  # (batch, heads, 1, width)
        # (batch, heads * gates * width)
        raw = ops.reshape(ops.matmul(heads, self.recurrent_kernel), (-1, *inputs.shape[1:]))
        shape = (-1, self.num_heads, NUM_GATES, self.width)
        # (batch, heads, 1, width) of each gate
        gates = ops.split(ops.reshape(inputs + raw, shape), NUM_GATES, axis=2)
        # (batch, heads * width)
        write, forget, value, show = (ops.reshape(x, ops.shape(output)) for x in gates)
        kept = scale + ops.log_sigmoid(forget)
        scale = ops.maximum(write, kept)  # so that no exponential overflows
        write, forget = ops.exp(write - scale), ops.exp(kept - scale)
        cell = forget * cell + write * ops.tanh(value)
        normaliser = forget * normaliser + write
        output = ops.sigmoid(show) * cell / normaliser
        return output, [output, cell, normaliser, scale]


@serializable
class ScalarLSTM(keras.layers.Layer):
    """Recurrent layer with exponential input gates and a normaliser (sLSTM), in heads.

    Each head has its own part of the features, and its output is normalised by itself. A running
    maximum of the gates' logarithms keeps the exponentials finite. The layer computes in full
    precision.

    Args:
        num_heads: int, number of heads, a divisor of the width of the inputs.
        kernel_size: int, number of taps of the causal convolution, followed by Swish, before the
            input and forget gates; None for no convolution.
        depth: float in [0, 1], place of the layer in a stack, from the first to the last block. The
            initial biases of the forget gates of a head fall from 5 to -7, by a power that grows
            with it: the first block forgets most of what it reads, the last one less.

    Call arguments:
        inputs: `(batch, tokens, d_model)`.

    Returns:
        `(batch, tokens, d_model)`.

    Raises:
        ValueError: If a size is below 1, or `num_heads` does not divide `d_model`.

    Example:
        >>> from keras import ops
        >>> ops.shape(ScalarLSTM(num_heads=2)(ops.ones((4, 10, 16))))
        (4, 10, 16)

    Source: Beck et al. (2024), "xLSTM: Extended long short-term memory", section 2.2 and
    appendix A, with a sigmoid as the forget gate.
    """

    def __init__(self, num_heads, kernel_size=None, depth=0.0, **kwargs):
        check_positive_integers(num_heads=num_heads)
        super().__init__(**{"dtype": full_precision(), **kwargs})
        self.num_heads = num_heads
        self.kernel_size = kernel_size
        self.depth = depth
        self.convolution = None
        if kernel_size is not None:
            self.convolution = CausalDepthwiseConvolution(
                kernel_size,
                kernel_initializer=FanInUniform(),
                dtype=self.dtype_policy,
                name="convolution",
            )

    def build(self, inputs_shape):
        d_model = inputs_shape[-1]
        check_divides(num_heads=self.num_heads, d_model=d_model)
        width = d_model // self.num_heads
        self.kernel = self.add_weight(
            shape=(self.num_heads, width, NUM_GATES * width),
            initializer=keras.initializers.RandomNormal(stddev=SMALL / d_model**0.5),
            name="kernel",
        )
        bias = np.zeros((self.num_heads, NUM_GATES, width), "float32")
        bias[:, FORGET] = 5 - 12 * np.linspace(0, 1, width) ** (0.3 + 1.3 * self.depth)
        self.bias = self.add_weight(
            shape=(self.num_heads, NUM_GATES * width),
            initializer=lambda shape, dtype: ops.convert_to_tensor(bias.reshape(shape), dtype),
            name="bias",
        )
        if self.convolution is not None:
            self.convolution.build(inputs_shape)
        self.recurrence = keras.layers.RNN(
            _Cell(self.num_heads, width, dtype=self.dtype_policy, name="cell"),
            return_sequences=True,
            dtype=self.dtype_policy,
            name="recurrence",
        )
        self.recurrence.build((*inputs_shape[:-1], NUM_GATES * d_model))
        self.norm = keras.layers.LayerNormalization(
            epsilon=1e-5, center=False, scale=False, dtype=self.dtype_policy
        )
        self.scale = self.add_weight(shape=(d_model,), initializer="ones", name="scale")

    def call(self, inputs):
        _, tokens, d_model = inputs.shape
        heads = (-1, tokens, self.num_heads, d_model // self.num_heads)
        sources = [inputs]
        if self.convolution is not None:  # input and forget gates, then cell and output
            sources = [ops.silu(self.convolution(inputs)), inputs]
        kernels = ops.split(self.kernel, len(sources), axis=-1)
        gates = [
            # (batch, tokens, heads, gates * width)
            ops.einsum("bthi,hio->btho", ops.reshape(x, heads), kernel)
            for x, kernel in zip(sources, kernels, strict=True)
        ]
        gates = ops.concatenate(gates, axis=-1) + self.bias
        # (batch, tokens, heads * gates * width)
        x = self.recurrence(ops.reshape(gates, (-1, tokens, NUM_GATES * d_model)))
        # (batch, tokens, heads * width)
        return ops.reshape(self.norm(ops.reshape(x, heads)), (-1, tokens, d_model)) * self.scale

    def compute_output_shape(self, inputs_shape):
        return inputs_shape
