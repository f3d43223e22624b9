"""The network of TimesFM 2.5, and its layouts in the two kinds of published checkpoints."""

from typing import NamedTuple

import keras
import numpy as np
from keras import layers, ops

from kerastrans.layers import ContinuedAttention
from kerastrans.models.pretrained.checkpoint import linear
from kerastrans.utils.precision import full_precision

# The checkpoint replaces the weights, and drawing them would take longer than reading them.
ZEROS = {"kernel_initializer": "zeros"}
NORMS = ("pre_attention", "post_attention", "pre_ffn", "post_ffn")


class Keys(NamedTuple):
    """Names of the parts of the network in a checkpoint."""

    tokenizer: str
    point: str
    spread: str
    hidden: str  # the hidden layer of each of the three above
    block: str
    norms: tuple  # within a block, in the order of `NORMS`
    norm: str  # the weight of a normalisation
    expand: str
    contract: str
    attention: str
    projections: tuple  # within the attention: one fused matrix, or one each for q, k and v
    out: str
    query_norm: str
    key_norm: str
    scale: str


ORIGINAL = Keys(
    tokenizer="tokenizer",
    point="output_projection_point",
    spread="output_projection_quantiles",
    hidden="hidden_layer",
    block="stacked_xf",
    norms=("pre_attn_ln", "post_attn_ln", "pre_ff_ln", "post_ff_ln"),
    norm="scale",
    expand="ff0",
    contract="ff1",
    attention="attn",
    projections=("qkv_proj",),
    out="out",
    query_norm="query_ln",
    key_norm="key_ln",
    scale="per_dim_scale.per_dim_scale",
)
TRANSFORMERS = Keys(
    tokenizer="model.input_ff_layer",
    point="output_projection_point",
    spread="output_projection_quantiles",
    hidden="input_layer",
    block="model.layers",
    norms=(
        "input_layernorm",
        "post_attention_layernorm",
        "pre_feedforward_layernorm",
        "post_feedforward_layernorm",
    ),
    norm="weight",
    expand="mlp.ff0",
    contract="mlp.ff1",
    attention="self_attn",
    projections=("q_proj", "k_proj", "v_proj"),
    out="o_proj",
    query_norm="q_norm",
    key_norm="k_norm",
    scale="scaling",
)


def build_network(sizes):
    """Build the network, from tokens and a cache of earlier tokens to the forecast of the last.

    Args:
        sizes: `kerastrans.models.pretrained.timesfm.config.Sizes`.

    Returns:
        Functional Keras model of "tokens" `(batch, time, 2 * patch_length)`, "positions"
        `(batch, time)`, "past_positions" `(batch, past)`, "past_keys" and "past_values"
        `(batch, num_layers, num_heads, past, key_dim)`. A negative position hides a token. The
        outputs are the forecast `(batch, output_length * channels)` and that of the quantile head
        `(batch, spread_length * channels)` from the last token, and the keys and values of all
        tokens.

    Source: the authors' package, version 2.5, which continues Das et al. (2024), figure 1.
    """
    tokens = keras.Input((None, 2 * sizes.patch_length), name="tokens")
    positions = keras.Input((None,), name="positions")
    past_positions = keras.Input((None,), name="past_positions")
    cache = (sizes.num_layers, sizes.num_heads, None, sizes.key_dim)
    past_keys, past_values = (
        keras.Input(cache, name="past_keys"),
        keras.Input(cache, name="past_values"),
    )
    x = bypassed(tokens, sizes.d_model, sizes.tokenizer, "tokenizer")
    keys, values = [], []
    for i in range(sizes.num_layers):
        past = (past_positions, past_keys[:, i], past_values[:, i])
        x, new_keys, new_values = _block(x, positions, past, sizes, f"block_{i}")
        keys.append(new_keys)
        values.append(new_values)
    last = x[:, -1]
    channels = 1 + len(sizes.levels)
    exact = full_precision()
    point = bypassed(last, sizes.output_length * channels, sizes.point, "point", exact)
    spread = bypassed(last, sizes.spread_length * channels, sizes.spread, "spread", exact)
    return keras.Model(
        [tokens, positions, past_positions, past_keys, past_values],
        [point, spread, ops.stack(keys, axis=1), ops.stack(values, axis=1)],
        name="timesfm",
    )


