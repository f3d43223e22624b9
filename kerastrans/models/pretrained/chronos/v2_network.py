"""The network of Chronos-2, from patches to scaled quantiles."""

import keras
from keras import layers, ops

from kerastrans.layers import Dropout, GridAttention, LastTokens
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
from kerastrans.utils.validation import check_levels, check_positive

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
