"""PatchTST-FM: a Transformer that fills the masked patches at the end of a window (IBM, 2026)."""

import math

import keras
import numpy as np
from keras import layers, ops

from kerastrans.layers import (
    CachedMultiHeadAttention,
    Dropout,
    EndPositionalEncoding,
    PaddedNormalization,
)
from kerastrans.models.pretrained.base import PretrainedModel
from kerastrans.models.pretrained.checkpoint import assign, linear, read_sizes, refuse_others
from kerastrans.models.pretrained.scaling import (
    arcsinh,
    few_patches,
    padded_to_patches,
    rescaled,
    sinh,
)
from kerastrans.models.sublayers import add_norm
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_divides, check_levels

ARCHITECTURE = "PatchTSTFMForPrediction"
SIZES = ("context_length", "prediction_length", "d_patch", "d_model", "n_head", "n_layer")
SIZES += ("num_quantile", "pretrain_mask_cont")
DROPOUT = 0.1  # of the published code, not of its configuration
WIDENING = 4  # of the feed-forward networks
ZEROS = {"kernel_initializer": "zeros"}  # to draw what is replaced takes longer than to read it
SMALLEST = 1e-5  # deviations up to it are not divided by
HIDDEN_SHARE = 0.9  # of a patch: with more padding the whole patch is padding


def reads(config):
    """Whether a configuration is one of PatchTST-FM."""
    return ARCHITECTURE in (config.get("architectures") or ())


def load(config, tensors):
    """The model of a published checkpoint, see `kerastrans.models.pretrained.load`."""
    config = read(config)
    network = build_network(config)
    assign(tensors, layout(network, config), ignored=("backbone.patch_loss_window",))
    return PatchTSTFM(network, config)


def read(config):
    """A configuration, checked and with its defaults.

    Raises:
        ValueError: A size that is missing or impossible, or a switch that is not built.
    """
    sizes = read_sizes(config, *SIZES)
    refuse_others(config, block_type=("transformer",), mlp_type=("mlp",))
    refuse_others(config, patch_stride=(None, sizes["d_patch"]))
    switches = {"norm_first": True, "qkv_bias": True, "prehead_norm": False, "randomize_cpm": False}
    for name in switches:
        refuse_others(config, **{name: (switches[name], not switches[name])})
    check_divides(d_patch=sizes["d_patch"], context_length=sizes["context_length"])
    check_divides(n_head=sizes["n_head"], d_model=sizes["d_model"])
    levels = check_levels(config.get("quantile_levels") or default_levels(sizes["num_quantile"]))
    if len(levels) != sizes["num_quantile"]:
        raise ValueError(
            f"num_quantile is {sizes['num_quantile']}, but there are {len(levels)} quantile_levels."
        )
    return {**switches, **config, "quantile_levels": levels}


def default_levels(count):
    """The levels of the published code, which puts some counts on a coarser grid."""
    if count % 9 == 0:
        return [i / (count + 1) for i in range(1, count + 1)]
    return [0.01, *(i / (count - 1) for i in range(1, count - 1)), 0.99]


def build_network(config):
    """From patches of scaled values, each before its mask, to scaled quantiles of every patch.

    Args:
        config: dict, see `read`.

    Returns:
        Functional Keras model of "patches" `(batch, patches, 2 * d_patch)` and "visible", a boolean
        `(batch, patches)`, to `(batch, patches, d_patch, num_quantile)`. The last patch is at the
        end of the context that was trained, however many there are.
    """
    d_patch, d_model, count = (config[name] for name in ("d_patch", "d_model", "num_quantile"))
    patches = keras.Input((None, 2 * d_patch), name="patches")
    visible = keras.Input((None,), dtype="bool", name="visible")
    x = _bypassed(patches, d_model, d_model, "in_layer")
    positions = config["context_length"] // d_patch
    x = EndPositionalEncoding(positions, d_model, name="positions")(x)
    for i in range(config["n_layer"]):
        x = _block(x, visible, config, f"block_{i}")
    if config["prehead_norm"]:
        x = layers.LayerNormalization(epsilon=1e-6, name="prehead_norm")(x)
    x = _bypassed(x, d_model, d_patch * (count + 1), "out_layer", dtype=full_precision())
    x = layers.Reshape((-1, count + 1, d_patch))(x)
    # Where they begin, and the distances from each to the next.
    x = x[:, :, :1] + ops.cumsum(ops.softplus(x[:, :, 1:]) / count, axis=2)
    return keras.Model([patches, visible], ops.transpose(x, (0, 1, 3, 2)), name="patchtst_fm")


def _bypassed(x, hidden, units, name, **options):
    """A network of one hidden layer with a linear way past it."""
    options |= ZEROS
    y = layers.Dense(hidden, activation="sigmoid", name=f"{name}_layer1", **options)(x)
    y = layers.Dense(units, name=f"{name}_layer2", **options)(y)
    return y + layers.Dense(units, name=f"{name}_residual", **options)(x)


