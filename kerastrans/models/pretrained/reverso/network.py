"""The network of Reverso: long convolutions and DeltaNet layers in turn, read by one attention."""

import keras
from keras import Input, Model, layers, ops

from kerastrans.layers import CausalDepthwiseConvolution, DeltaRule
from kerastrans.layers.frequency.fourier import irfft, rfft
from kerastrans.models.pretrained.filters import FilterLayers
from kerastrans.utils.precision import full_precision

HEADS = 4  # of each DeltaNet layer
TAPS = 4  # of its filters
EPSILON = 1e-5  # of the normalisations


class ReversoLayers(FilterLayers):
    """The layers of the network, by their keys."""

    def __init__(self):
        super().__init__({CircularConvolution: lambda key, layer: {f"{key}.k": layer.kernel}})

    def layer_norm(self, key):
        """Return a layer normalisation."""
        return self(key, layers.LayerNormalization, epsilon=EPSILON)


def build_network(layer, config):
    """Build the network, from a window in [0, 1] to a forecast in the same units.

    Args:
        layer: `ReversoLayers` that creates the layers.
        config: Dict, the checked configuration.

    Returns:
        Functional Keras model from `(batch, seq_len)` to `(batch, output_token_len, 1)`.
    """
    width, horizon = config["d_model"], config["output_token_len"]
    values = Input((config["seq_len"],), name="values")
    x = layer.dense("embedding", width, use_bias=False)(values[..., None])
    kinds = config["main_module"]
    for i, kind in enumerate(kinds):
        key = f"layers.{2 * i}"
        if kind == "conv":
            y = _long_convolution(layer, key, x, config["gating_kernel_size"])
        else:
            # Between other layers the first step sees the last one, the end of the window.
            weaves = config["state_weaving"] and 0 < i < len(kinds) - 1
            woven = ops.concatenate([x[:, :1] + x[:, -1:], x[:, 1:]], axis=1) if weaves else x
            y = _delta_net(layer, f"{key}.attention", woven, round(width * config["expand_v"]))
        x = x + layer.layer_norm(f"{key}.norm")(y)
        key = f"layers.{2 * i + 1}"
        y = ops.relu(layer.dense(f"{key}.linear", config["d_intermediate"])(x))
        y = layer.dense(f"{key}.linear_final", width)(y)
        x = x + layer.layer_norm(f"{key}.norm")(y)

    # Each future step asks by its own weighted mean of all steps of the window.
    steps = layer.dense("head", horizon, use_bias=config["learn_bias"])
    queries = ops.transpose(steps(ops.transpose(x, (0, 2, 1))), (0, 2, 1))
    queries = layer.dense("simple_q_proj", width)(queries)
    keys, read = layer.dense("key_proj", width)(x), layer.dense("value_proj", width)(x)
    scores = ops.matmul(queries, ops.transpose(keys, (0, 2, 1))) * width**-0.5
    x = ops.matmul(ops.softmax(scores), read)
    return Model(values, layer.dense("out_proj", 1)(x), name="reverso")


def _long_convolution(layer, key, x, taps):
    """Convolve the gated steps with filters as long as the window."""
    convolution = layer(f"{key}.pregate.net.0", CausalDepthwiseConvolution, taps)
    # The filter of the gate sees as many steps after a step as before it.
    after = taps // 2
    gate = convolution(ops.pad(x, [[0, 0], [0, after], [0, 0]]))[:, after:]
    gate = layer(f"{key}.pregate.net.2", layers.Conv1D, x.shape[-1], 1)(ops.silu(gate))
    return ops.relu(layer(key, CircularConvolution)(x * ops.sigmoid(gate)))


def _delta_net(layer, key, x, value_width):
    """Apply linear attention with the delta rule, of normalised queries and keys."""
    width = x.shape[-1]

    def filtered(name, units):
        """Return a projection and a short filter, split into heads `(batch, heads, time, dim)`."""
        y = layer.dense(f"{key}.{name}_proj", units, use_bias=False)(x)
        y = layer(f"{key}.{name}_conv1d", CausalDepthwiseConvolution, TAPS, use_bias=False)(y)
        y = ops.reshape(ops.silu(y), (-1, y.shape[1], HEADS, units // HEADS))
        return ops.transpose(y, (0, 2, 1, 3))

    queries, keys = _unit(filtered("q", width)), _unit(filtered("k", width))
    strengths = ops.sigmoid(layer.dense(f"{key}.b_proj", HEADS, use_bias=False)(x))
    strengths = ops.transpose(strengths, (0, 2, 1))[..., None]
    queries = queries * (width // HEADS) ** -0.5
    y = DeltaRule()(queries, keys, filtered("v", value_width), strengths)
    y = layer(f"{key}.o_norm", layers.RMSNormalization, epsilon=EPSILON)(y)
    y = ops.reshape(ops.transpose(y, (0, 2, 1, 3)), (-1, x.shape[1], value_width))
    return layer.dense(f"{key}.o_proj", width, use_bias=False)(y)


def _unit(x):
    """Return vectors of length one; a zero remains zero."""
    return x * ops.rsqrt(ops.sum(ops.square(x), axis=-1, keepdims=True) + 1e-6)


@keras.saving.register_keras_serializable(package="kerastrans")
class CircularConvolution(keras.layers.Layer):
    """Convolves each feature with a filter as long as the series, which is taken for a circle.

    Step t is `sum(kernel[s] * inputs[t - s])`, and the step before the first is the last. It is
    computed as a product of Fourier transforms.

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: `(batch, time, d_model)`, always of the same length.

    Returns:
        `(batch, time, d_model)`.

    Example:
        >>> from keras import ops
        >>> ops.shape(CircularConvolution()(ops.ones((4, 10, 16))))
        (4, 10, 16)

    Source: Fu et al. (2024), "FlashFFTConv: Efficient convolutions for long sequences with tensor
    cores", equation 1, with a transform as long as the series.
    """

    def build(self, inputs_shape):
        _, length, width = inputs_shape
        initializer = keras.initializers.RandomNormal(stddev=length**-0.5)
        self.kernel = self.add_weight(shape=(width, length), initializer=initializer, name="kernel")

    def call(self, inputs):
        # Sums over all steps would overflow in float16.
        x, kernel = (ops.cast(y, full_precision()) for y in (inputs, self.kernel))
        real, imaginary = rfft(ops.transpose(x, (0, 2, 1)))
        kernel_real, kernel_imaginary = rfft(kernel)
        product = (
            real * kernel_real - imaginary * kernel_imaginary,
            real * kernel_imaginary + imaginary * kernel_real,
        )
        x = ops.transpose(irfft(*product, inputs.shape[1]), (0, 2, 1))
        return ops.cast(x, inputs.dtype)

    def compute_output_shape(self, inputs_shape):
        return inputs_shape
