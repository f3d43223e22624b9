"""The network of PatchTST-FM, and its layout in the published checkpoint."""

import math

import keras
from keras import layers, ops

from kerastrans.layers import CachedMultiHeadAttention, Dropout, EndPositionalEncoding
from kerastrans.layers.transformer.blocks import EPSILON, Residual
from kerastrans.models.pretrained.checkpoint import fused, linear
from kerastrans.utils.precision import full_precision

DROPOUT = 0.1  # a constant of the published code, which is not in its configuration
EXPANSION = 4  # hidden width of the feed-forward networks, in units of d_model
# The checkpoint replaces the weights, and drawing them would take longer than reading them.
ZEROS = {"kernel_initializer": "zeros"}


def build_network(config):
    """Build the network, from patches of scaled values to scaled quantiles of every patch.

    Args:
        config: Dict, see `kerastrans.models.pretrained.patchtst_fm.port.read`.

    Returns:
        Functional Keras model that maps "patches" `(batch, patches, 2 * d_patch)`, values followed
        by their mask, and "visible", a boolean `(batch, patches)`, to `(batch, patches, d_patch,
        num_quantile)`. The last patch has the last position of the trained context, regardless of
        the number of patches.
    """
    d_patch, d_model, count = (config[name] for name in ("d_patch", "d_model", "num_quantile"))
    patches = keras.Input((None, 2 * d_patch), name="patches")
    visible = keras.Input((None,), dtype="bool", name="visible")
    x = _residual_network(patches, d_model, d_model, "in_layer")
    positions = config["context_length"] // d_patch
    x = EndPositionalEncoding(positions, d_model, name="positions")(x)
    for i in range(config["n_layer"]):
        x = _block(x, visible, config, f"block_{i}")
    if config["prehead_norm"]:
        x = layers.LayerNormalization(epsilon=1e-6, name="prehead_norm")(x)
    x = _residual_network(x, d_model, d_patch * (count + 1), "out_layer", dtype=full_precision())
    x = layers.Reshape((-1, count + 1, d_patch))(x)
    # The first channel is a start, the others are positive increments: quantiles cannot cross.
    x = x[:, :, :1] + ops.cumsum(ops.softplus(x[:, :, 1:]) / count, axis=2)
    return keras.Model([patches, visible], ops.transpose(x, (0, 1, 3, 2)), name="patchtst_fm")


def _residual_network(x, hidden, units, name, **options):
    """Apply a network with one hidden layer and a linear residual connection."""
    options |= ZEROS
    y = layers.Dense(hidden, activation="sigmoid", name=f"{name}_layer1", **options)(x)
    y = layers.Dense(units, name=f"{name}_layer2", **options)(y)
    return y + layers.Dense(units, name=f"{name}_residual", **options)(x)


def _block(x, visible, config, name):
    """Apply self-attention and a feed-forward network."""
    d_model, num_heads = config["d_model"], config["n_head"]

    first, last = f"{name}_attention", f"{name}_ffn"
    norms = "pre" if config["norm_first"] else "post", "layer", EPSILON
    residual = Residual(x.shape, DROPOUT, norms, None, first)
    sizes = {"num_heads": num_heads, "key_dim": d_model // num_heads, "dropout": DROPOUT}
    attention = CachedMultiHeadAttention(**sizes, **ZEROS, name=first)
    x = residual.end(x, attention(residual.begin(x), padding_mask=visible))
    residual = Residual(x.shape, DROPOUT, norms, None, last)
    y = layers.Dense(EXPANSION * d_model, **ZEROS, name=f"{name}_expand")(residual.begin(x))
    y = Dropout(DROPOUT)(_gelu(y))
    return residual.end(x, layers.Dense(d_model, **ZEROS, name=f"{name}_contract")(y))


def _gelu(x):
    """Apply the tanh approximation of GELU, which the published weights were trained with.

    That of Keras on TensorFlow has rounded factors in float64.
    """
    return 0.5 * x * (1 + ops.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def layout(network, config):
    """Return the layout of the network in a checkpoint, see `checkpoint.assign`."""
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
        # Without `qkv_bias`, the biases keep their initial value, zero.
        found |= fused(f"{key}.attn.qkv", projections, config["qkv_bias"])
    return found


def _norm(key, layer):
    return {f"{key}.weight": layer.gamma, f"{key}.bias": layer.beta}
