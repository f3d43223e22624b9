"""The blocks of T5, of which the Chronos models are made, from their published configuration."""

from keras import layers

from kerastrans.layers import Dropout, RelativePositionBias, UnscaledAttention
from kerastrans.models.pretrained.checkpoint import read_sizes, refuse_others
from kerastrans.utils.validation import check_dropout, check_non_negative

ACTIVATIONS = ("relu", "gelu", "silu", "tanh")
SIZES = ("d_model", "d_kv", "d_ff", "num_heads", "num_layers")
DEFAULTS = {"dropout_rate": 0.1, "layer_norm_epsilon": 1e-6}


def read_t5(config, *sizes):
    """What the blocks read of a configuration, checked and with its defaults.

    Args:
        config: dict of `config.json`.
        *sizes: names of more sizes than all models have.

    Raises:
        ValueError: A size is missing or impossible, or a switch is not built.
    """
    refuse_others(config, is_gated_act=(False,), feed_forward_proj=ACTIVATIONS)
    activation = config.get("feed_forward_proj", "relu")
    refuse_others(config, dense_act_fn=(activation,))
    config = {**DEFAULTS, "dense_act_fn": activation, **config}
    check_dropout(config["dropout_rate"], "dropout_rate")
    check_non_negative(layer_norm_epsilon=config["layer_norm_epsilon"])
    return {**config, **read_sizes(config, *SIZES, *sizes)}


def read_t5_stacks(config):
    """As `read_t5`, for an encoder and a decoder with relative positions."""
    config = {"num_decoder_layers": config.get("num_layers"), **config}
    relative = ("relative_attention_num_buckets", "relative_attention_max_distance")
    return read_t5(config, "num_decoder_layers", *relative)


def t5_stack(layer, key, x, config, num_layers, *, mask=None, memory=None, memory_mask=None):
    """T5's encoder or, with a memory, its decoder.

    Args:
        layer: `KeyedLayers`.
        key: str, the stack's place in the checkpoint.
        x: `(batch, time, d_model)`.
        config: dict, see `read_t5`.
        num_layers: int, blocks.
        mask: boolean `(batch, time)`, True = may be attended to.
        memory: None for an encoder; of a decoder, the encoder's `(batch, key, d_model)`.
        memory_mask: boolean `(batch, key)`.

    Returns:
        `(batch, time, d_model)`, normalised.

    Source: Raffel et al. (2020), section 2.1.
    """
    is_decoder = memory is not None
    dropout = config["dropout_rate"]
    sizes = (config["num_heads"], config["d_kv"], dropout)
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
        attention = layer(f"{part}.0.SelfAttention", UnscaledAttention, *sizes, causal=is_decoder)
        y = normalised(layer, f"{part}.0.layer_norm", x, config)
        x = x + Dropout(dropout)(attention(y, position_bias=bias, padding_mask=mask))
        if is_decoder:
            attention = layer(f"{part}.1.EncDecAttention", UnscaledAttention, *sizes)
            y = normalised(layer, f"{part}.1.layer_norm", x, config)
            x = x + Dropout(dropout)(attention(y, memory, padding_mask=memory_mask))
        last = f"{part}.{1 + is_decoder}"
        x = feed_forward(layer, last, "DenseReluDense", x, config)
    return Dropout(dropout)(normalised(layer, f"{key}.final_layer_norm", x, config))


def feed_forward(layer, key, name, x, config):
    """A position-wise feed-forward network without biases, normalised first, added to its input."""
    y = normalised(layer, f"{key}.layer_norm", x, config)
    wide = {"activation": config["dense_act_fn"], "use_bias": False}
    y = layer(f"{key}.{name}.wi", layers.Dense, config["d_ff"], **wide)(y)
    y = Dropout(config["dropout_rate"])(y)
    y = layer(f"{key}.{name}.wo", layers.Dense, config["d_model"], use_bias=False)(y)
    return x + Dropout(config["dropout_rate"])(y)


def normalised(layer, key, x, config):
    """T5's normalisation: by the root mean square of the features alone."""
    epsilon = config["layer_norm_epsilon"]
    return layer(key, layers.RMSNormalization, epsilon=epsilon)(x)


def residual_block(layer, key, x, units, config, **options):
    """A network of one hidden layer with a linear way past it, `(..., units)`.

    Args:
        layer: `KeyedLayers`.
        key: str, the block's place in the checkpoint.
        x: `(..., features)`.
        units: int, width of the result.
        config: dict, see `read_t5`.
        **options: more arguments of the `keras.layers.Dense`.

    Source: Das et al. (2023), TiDE, figure 1, without its normalisation.
    """
    activation = config["dense_act_fn"]
    hidden = layer(
        f"{key}.hidden_layer", layers.Dense, config["d_ff"], activation=activation, **options
    )(x)
    y = layer(f"{key}.output_layer", layers.Dense, units, **options)(hidden)
    y = Dropout(config["dropout_rate"], dtype=options.get("dtype"))(y)
    return y + layer(f"{key}.residual_layer", layers.Dense, units, **options)(x)