def _block(x, visible, config, name):
    d_model, num_heads = config["d_model"], config["n_head"]

    def attention(x):
        layer = CachedMultiHeadAttention(
            num_heads, d_model // num_heads, DROPOUT, **ZEROS, name=f"{name}_attention"
        )
        return layer(x, padding_mask=visible)

    def feed_forward(x):
        x = layers.Dense(WIDENING * d_model, **ZEROS, name=f"{name}_expand")(x)
        x = Dropout(DROPOUT)(_gelu(x))
        return layers.Dense(d_model, **ZEROS, name=f"{name}_contract")(x)

    norm = "pre" if config["norm_first"] else "post"
    x = add_norm(x, attention, DROPOUT, norm=norm, name=f"{name}_attention")
    return add_norm(x, feed_forward, DROPOUT, norm=norm, name=f"{name}_ffn")


def _gelu(x):
    """By tanh, as it was trained; that of Keras on TensorFlow has rounded factors in float64."""
    return 0.5 * x * (1 + ops.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def layout(network, config):
    """Where the network's weights are in a checkpoint, as `checkpoint.assign` takes it."""
    layer = network.get_layer
    found = {"backbone.pos_embed.embedding.weight": layer("positions").embeddings}
    for part in ("in_layer", "out_layer"):
        for name in ("layer1", "layer2", "residual"):
            found |= linear(f"backbone.{part}.{name}", layer(f"{part}_{name}"))
    if config["prehead_norm"]:
        found |= _norm("backbone.prehead_norm", layer("prehead_norm"))
    for i in range(config["n_layer"]):
        key, name = f"backbone.blocks.{i}", f"block_{i}"
        attention = layer(f"{name}_attention")
        found |= linear(f"{key}.attn.proj", attention.output_dense)
        found |= linear(f"{key}.mlp.layers.0", layer(f"{name}_expand"))
        found |= linear(f"{key}.mlp.layers.4", layer(f"{name}_contract"))
        found |= _norm(f"{key}.norm1", layer(f"{name}_attention_norm"))
        found |= _norm(f"{key}.norm2", layer(f"{name}_ffn_norm"))
        projections = (attention.query_dense, attention.key_dense, attention.value_dense)
        width = config["d_model"]
        rows = [slice(width), slice(width, 2 * width), slice(2 * width, None)]
        parts = list(zip(projections, rows, strict=True))
        found[f"{key}.attn.qkv.weight"] = [
            (dense.kernel, lambda fused, part=part: np.transpose(fused[part]))
            for dense, part in parts
        ]
        if config["qkv_bias"]:  # without them those of the layers are zero, as they begin
            found[f"{key}.attn.qkv.bias"] = [
                (dense.bias, lambda fused, part=part: fused[part]) for dense, part in parts
            ]
    return found


def _norm(key, layer):
    return {f"{key}.weight": layer.gamma, f"{key}.bias": layer.beta}


class PatchTSTFM(PretrainedModel):
    """PatchTST-FM with its published weights, see `PretrainedModel`.

    History and horizon together fill at most `context_length` steps: a longer forecast leaves less
    history. A window is normalised by its own observed values and its arcsinh taken; the network
    fills the masked patches at its end with quantiles that cannot cross.

    Of a window that is built in, a step that is infinite is before the start of its series: the
    network does not attend to it. A missing one, NaN, is a step of which nothing is known.

    Args:
        network: see `build_network`.
        config: dict, see `read`.

    Source: Nie et al. (2023), "A time series is worth 64 words", in the version PatchTST-FM r1 of
    the package granite-tsfm (IBM, 2026).
    """

    padding = np.inf

    def __init__(self, network, config):
        self.config = config
        masked = config["pretrain_mask_cont"] * (2 if config["randomize_cpm"] else 1)
        self.least = config["d_patch"] * max(masked, 2)  # masked at once in training
        super().__init__(network, config["quantile_levels"], config["context_length"] - 1)

    def quantiles(self, history, prediction_length):
        d_patch, context_length = self.config["d_patch"], self.config["context_length"]
        horizon = max(prediction_length, self.least)
        if horizon >= context_length:
            raise ValueError(
                f"prediction_length must be below context_length={context_length}, which history "
                f"and horizon share, and leave a step; got {prediction_length}, at least "
                f"{self.least} are forecast."
            )
        history = history[:, -(context_length - horizon) :]
        x, known, begun, location, scale = PaddedNormalization(SMALLEST)(history)
        future = [(0, 0), (0, horizon)]
        values = padded_to_patches(ops.pad(arcsinh(x), future), d_patch)
        known = padded_to_patches(ops.pad(known, future), d_patch)
        begun = ops.pad(begun, future, constant_values=1)
        share = ops.mean(padded_to_patches(begun, d_patch), axis=-1)
        tokens = ops.concatenate([values, known], axis=-1)
        x = self.network([tokens, share >= 1 - HIDDEN_SHARE])
        x = ops.reshape(x, (-1, values.shape[1] * d_patch, len(self.levels)))
        x = x[:, x.shape[1] - horizon :][:, :prediction_length]
        return rescaled(sinh(x), location, scale)

    def point(self, quantiles):
        """The mean: the quantiles' integral over their levels, constant beyond the outermost."""
        levels = np.asarray(self.levels)
        means = np.trapezoid(quantiles, levels, axis=-1)
        tails = quantiles[..., 0] * levels[0] + quantiles[..., -1] * (1 - levels[-1])
        return (means + tails).astype(quantiles.dtype)

    def padded_length(self, length):
        return few_patches(length, self.config["d_patch"], self.config["context_length"])
