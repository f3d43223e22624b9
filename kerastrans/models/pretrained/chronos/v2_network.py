"""The network of Chronos-2, from patches to scaled quantiles."""

import keras
from keras import layers, ops

from kerastrans.layers import Dropout, UnscaledAttention
from kerastrans.layers.attention.rotary import rotate
from kerastrans.models.pretrained.arrays import DECILES
from kerastrans.models.pretrained.checkpoint import read_section, read_sizes, refuse_others
from kerastrans.models.pretrained.chronos.t5_layers import (
    feed_forward,
    normalised,
    read_t5,
    residual_block,
)
from kerastrans.models.pretrained.keyed import KeyedLayers
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_choice, check_divides, check_levels, check_positive

REG = 1  # row of the token table that separates history and future
DEFAULTS = {"max_output_patches": 1, "use_arcsinh": False}


def build_network(t5, own):
    """Build the network of a configuration and its layout.

    Args:
        t5: Dict, see `kerastrans.models.pretrained.chronos.t5_layers.read_t5`.
        own: Dict, see `read_own`.

    Returns:
        A functional Keras model and its layout, see `checkpoint.assign`. The model maps "past"
        `(batch, series, patches, 3 * patch_length)`, "observed", a boolean `(batch, series,
        patches)`, and "future" `(batch, series, future patches, 3 * patch_length)` to `(batch,
        series, future patches, quantiles * patch_length)`.
    """
    width = 3 * own["input_patch_size"]
    layer = KeyedLayers()
    past = keras.Input((None, None, width), name="past")
    observed = keras.Input((None, None), dtype="bool", name="observed")
    future = keras.Input((None, None, width), name="future")
    tokens = [
        residual_block(layer, "input_patch_embedding", patches, t5["d_model"], t5)
        for patches in (past, future)
    ]
    visible = ops.ones_like(observed[..., :1])
    token = layer("shared", layers.Embedding, 2, t5["d_model"])
    tokens.insert(1, token(REG * ops.cast(visible, "int32")))
    x = Dropout(t5["dropout_rate"])(ops.concatenate(tokens, axis=2))
    mask = ops.concatenate([observed, visible, ops.ones_like(future[..., 0], "bool")], axis=2)
    for i in range(t5["num_layers"]):
        x = _block(layer, f"encoder.block.{i}.layer", x, mask, t5)
    x = normalised(layer, "encoder.final_layer_norm", LastTokens()(x, future), t5)
    units = len(own["quantiles"]) * own["output_patch_size"]
    exact = {"dtype": full_precision()}
    x = Dropout(t5["dropout_rate"])(x)
    x = residual_block(layer, "output_patch_embedding", x, units, t5, **exact)
    return keras.Model([past, observed, future], x, name="chronos_2"), layer.layout()


def _block(layer, key, x, mask, t5):
    """Apply attention along time, attention along the series, and a feed-forward network."""
    options = {
        "num_heads": t5["num_heads"],
        "key_dim": t5["d_kv"],
        "dropout": t5["dropout_rate"],
        "theta": t5["rope_theta"],
    }
    for i, axis in enumerate(("time", "series")):
        attention = layer(f"{key}.{i}.self_attention", GridAttention, axis=axis, **options)
        y = attention(normalised(layer, f"{key}.{i}.layer_norm", x, t5), mask)
        x = x + Dropout(t5["dropout_rate"])(y)
    return feed_forward(layer, f"{key}.2", "mlp", x, t5)


def read_core(config):
    """Check the T5 part of a configuration and return it with its defaults."""
    core = {"rope_theta": 10000.0, **read_t5(config)}
    check_positive(rope_theta=core["rope_theta"])
    return core


def read_own(config):
    """Check the forecasting part of a configuration and return it with its defaults."""
    own = {**DEFAULTS, **read_section(config, "chronos_config")}
    own["time_encoding_scale"] = own.get("time_encoding_scale") or own.get("context_length")
    sizes = read_sizes(
        own, "context_length", "input_patch_size", "max_output_patches", "time_encoding_scale"
    )
    patch_length = (sizes["input_patch_size"],)
    refuse_others(own, input_patch_stride=patch_length, output_patch_size=patch_length)
    refuse_others(own, use_reg_token=(True,), use_arcsinh=(False, True))
    own["quantiles"] = check_levels(own.get("quantiles", ()))
    missing = [level for level in DECILES if level not in own["quantiles"]]
    if missing:
        raise ValueError(
            f"the configuration's quantiles lack {missing}, which long forecasts require."
        )
    return own


