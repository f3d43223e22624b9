"""The network of Fracast-0: a filter that all dilations share, and a convolutional head."""

import keras
import numpy as np
from keras import layers, ops

from kerastrans.layers import (
    CausalDepthwiseConvolution,
    DominantPeriods,
    LearntPositionalEncoding,
    PhaseEncoding,
    Recency,
    SeasonalFill,
)
from kerastrans.models.pretrained.checkpoint import linear
from kerastrans.models.pretrained.filters import FilterLayers
from kerastrans.utils.model_files import serializable
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_positive_integers


class FracastLayers(FilterLayers):
    """The layers of the network, by their keys."""

    def __init__(self):
        super().__init__(
            {
                CausalDepthwiseConvolution: _filter_layout,
                DilationCondition: lambda key, layer: linear(key, layer.dense),
                LearntPositionalEncoding: lambda key, layer: {key: layer.embeddings},
            }
        )

    def block(self, key, config):
        """Return a filter over time and a gated network, as a function of inputs and dilation."""
        width = config["d_model"]
        convolution = self(key, CausalDepthwiseConvolution, config["kernel_size"])
        mix = self.dense(f"{key}.pw", width)
        gated = self.gated(f"{key}.ffn", width, int(width * config["ffn_mult"]))
        return self.residual_block(key, convolution, mix, gated)


def build_network(layer, config):
    """Build the network, from a window in [0, 1] to quantiles in the same units.

    Args:
        layer: `FracastLayers` that creates the layers.
        config: Dict, the checked configuration.

    Returns:
        Functional Keras model that maps "values" and "observed", 1 for observed values, both
        `(batch, W)`, to `(batch, horizon, quantiles)`.
    """
    length, horizon, width = config["W"], config["horizon"], config["d_model"]
    exact = {"dtype": full_precision()}
    values = keras.Input((length,), name="values")
    observed = keras.Input((length,), name="observed")
    search = (config["periodic_topk"], config["periodic_min_period"], config["periodic_alpha"])
    periods = DominantPeriods(*search, **exact)(values, observed)
    phases = PhaseEncoding(length, config["periodic_harmonics"], **exact)(periods)
    fill = SeasonalFill(horizon, config["head_phase_bins"], **exact)(values, observed, periods)

    x = Recency(length)(ops.stack([values, observed], axis=-1))
    x = layer.dense("core.in_proj", width)(x) + layer.dense("core.periodic.proj", width)(phases)
    block = layer.block("core.block", config)
    condition = layer("core.scale.to_gb", DilationCondition, max(1, config["scale_cond_dim"] // 2))
    for stage in range(config["n_stages"]):
        dilation = config["dilation_base"] ** stage
        x = block(condition(x, dilation=dilation), dilation)
    x = layer.norm("core.norm")(x)

    steps = _horizon(layer, config, x) + _continuation(layer, config, x, fill)
    quantiles = layer.dense("head.out_proj", len(config["quantiles"]))(steps)
    return keras.Model([values, observed], quantiles, name="fracast")


def _horizon(layer, config, x):
    """Return features of each future step, from the mean and last step of the encoded window."""
    length, horizon, width = config["W"], config["horizon"], config["d_model"]
    summary = ops.concatenate([ops.mean(x, axis=1), x[:, -1]], axis=-1)
    x = Recency(length, start=length)(layers.RepeatVector(horizon)(summary))
    x = ops.concatenate([x[..., 2 * width :], x[..., : 2 * width]], axis=-1)
    x = layer.dense("head.summary_proj", width)(x)
    x = layer("head.queries", LearntPositionalEncoding, horizon, width)(x)
    for i in range(config["head_layers"]):
        gated = layer.gated(f"head.decoder_ffns.{i}", width, config["head_d_ff"])
        x = layer.norm(f"head.decoder_norms.{i}")(x + gated(x))
    for i in range(config["head_fc_layers"]):
        key = f"head.fc_blocks.{i}"
        convolution = layer(key, CausalDepthwiseConvolution, config["head_fc_kernel"])
        x = layer.norm(f"{key}.norm")(x + convolution(x, dilation=2**i))
    return x


def _continuation(layer, config, x, fill):
    """Return features of a second filter that continues the encoded window on the seasonal fill."""
    length, horizon, width = config["W"], config["horizon"], config["d_model"]
    future = Recency(length, start=length)(fill[..., None])
    future = layer.dense("head.future_conv.in_proj", width)(future)
    x = ops.concatenate([x[:, -config["head_future_conv_seed"] :], future], axis=1)
    block = layer.block("head.future_conv.block", config)
    for stage in range(config["head_future_conv_layers"]):
        x = block(x, config["dilation_base"] ** stage)
    return layer.dense("head.future_conv.out_proj", width)(x[:, -horizon:])


def _filter_layout(key, layer):
    return {f"{key}.dw_weight": (layer.kernel, lambda x: x[:, 0].T), f"{key}.dw_bias": layer.bias}


@serializable
class DilationCondition(keras.layers.Layer):
    """Scales and shifts each feature by amounts that depend only on a dilation.

    The amounts are a linear function of sines and cosines of the logarithm of the dilation.

    Args:
        num_frequencies: int, number of frequencies of the sines and cosines.

    Call arguments:
        inputs: `(batch, time, d_model)`.
        dilation: int, the dilation to condition on.

    Returns:
        `(batch, time, d_model)`.

    Raises:
        ValueError: If `num_frequencies` is below 1.

    Example:
        >>> from keras import ops
        >>> layer = DilationCondition(num_frequencies=4)
        >>> ops.shape(layer(ops.ones((4, 10, 16)), dilation=8))
        (4, 10, 16)

    Source: Perez et al. (2018), "FiLM", equation 1.
    """

    def __init__(self, num_frequencies, **kwargs):
        check_positive_integers(num_frequencies=num_frequencies)
        super().__init__(**kwargs)
        self.num_frequencies = num_frequencies

    def build(self, inputs_shape):
        # Zeros, so that an untrained condition is the identity.
        self.dense = keras.layers.Dense(
            2 * inputs_shape[-1], kernel_initializer="zeros", dtype=self.dtype_policy, name="dense"
        )
        self.dense.build((1, 2 * self.num_frequencies))

    def call(self, inputs, dilation=1):
        angles = np.pi * np.log2(dilation) / 2.0 ** np.arange(self.num_frequencies)
        waves = np.concatenate([np.sin(angles), np.cos(angles)])[None]
        scale, shift = ops.split(
            self.dense(ops.convert_to_tensor(waves, dtype=self.compute_dtype)), 2, axis=-1
        )
        return inputs * (1 + scale) + shift

    def compute_output_shape(self, inputs_shape):
        return inputs_shape
