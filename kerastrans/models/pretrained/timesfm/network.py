"""The network of TimesFM 2.5, and its layouts in the two kinds of published checkpoints."""

import math
from typing import NamedTuple

import keras
from keras import layers, ops

from kerastrans.layers.attention.multi_head_attention import ProjectedAttention
from kerastrans.layers.attention.rotary import rotate
from kerastrans.models.pretrained.checkpoint import fused, linear
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
    else:
        found |= fused(f"{key}.{keys.projections[0]}", projections)
    return found


LOG2_E = 1.442695041  # of the published code, rounded there: `scale` was learnt with it


@keras.saving.register_keras_serializable(package="kerastrans")
class ContinuedAttention(ProjectedAttention):
    """Causal attention with rotary positions, normalised queries and keys, and a cache.

    Queries and keys are turned by their positions, see `rotate`, and divided by the root mean
    square of each head's features. The scale of the scores is learnt, one factor per feature of a
    head. A step attends to the steps whose position is from 0 to its own, earlier ones
    and new ones: a negative position hides a step.

    Args:
        num_heads: int, number of heads.
        key_dim: int, even width of each head.
        dropout: float in [0, 1), applied to the attention weights.
        theta: float, see `rotate`.
        epsilon: float, added to the mean square of the features.
        use_bias: bool, whether the projections have biases.
        **kwargs: Other arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: `(batch, time, d_model)`, the new steps.
        positions: `(batch, time)`, positions of the new steps.
        past_positions: `(batch, past)`, positions of the earlier steps.
        past_keys: `(batch, heads, past, key_dim)`, as earlier calls returned them.
        past_values: `(batch, heads, past, key_dim)`.

    Returns:
        The attention `(batch, time, d_model)`, and the keys and values of the new steps, each
        `(batch, heads, time, key_dim)`.

    Raises:
        ValueError: If a size is below 1, or `key_dim` is odd.

    Example:
        >>> from keras import ops
        >>> layer = ContinuedAttention(num_heads=2, key_dim=4)
        >>> nothing, hidden = ops.zeros((3, 2, 1, 4)), -ops.ones((3, 1))
        >>> x, keys, values = layer(ops.ones((3, 5, 8)), ops.ones((3, 5)), hidden, nothing, nothing)
        >>> ops.shape(x), ops.shape(keys)
        ((3, 5, 8), (3, 2, 5, 4))

    Source: Das et al. (2024), "A decoder-only foundation model for time-series forecasting", in
    the version 2.5 of its authors (2025); Henry et al. (2020), "Query-key normalization for
    Transformers".
    """

    def __init__(self, *, key_dim, theta=10000.0, epsilon=1e-6, use_bias=False, **kwargs):
        super().__init__(key_dim=key_dim, use_bias=use_bias, **kwargs)
        if key_dim % 2:
            raise ValueError(f"key_dim must be even: features turn in pairs, got {key_dim}.")
        self.theta = theta
        self.epsilon = epsilon
        self.query_norm, self.key_norm = (
            keras.layers.RMSNormalization(epsilon=epsilon, dtype=self.dtype_policy, name=name)
            for name in ("query_norm", "key_norm")
        )

    def build(
        self,
        inputs_shape,
        positions_shape=None,
        past_positions_shape=None,
        past_keys_shape=None,
        past_values_shape=None,
    ):
        super().build(inputs_shape)
        head = (None, self.num_heads, None, self.key_dim)
        self.query_norm.build(head)
        self.key_norm.build(head)
        self.scale = self.add_weight((self.key_dim,), "zeros", name="scale")

    def call(self, inputs, positions, past_positions, past_keys, past_values):
        new_keys, new_values = self.project(inputs)
        new_keys = self.key_norm(rotate(new_keys, positions, self.theta))
        queries = self._heads_of(self.query_dense, inputs)
        queries = self.query_norm(rotate(queries, positions, self.theta)) * self._factors()
        keys = ops.concatenate([past_keys, new_keys], axis=2)
        values = ops.concatenate([past_values, new_values], axis=2)
        places = ops.concatenate([past_positions, positions], axis=1)[:, None]
        visible = ops.logical_and(places >= 0, places <= positions[..., None])
        weights = self.weights_dropout(self._weights(queries, keys, visible))
        return self._merge_heads(ops.matmul(weights, values)), new_keys, new_values

    def _factors(self):
        """Return the factors of the query's features; 1 / sqrt(key_dim) if `scale` is zero."""
        factors = ops.softplus(self.scale) * (LOG2_E / math.sqrt(self.key_dim))
        return ops.cast(factors, self.compute_dtype)

    def get_config(self):
        config = {**super().get_config(), "theta": self.theta, "epsilon": self.epsilon}
        del config["causal"]  # it always is
        return config
