"""The layers of Toto 2.0, whose unit-scaling factors are folded into their weights."""

import math

import keras
import numpy as np
from keras import layers, ops

from kerastrans.layers import GroupedQueryAttention
from kerastrans.models.parts.sublayers import swiglu
from kerastrans.models.pretrained.arrays import DECILES
from kerastrans.models.pretrained.keyed import KeyedLayers
from kerastrans.utils.precision import full_precision

# Gain of silu for a standard normal input, as `unit_scaling` estimates it.
SILU_GAIN = 2**0.2 * (2 / (1 - 1 / math.pi)) ** 0.4
RESIDUAL_WEIGHT = 0.5**0.5  # weight of either part of a residual block


class TotoStack:
    """The layers of Toto, from patches to patches of quantiles.

    Args:
        layer: Result of `toto_layers`, which creates the layers.
        config: Dict, the checked configuration.
    """

    def __init__(self, layer, config):
        width = config["d_model"]
        self.config = config
        self.embed = _residual_block(layer, "patch_proj", 4 * width, width)
        self.blocks = [_Block(layer, config, i) for i in range(config["num_layers"])]
        self.project = _residual_block(
            layer,
            "output_head.param_projection.proj",
            4 * width,
            config["patch_size"] * len(DECILES),
            dtype=full_precision(),
        )

    def __call__(self, patches, valid, count, start=0, past=None):
        """Forecast quantiles of the last patches, in scaled units.

        Args:
            patches: `(batch, variates, time, 2 * patch_size)`, values and a mask that is 1 for
                missing values.
            valid: Boolean `(batch, variates, past + time)`, False for patches without a value.
            count: int, number of last patches to forecast, each from the patch before it.
            start: int, position of the first patch.
            past: None, or the keys and values of earlier positions, one pair per block.

        Returns:
            `(batch, variates, count, patch_size, levels)`, and the keys and values of all blocks.
        """
        _, variates, time, _ = patches.shape
        x = self.embed(patches)
        rows = ops.reshape(valid, (-1, valid.shape[2]))
        columns = ops.transpose(valid[:, :, valid.shape[2] - time :], (0, 2, 1))
        columns = ops.reshape(columns, (-1, variates))
        reach = {"start": start, "center": (start + time) // 2}
        caches = []
        for i, block in enumerate(self.blocks):
            if block.over_variates:
                x = ops.reshape(ops.transpose(x, (0, 2, 1, 3)), (-1, variates, x.shape[-1]))
                x, *_ = block(x, columns)
                x = ops.reshape(x, (-1, time, variates, x.shape[-1]))
                x = ops.transpose(x, (0, 2, 1, 3))
                caches.append(None)
            else:
                x = ops.reshape(x, (-1, time, x.shape[-1]))
                x, *cache = block(x, rows, past and past[i], **reach)
                x = ops.reshape(x, (-1, variates, time, x.shape[-1]))
                caches.append(cache)
        x = _normalised(x[:, :, -(count + 1) : -1], self.config)
        x = self.project(x)
        shape = (-1, variates, count, self.config["patch_size"], len(DECILES))
        return ops.reshape(x, shape), caches


class _Block:
    """Attention over time or over variates, followed by a gated network."""

    def __init__(self, layer, config, number):
        key = f"transformer.layers.{number}"
        self.config = config
        place = number % config["layer_group_size"]
        share = config["num_variate_layers_per_group"]
        first = config["variate_layer_first"]
        self.over_variates = place < share if first else place >= config["layer_group_size"] - share
        positions = "xpos" if config["use_xpos"] else "rotary"
        self.attention = layer(
            f"{key}.attn",
            GroupedQueryAttention,
            num_heads=config["num_heads"],
            num_groups=config["num_groups"],
            key_dim=config["qk_dim"],
            value_dim=config["v_dim"],
            causal=not self.over_variates,
            positions=None if self.over_variates else positions,
            use_bias=config["attn_bias"],
        )
        bias = {"use_bias": config["mlp_bias"]}
        self.up = layer(f"{key}.ffn.fc1", layers.Dense, 2 * config["d_ff"], **bias)
        self.down = layer(f"{key}.ffn.fc2", layers.Dense, config["d_model"], **bias)
        self.add_attention = layer(f"{key}.attn_tau", WeightedResidual)
        self.add_gated = layer(f"{key}.mlp_tau", WeightedResidual)

    def __call__(self, x, groups, past=None, **reach):
        past = dict(zip(("past_keys", "past_values"), past or (), strict=False))
        attended, *cache = self.attention(_normalised(x, self.config), groups, **past, **reach)
        x = self.add_attention(attended, x)
        return self.add_gated(swiglu(_normalised(x, self.config), self.up, self.down), x), *cache


def toto_layers(config):
    """Return `KeyedLayers` whose layout multiplies the weights by the factors of unit scaling."""

    def attention(key, layer):
        layout = _dense_layout(f"{key}.in_proj", layer.in_dense)
        layout |= _dense_layout(f"{key}.out_proj", layer.out_dense)
        if config["per_dim_scale"]:
            layout[f"{key}._pds.per_dim_scale"] = (layer.query_weights, _query_weights)
        return layout

    return KeyedLayers(
        {
            layers.Dense: _dense_layout,
            GroupedQueryAttention: attention,
            WeightedResidual: lambda key, layer: {key: layer.tau},
        }
    )


def _residual_block(layer, key, hidden, units, **options):
    """Return a network with one hidden layer and a linear residual connection, as a function."""
    inner = layer(f"{key}.linear1", layers.Dense, hidden, activation="silu", **options)
    outer = layer(f"{key}.linear2", layers.Dense, units, **options)
    skip = layer(f"{key}.skip_proj", layers.Dense, units, **options)
    return lambda x: outer(inner(x)) + skip(x)


def _normalised(x, config):
    return ops.rms_normalization(x, epsilon=config["norm_eps"])


def _dense_layout(key, layer):
    """Return the layout of a linear layer, with its weights multiplied by its factor.

    The factor is one over the square root of the number of inputs, or one over that number for the
    last layers of the output head. It includes the weight of a residual block for the last layers
    of such a block.
    """
    inputs, part = layer.kernel.shape[0], key.rpartition(".")[-1]
    closes = part in ("linear2", "skip_proj")
    factor = 1 / inputs if closes and key.startswith("output_head") else inputs**-0.5
    factor *= RESIDUAL_WEIGHT if closes else 1
    gain = SILU_GAIN if part == "linear2" else 1

    def kernel(x):
        x = x.astype("float64").T * (factor * gain)
        return np.roll(x, x.shape[1] // 2, axis=1) if part == "fc1" else x  # the gate first

    layout = {f"{key}.weight": (layer.kernel, kernel)}
    if layer.use_bias:

        def bias(x):
            x = x.astype("float64") * factor
            return np.roll(x, len(x) // 2) if part == "fc1" else x

        layout[f"{key}.bias"] = (layer.bias, bias)
    return layout


def _query_weights(x):
    return np.logaddexp(0, x.astype("float64")) / math.log(2)


@keras.saving.register_keras_serializable(package="kerastrans")
class WeightedResidual(keras.layers.Layer):
    """Adds the output of a sublayer to its input, with weights whose squares add up to one.

    The weights are in the ratio `tau` to 1, so that the sum of two independent inputs of variance
    one has variance one. `tau` is a non-trainable weight.

    Call arguments:
        inputs: `(..., d_model)`, output of the sublayer.
        skip: `(..., d_model)`, input of the sublayer.

    Returns:
        `(..., d_model)`.

    Example:
        >>> from keras import ops
        >>> ops.shape(WeightedResidual()(ops.ones((4, 10, 16)), ops.ones((4, 10, 16))))
        (4, 10, 16)

    Source: Blake et al. (2024), "u-muP: the unit-scaled maximal update parametrization", section 4.
    """

    def build(self, inputs_shape, skip_shape):
        self.tau = self.add_weight(shape=(), initializer="ones", trainable=False, name="tau")

    def call(self, inputs, skip):
        return (self.tau * inputs + skip) * ops.rsqrt(1 + ops.square(self.tau))

    def compute_output_shape(self, inputs_shape, skip_shape):
        return inputs_shape