AXES = ("time", "series")


@keras.saving.register_keras_serializable(package="kerastrans")
class GridAttention(UnscaledAttention):
    """Self-attention of a grid of tokens along time, or at each time along the series.

    Along time the tokens of a series attend to each other, and queries and keys have rotary
    positions. Along the series tokens of the same time attend to each other, without positions:
    the order of the series does not matter.

    Args:
        num_heads: int, number of heads.
        key_dim: int, width of each head; even for attention along time.
        dropout: float in [0, 1), applied to the attention weights.
        axis: "time" or "series".
        theta: float, base of the rotary positions, see `kerastrans.layers.attention.rotary.rotate`.
        **kwargs: Other arguments of `UnscaledAttention`.

    Call arguments:
        inputs: `(batch, series, time, d_model)`.
        mask: boolean `(batch, series, time)`, True = may be attended to.

    Returns:
        `(batch, series, time, d_model)`.

    Raises:
        ValueError: If `axis` is unknown, or `key_dim` is odd for attention along time.

    Example:
        >>> from keras import ops
        >>> layer = GridAttention(num_heads=2, key_dim=8, axis="series")
        >>> ops.shape(layer(ops.ones((4, 3, 10, 16)), ops.ones((4, 3, 10), "bool")))
        (4, 3, 10, 16)

    Source: Ansari et al. (2025), "Chronos-2: From univariate to universal forecasting", section
    3.2; rotary positions: Su et al. (2021).
    """

    def __init__(self, *, key_dim, axis="time", theta=10000.0, **kwargs):
        check_choice("axis", axis, AXES)
        if axis == "time":
            check_divides(two=2, key_dim=key_dim)
        super().__init__(key_dim=key_dim, **kwargs)
        check_choice("causal", self.causal, (False,))  # the mask says what is seen
        self.axis = axis
        self.theta = theta

    def build(self, inputs_shape, mask_shape=None):
        super().build(inputs_shape)

    def call(self, inputs, mask):
        x = inputs
        if self.axis == "series":
            x, mask = ops.transpose(x, (0, 2, 1, 3)), ops.transpose(mask, (0, 2, 1))
        shape = ops.shape(x)
        rows, row_mask = ops.reshape(x, (-1, *shape[2:])), ops.reshape(mask, (-1, shape[2]))
        keys, values = self.project(rows)
        queries = self._queries(rows)
        if self.axis == "time":
            positions = ops.expand_dims(ops.arange(shape[2], dtype="int32"), 0)
            queries = rotate(queries, positions, self.theta)
            keys = rotate(keys, positions, self.theta)
        weights = self._normalise(self._scores(queries, keys), row_mask[:, None])
        x = self._merge_heads(ops.matmul(self.weights_dropout(weights), values))
        x = ops.reshape(x, (*shape[:3], x.shape[-1]))
        return ops.transpose(x, (0, 2, 1, 3)) if self.axis == "series" else x

    def compute_output_shape(self, inputs_shape, mask_shape=None):
        return self.output_shape_of(inputs_shape)

    def get_config(self):
        return {**super().get_config(), "axis": self.axis, "theta": self.theta}


@keras.saving.register_keras_serializable(package="kerastrans")
class LastTokens(keras.layers.Layer):
    """Returns as many last tokens of a sequence as another sequence has.

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: `(..., time, width)`.
        like: `(..., last, any)`; only its number of tokens is used.

    Returns:
        `(..., last, width)`.

    Example:
        >>> from keras import ops
        >>> ops.shape(LastTokens()(ops.ones((4, 10, 16)), ops.ones((4, 3, 1))))
        (4, 3, 16)
    """

    def call(self, inputs, like):
        first = ops.shape(inputs)[-2] - ops.shape(like)[-2]
        return inputs[..., first:, :]

    def compute_output_shape(self, inputs_shape, like_shape):
        return (*inputs_shape[:-2], like_shape[-2], inputs_shape[-1])
