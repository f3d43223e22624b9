"""The blocks of T5 that the Chronos models use, built from a published configuration."""

from keras import layers

from kerastrans.layers import Dropout, RelativePositionBias, UnscaledAttention
from kerastrans.models.pretrained.checkpoint import read_sizes, refuse_others
from kerastrans.utils.validation import check_dropout, check_non_negative

ACTIVATIONS = ("relu", "gelu", "silu", "tanh")
SIZES = ("d_model", "d_kv", "d_ff", "num_heads", "num_layers")
DEFAULTS = {"dropout_rate": 0.1, "layer_norm_epsilon": 1e-6}


def read_t5(config, *sizes):
    """Check the T5 part of a configuration and return it with its defaults.

    Args:
        config: Dict of `config.json`.
        *sizes: Names of additional sizes that the model requires.

    Raises:
        ValueError: If a size is missing or impossible, or a switch is not built.
    """
    refuse_others(config, is_gated_act=(False,), feed_forward_proj=ACTIVATIONS)
    activation = config.get("feed_forward_proj", "relu")
    refuse_others(config, dense_act_fn=(activation,))
    config = {**DEFAULTS, "dense_act_fn": activation, **config}
    check_dropout(config["dropout_rate"], "dropout_rate")
    check_non_negative(layer_norm_epsilon=config["layer_norm_epsilon"])
    return {**config, **read_sizes(config, *SIZES, *sizes)}


def read_t5_stacks(config):
    """Call `read_t5` for a model with an encoder, a decoder and relative positions."""
    config = {"num_decoder_layers": config.get("num_layers"), **config}
    relative = ("relative_attention_num_buckets", "relative_attention_max_distance")
    return read_t5(config, "num_decoder_layers", *relative)


def t5_stack(layer, key, x, config, num_layers, *, mask=None, memory=None, memory_mask=None):
    """Apply the encoder of T5 or, with a memory, its decoder.

    Args:
        layer: `KeyedLayers`.
        key: Key of the stack in the checkpoint.
        x: `(batch, time, d_model)`.
        config: Dict, see `read_t5`.
        num_layers: int, number of blocks.
        mask: Boolean `(batch, time)`, True = may be attended to.
        memory: None for an encoder; for a decoder the output of the encoder `(batch, key,
            d_model)`.
        memory_mask: Boolean `(batch, key)`, True = may be attended to.

    Returns:
        `(batch, time, d_model)`, normalised.

    Source: Raffel et al. (2020), section 2.1.
    """
    is_decoder = memory is not None
    dropout = config["dropout_rate"]
    sizes = {"num_heads": config["num_heads"], "key_dim": config["d_kv"], "dropout": dropout}
    x = Dropout(dropout)(x)
    bias = layer(
        f"{key}.block.0.layer.0.SelfAttention.relative_attention_bias",
        RelativePositionBias,
        config["num_heads"],
        config["relative_attention_num_buckets"],
        config["relative_attention_max_distance"],
        bidirectional=not is_decoder,
    )(x)
    for i in range(num_layers):
        part = f"{key}.block.{i}.layer"
        attention = layer(f"{part}.0.SelfAttention", UnscaledAttention, **sizes, causal=is_decoder)
        y = normalised(layer, f"{part}.0.layer_norm", x, config)
        x = x + Dropout(dropout)(attention(y, position_bias=bias, padding_mask=mask))
        if is_decoder:
            attention = layer(f"{part}.1.EncDecAttention", UnscaledAttention, **sizes)
            y = normalised(layer, f"{part}.1.layer_norm", x, config)
            x = x + Dropout(dropout)(attention(y, memory, padding_mask=memory_mask))
        last = f"{part}.{1 + is_decoder}"
        x = feed_forward(layer, last, "DenseReluDense", x, config)
    return Dropout(dropout)(normalised(layer, f"{key}.final_layer_norm", x, config))


def feed_forward(layer, key, name, x, config):
    """Apply a position-wise feed-forward network with pre-normalisation, residual and no bias."""
    y = normalised(layer, f"{key}.layer_norm", x, config)
    wide = {"activation": config["dense_act_fn"], "use_bias": False}
    y = layer(f"{key}.{name}.wi", layers.Dense, config["d_ff"], **wide)(y)
    y = Dropout(config["dropout_rate"])(y)
    y = layer(f"{key}.{name}.wo", layers.Dense, config["d_model"], use_bias=False)(y)
    return x + Dropout(config["dropout_rate"])(y)


def normalised(layer, key, x, config):
    """Apply the normalisation of T5, which divides by the root mean square of the features."""
    epsilon = config["layer_norm_epsilon"]
    return layer(key, layers.RMSNormalization, epsilon=epsilon)(x)


def residual_block(layer, key, x, units, config, **options):
    """Apply a network with one hidden layer and a linear residual connection: `(..., units)`.

    Args:
        layer: `KeyedLayers`.
        key: Key of the block in the checkpoint.
        x: `(..., features)`.
        units: int, width of the result.
        config: Dict, see `read_t5`.
        **options: Additional arguments of the `keras.layers.Dense` layers.

    Source: Das et al. (2023), TiDE, figure 1, without its normalisation.
    """
    activation = config["dense_act_fn"]
    hidden = layer(
        f"{key}.hidden_layer", layers.Dense, config["d_ff"], activation=activation, **options
    )(x)
    y = layer(f"{key}.output_layer", layers.Dense, units, **options)(hidden)
    y = Dropout(config["dropout_rate"], dtype=options.get("dtype"))(y)
    return y + layer(f"{key}.residual_layer", layers.Dense, units, **options)(x)
