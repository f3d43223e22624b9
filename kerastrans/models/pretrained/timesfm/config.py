"""The configurations of TimesFM 2.5, in the formats of the two packages that publish it."""

from typing import NamedTuple

from kerastrans.models.pretrained.arrays import DECILES
from kerastrans.models.pretrained.checkpoint import read_sizes, refuse_others
from kerastrans.utils.validation import check_levels

# Names of activations in the two packages, and in Keras.
ACTIVATIONS = {"swish": "silu", "silu": "silu", "relu": "relu", "gelu": "gelu", "none": "linear"}
# Values that the original package has in its code; its published configuration does not have them.
BLOCK = {"hidden_dims": 1280, "activation": "swish", "use_bias": False}
TRANSFORMER = {"model_dims": 1280, "hidden_dims": 1280, "num_heads": 16}
TRANSFORMER |= {"ff_activation": "swish", "use_bias": False}
ORIGINAL = {
    "context_limit": 16384,
    "input_patch_len": 32,
    "output_patch_len": 128,
    "output_quantile_len": 1024,
    "quantiles": DECILES,
    "decode_index": 5,
}
PARTS = {
    "stacked_transformers",
    "tokenizer",
    "output_projection_point",
    "output_projection_quantiles",
}
# All keys that a configuration of the original package can have; the package adds the last itself.
FIELDS = ORIGINAL.keys() | PARTS | {"torch_compile"}


class Block(NamedTuple):
    """Sizes of a network with one hidden layer and a linear residual connection."""

    hidden: int
    activation: str
    use_bias: bool


class Sizes(NamedTuple):
    """Sizes of the network and its forecast.

    Attributes:
        patch_length: int, number of steps in a patch of the history.
        output_length: int, number of steps that a patch forecasts.
        spread_length: int, number of steps that the quantile head forecasts.
        levels: Tuple of float, the trained quantile levels.
        median: int, channel that is the point forecast and is fed back. Channel 0 is the mean, the
            levels follow.
        d_model, num_layers, num_heads, key_dim, ff_dim: int, sizes of the Transformer.
        activation: Name of the activation of the feed-forward networks.
        use_bias: bool, whether the feed-forward networks have biases.
        attention_bias: bool, whether the projections of the attention have biases.
        dropout: float, dropout rate on the attention weights.
        theta: float, base of the rotary position encoding.
        epsilon: float, epsilon of the normalisations.
        tokenizer, point, spread: `Block`, sizes of the input network and the two output networks.
    """

    patch_length: int
    output_length: int
    spread_length: int
    levels: tuple
    median: int
    d_model: int
    num_layers: int
    num_heads: int
    key_dim: int
    ff_dim: int
    activation: str
    use_bias: bool
    attention_bias: bool
    dropout: float
    theta: float
    epsilon: float
    tokenizer: Block
    point: Block
    spread: Block


def read_original(config):
    """Read a configuration of the package `timesfm`; return its sizes and largest context.

    Missing fields have the values of the published model of 200 million parameters, whose
    configuration is part of the code of that package.

    Raises:
        ValueError: If a size is impossible, or a switch is not supported.
    """
    config = {**ORIGINAL, **config}
    stack = {"num_layers": 20, **config.get("stacked_transformers", {})}
    transformer = {**TRANSFORMER, **stack.get("transformer", {})}
    norms = dict.fromkeys(("attention_norm", "feedforward_norm", "qk_norm"), ("rms",))
    refuse_others(transformer, **norms, fuse_qkv=(True,), use_rotary_position_embeddings=(True,))
    own = read_sizes(config, "context_limit", "output_patch_len", "output_quantile_len")
    patch = read_sizes(config, "input_patch_len")["input_patch_len"]
    inner = read_sizes(transformer, "model_dims", "hidden_dims", "num_heads")
    d_model, num_heads = inner["model_dims"], inner["num_heads"]
    if d_model % num_heads:
        raise ValueError(f"num_heads must divide model_dims={d_model}, got {num_heads}.")
    levels, median = _read_levels(config)
    output, spread = own["output_patch_len"], own["output_quantile_len"]
    channels = 1 + len(levels)
    sizes = Sizes(
        patch_length=patch,
        output_length=output,
        spread_length=spread,
        levels=levels,
        median=median,
        d_model=d_model,
        num_layers=read_sizes(stack, "num_layers")["num_layers"],
        num_heads=num_heads,
        key_dim=d_model // num_heads,
        ff_dim=inner["hidden_dims"],
        activation=_activation(transformer, "ff_activation"),
        use_bias=bool(transformer["use_bias"]),
        attention_bias=False,
        dropout=0.0,
        theta=10000.0,
        epsilon=1e-6,
        tokenizer=_read_block(config, "tokenizer", 2 * patch, d_model, use_bias=True),
        point=_read_block(config, "output_projection_point", d_model, output * channels),
        spread=_read_block(config, "output_projection_quantiles", d_model, spread * channels),
    )
    return sizes, own["context_limit"]


def read_transformers(config):
    """Read a configuration of the package `transformers`; return its sizes and largest context.

    Raises:
        ValueError: If a size is missing or impossible, or a switch is not supported.
    """
    names = ("patch_length", "horizon_length", "output_quantile_len", "context_length")
    inner = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads")
    own = read_sizes(config, *names, *inner, "head_dim")
    num_heads, d_model = own["num_attention_heads"], own["hidden_size"]
    refuse_others(config, num_key_value_heads=(num_heads,))
    rotary = config.get("rope_parameters") or {}
    refuse_others(rotary, rope_type=("default",))
    levels, median = _read_levels(config)
    activation = _activation(config, "activation")
    head = Block(d_model, activation, use_bias=False)  # the package ignores `use_bias` here
    sizes = Sizes(
        patch_length=own["patch_length"],
        output_length=own["horizon_length"],
        spread_length=own["output_quantile_len"],
        levels=levels,
        median=median,
        d_model=d_model,
        num_layers=own["num_hidden_layers"],
        num_heads=num_heads,
        key_dim=own["head_dim"],
        ff_dim=own["intermediate_size"],
        activation=activation,
        use_bias=bool(config.get("use_bias", False)),
        attention_bias=bool(config.get("attention_bias", False)),
        dropout=config.get("attention_dropout", 0.0),
        theta=rotary.get("rope_theta", 10000.0),
        epsilon=config.get("rms_norm_eps", 1e-6),
        tokenizer=head._replace(use_bias=True),
        point=head,
        spread=head,
    )
    return sizes, own["context_length"]


def _read_levels(config):
    levels = check_levels(config.get("quantiles", DECILES))
    median = config.get("decode_index", 5)
    if median not in range(1, 1 + len(levels)):
        raise ValueError(
            f"decode_index must be from 1 to {len(levels)}, the number of quantiles, got {median}."
        )
    return levels, median


def _read_block(config, name, features, units, use_bias=False):
    block = {**BLOCK, "use_bias": use_bias, **config.get(name, {})}
    refuse_others(block, input_dims=(features,), output_dims=(units,))
    hidden = read_sizes(block, "hidden_dims")["hidden_dims"]
    return Block(hidden, _activation(block, "activation"), bool(block["use_bias"]))


def _activation(config, name):
    refuse_others(config, **{name: tuple(ACTIVATIONS)})
    return ACTIVATIONS[config.get(name, "swish")]
