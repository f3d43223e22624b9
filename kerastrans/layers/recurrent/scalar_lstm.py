"""LSTM with exponential gates, whose heads do not mix."""

import keras
from keras import ops

from kerastrans.layers.causal_convolution import CausalDepthwiseConvolution
from kerastrans.layers.initializers import FanInUniform
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_divides, check_positive_integers

NUM_GATES = 4  # input, forget, cell, output
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
        heads = ops.reshape(output, (-1, self.num_heads, 1, self.width))
        raw = ops.reshape(ops.matmul(heads, self.recurrent_kernel), (-1, *inputs.shape[1:]))
        shape = (-1, self.num_heads, NUM_GATES, self.width)
        gates = ops.split(ops.reshape(inputs + raw, shape), NUM_GATES, axis=2)
        write, forget, value, show = (ops.reshape(x, ops.shape(output)) for x in gates)
        kept = scale + ops.log_sigmoid(forget)
        scale = ops.maximum(write, kept)  # so that no exponential overflows
        write, forget = ops.exp(write - scale), ops.exp(kept - scale)
        cell = forget * cell + write * ops.tanh(value)
        normaliser = forget * normaliser + write
        output = ops.sigmoid(show) * cell / normaliser
        return output, [output, cell, normaliser, scale]


@keras.saving.register_keras_serializable(package="kerastrans")
class ScalarLSTM(keras.layers.Layer):
    """Recurrent layer with exponential input gates and a normaliser (sLSTM), in heads.

    Each head has its own part of the features, and its output is normalised by itself. A running
    maximum of the gates' logarithms keeps the exponentials finite. The layer computes in full
    precision.

    Args:
        num_heads: int, number of heads, a divisor of the width of the inputs.
        kernel_size: int, number of taps of the causal convolution, followed by Swish, before the
            input and forget gates; None for no convolution.

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

    def __init__(self, num_heads, kernel_size=None, **kwargs):
        check_positive_integers(num_heads=num_heads)
        super().__init__(**{"dtype": full_precision(), **kwargs})
        self.num_heads = num_heads
        self.kernel_size = kernel_size
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
            initializer=FanInUniform(),
            name="kernel",
        )
        self.bias = self.add_weight(
            shape=(self.num_heads, NUM_GATES * width), initializer="zeros", name="bias"
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
            ops.einsum("bthi,hio->btho", ops.reshape(x, heads), kernel)
            for x, kernel in zip(sources, kernels, strict=True)
        ]
        gates = ops.concatenate(gates, axis=-1) + self.bias
        x = self.recurrence(ops.reshape(gates, (-1, tokens, NUM_GATES * d_model)))
        return ops.reshape(self.norm(ops.reshape(x, heads)), (-1, tokens, d_model)) * self.scale

    def compute_output_shape(self, inputs_shape):
        return inputs_shape

    def get_config(self):
        own = {"num_heads": self.num_heads, "kernel_size": self.kernel_size}
        return {**super().get_config(), **own}