def bypassed(x, units, block, name, dtype=None):
    """Apply a network with one hidden layer and a linear residual connection."""
    options = {"use_bias": block.use_bias, "dtype": dtype, **ZEROS}
    hidden = layers.Dense(
        block.hidden, activation=block.activation, **options, name=f"{name}_hidden"
    )(x)
    y = layers.Dense(units, **options, name=f"{name}_output")(hidden)
    return y + layers.Dense(units, **options, name=f"{name}_residual")(x)


def _block(x, positions, past, sizes, name):
    """Apply attention and a feed-forward network, each with normalisation before and after."""
    before, after, before_ffn, after_ffn = (
        layers.RMSNormalization(epsilon=sizes.epsilon, name=f"{name}_{norm}") for norm in NORMS
    )
    attention = ContinuedAttention(
        num_heads=sizes.num_heads,
        key_dim=sizes.key_dim,
        dropout=sizes.dropout,
        theta=sizes.theta,
        epsilon=sizes.epsilon,
        use_bias=sizes.attention_bias,
        **ZEROS,
        name=f"{name}_attention",
    )
    y, keys, values = attention(before(x), positions, *past)
    x = x + after(y)
    options = {"use_bias": sizes.use_bias, **ZEROS}
    y = layers.Dense(sizes.ff_dim, activation=sizes.activation, **options, name=f"{name}_expand")(
        before_ffn(x)
    )
    y = layers.Dense(sizes.d_model, **options, name=f"{name}_contract")(y)
    return x + after_ffn(y), keys, values


def layout(network, num_layers, keys):
    """Return the layout of the network in a checkpoint, see `checkpoint.assign`."""
    found = {}
    for part in ("tokenizer", "point", "spread"):
        key = getattr(keys, part)
        found |= linear(f"{key}.{keys.hidden}", network.get_layer(f"{part}_hidden"))
        found |= linear(f"{key}.output_layer", network.get_layer(f"{part}_output"))
        found |= linear(f"{key}.residual_layer", network.get_layer(f"{part}_residual"))
    for i in range(num_layers):
        key = f"{keys.block}.{i}"
        for name, norm in zip(keys.norms, NORMS, strict=True):
            found[f"{key}.{name}.{keys.norm}"] = network.get_layer(f"block_{i}_{norm}").scale
        found |= linear(f"{key}.{keys.expand}", network.get_layer(f"block_{i}_expand"))
        found |= linear(f"{key}.{keys.contract}", network.get_layer(f"block_{i}_contract"))
        attention = network.get_layer(f"block_{i}_attention")
        found |= _attention(f"{key}.{keys.attention}", attention, keys)
    return found


def _attention(key, layer, keys):
    projections = (layer.query_dense, layer.key_dense, layer.value_dense)
    found = {
        f"{key}.{keys.query_norm}.{keys.norm}": layer.query_norm.scale,
        f"{key}.{keys.key_norm}.{keys.norm}": layer.key_norm.scale,
        f"{key}.{keys.scale}": layer.scale,
        **linear(f"{key}.{keys.out}", layer.output_dense),
    }
    if len(keys.projections) == len(projections):
        for name, dense in zip(keys.projections, projections, strict=True):
            found |= linear(f"{key}.{name}", dense)
    else:  # one fused matrix: the rows of queries, keys and values
        width = layer.num_heads * layer.key_dim
        found[f"{key}.{keys.projections[0]}.weight"] = [
            (dense.kernel, lambda fused, rows=rows: np.transpose(fused[rows]))
            for dense, rows in zip(
                projections,
                (slice(width), slice(width, 2 * width), slice(2 * width, None)),
                strict=True,
            )
        ]
    return found
