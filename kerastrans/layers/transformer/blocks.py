"""The block of the Transformer: figure 1 of Vaswani et al. (2017), from bottom to top.

`transformer_encoder` and `transformer_decoder` add a block to a functional model, which can be
decoded step by step with a key/value cache, see `kerastrans.generate`. The layers
`TransformerEncoder` and `TransformerDecoder` hold the same block.
"""

from typing import Any

import keras

from kerastrans.layers.attention.cached_attention import CachedMultiHeadAttention
from kerastrans.layers.dropout import Dropout
from kerastrans.layers.initializers import fresh
from kerastrans.layers.masks import given_masks
from kerastrans.layers.normalization.observed_normalization import BatchNormalization
from kerastrans.utils.types import Tensor
from kerastrans.utils.validation import check_block

EPSILON = 1e-6  # epsilon of the layer normalisations, as in the lesson


def transformer_encoder(
    inputs: Tensor,
    num_heads: int,
    key_dim: int,
    ff_dim: int,
    dropout: float = 0.1,
    *,
    norm: str = "pre",
    normalization: str = "layer",
    activation: str = "relu",
    attention_dropout: float | None = None,
    kernel_initializer: Any = "glorot_uniform",
    layer_norm_epsilon: float = EPSILON,
    padding_mask: Tensor | None = None,
    attention_mask: Tensor | None = None,
    self_attention: Any = None,
    name: str | None = None,
) -> Tensor:
    """Add an encoder block: self-attention and a position-wise feed-forward network.

    Every call creates new layers: called on arrays instead of KerasTensors, two calls have
    different weights. Implicit masks of the inputs, such as those of
    `keras.layers.Embedding(mask_zero=True)`, hide steps in addition to `padding_mask`.

    Args:
        inputs: `(batch, time, d_model)`.
        num_heads: int, number of attention heads.
        key_dim: int, width of each head.
        ff_dim: int, width of the feed-forward network's hidden layer.
        dropout: float in [0, 1), applied to the attention weights, in the feed-forward network and
            to both results before they are added.
        norm: "pre" normalises the input of each sublayer (Xiong et al., 2020), "post" its output
            (Vaswani et al., 2017).
        normalization: "layer" or "batch", see `Residual`.
        activation: Activation of the feed-forward network, as in `keras.layers.Dense`.
        attention_dropout: float in [0, 1), dropout of the attention weights; `dropout` by default.
        kernel_initializer: Initializer of all projections: a name, or a class such as
            `FanInUniform`, so that each projection has its own instance.
        layer_norm_epsilon: float, added to the variance in layer normalisation.
        padding_mask: Boolean `(batch, time)`, True for steps that are not padding; see
            `kerastrans.create_padding_mask`.
        attention_mask: Boolean, broadcastable to `(batch, time, time)`, True = may be attended to.
        self_attention: Layer or function from a tensor to a tensor of the same shape, used instead
            of multi-head attention.
        name: Prefix of the layers' names.

    Returns:
        `(batch, time, d_model)`.

    Raises:
        ValueError: If a size is below 1.
        ValueError: If `dropout` is outside [0, 1).
        ValueError: If `norm` or `normalization` is unknown.
        ValueError: If `inputs` are not `(batch, time, d_model)`, or have one feature, which layer
            normalisation replaces by a constant.
        ValueError: If a mask is not boolean, or has another number of steps.
        ValueError: If a mask and `self_attention`, which would ignore it, are both given.

    Example:
        >>> import keras
        >>> transformer_encoder(keras.Input((10, 16)), num_heads=2, key_dim=8, ff_dim=32).shape
        (None, 10, 16)

    Source: Vaswani et al. (2017), figure 1, left.
    """
    masks = given_masks(padding_mask, attention_mask)
    if self_attention is not None and masks:
        raise ValueError(f"{min(masks)} is for multi-head attention: leave self_attention out.")
    check_width(inputs.shape, normalization)
    sizes, norms = (num_heads, key_dim, ff_dim, dropout), (norm, normalization, layer_norm_epsilon)
    options = {"activation": activation, "kernel_initializer": kernel_initializer, "name": name}
    options |= {"attention_dropout": attention_dropout, "self_attention": self_attention}
    block = Block(inputs.shape, None, *sizes, norms, **options)
    return block(inputs, self_masks=masks)


def transformer_decoder(
    inputs: Tensor,
    encoder_output: Tensor | None = None,
    num_heads: int | None = None,
    key_dim: int | None = None,
    ff_dim: int | None = None,
    dropout: float = 0.1,
    *,
    norm: str = "pre",
    activation: str = "relu",
    kernel_initializer: Any = "glorot_uniform",
    layer_norm_epsilon: float = EPSILON,
    padding_mask: Tensor | None = None,
    attention_mask: Tensor | None = None,
    encoder_padding_mask: Tensor | None = None,
    encoder_attention_mask: Tensor | None = None,
    name: str | None = None,
) -> Tensor:
    """Add a decoder block: causal self-attention, cross-attention, feed-forward network.

    Position t sees positions 0..t of `inputs` and the whole `encoder_output`. Without encoder
    output it is the block of a decoder-only model: causal self-attention and feed-forward network.
    As for `transformer_encoder`, every call creates new layers, and implicit masks of `inputs` and
    `encoder_output` are used.

    Args:
        inputs: `(batch, time, d_model)`.
        encoder_output: `(batch, encoder_time, encoder_width)`, or None for no cross-attention.
        num_heads: int, number of attention heads.
        key_dim: int, width of each head.
        ff_dim: int, width of the feed-forward network's hidden layer.
        dropout: float in [0, 1), as in `transformer_encoder`.
        norm: "pre" or "post", as in `transformer_encoder`.
        activation: Activation of the feed-forward network, as in `keras.layers.Dense`.
        kernel_initializer: Initializer of all projections, as in `transformer_encoder`.
        layer_norm_epsilon: float, added to the variance in layer normalisation.
        padding_mask: Boolean `(batch, time)`, True for steps of `inputs` that are not padding.
        attention_mask: Boolean, broadcastable to `(batch, time, time)`, True = may be attended to.
        encoder_padding_mask: Boolean `(batch, encoder_time)`, the same for `encoder_output`.
        encoder_attention_mask: Boolean, broadcastable to `(batch, time, encoder_time)`.
        name: Prefix of the layers' names.

    Returns:
        `(batch, time, d_model)`.

    Raises:
        ValueError: If a size is below 1.
        ValueError: If `dropout` is outside [0, 1).
        ValueError: If `norm` is unknown.
        ValueError: If `inputs` or `encoder_output` are not `(batch, time, width)`, or `inputs` have
            one feature, which layer normalisation replaces by a constant.
        ValueError: If a mask is not boolean, or has another number of steps.
        ValueError: If a mask of the encoder is given without `encoder_output`.

    Example:
        >>> import keras
        >>> inputs, memory = keras.Input((None, 16)), keras.Input((10, 16))
        >>> transformer_decoder(inputs, memory, num_heads=2, key_dim=8, ff_dim=32).shape
        (None, None, 16)

    Source: Vaswani et al. (2017), figure 1, right.
    """
    masks = given_masks(padding_mask, attention_mask)
    cross_masks = given_masks(encoder_padding_mask, encoder_attention_mask)
    if encoder_output is None and cross_masks:
        raise ValueError(f"encoder_{min(cross_masks)} requires encoder_output, got None.")
    check_width(inputs.shape)
    sizes, norms = (num_heads, key_dim, ff_dim, dropout), (norm, "layer", layer_norm_epsilon)
    options = {"activation": activation, "kernel_initializer": kernel_initializer, "name": name}
    encoder_shape = None if encoder_output is None else encoder_output.shape
    block = Block(inputs.shape, encoder_shape, *sizes, norms, causal=True, **options)
    return block(inputs, encoder_output, self_masks=masks, cross_masks=cross_masks)


class Block:
    """Self-attention, cross-attention if there is an encoder, and a feed-forward network.

    The object creates and builds the layers of a block, and calls them in the order of the figure.
    It is not a layer itself, so that a functional model shows every layer.

    Args:
        shape: Shape of the inputs, `(batch, time, d_model)`.
        encoder_shape: Shape of the encoder's output, `(batch, encoder_time, encoder_width)`; None
            for no cross-attention.
        num_heads: int, number of attention heads.
        key_dim: int, width of each head.
        ff_dim: int, width of the feed-forward network's hidden layer.
        dropout: float in [0, 1).
        norms: Tuple `(norm, normalization, epsilon)`, see `Residual`.
        attention_dropout: float in [0, 1), dropout of the attention weights; `dropout` by default.
        causal: bool, whether position t sees only positions 0..t of the inputs.
        activation: Activation of the feed-forward network.
        self_attention: Layer or function used instead of multi-head self-attention.
        name: Prefix of the layers' names.
        **options: `dtype` of all layers, and initializers of all projections, by Keras's names.
    """

    def __init__(
        self,
        shape,
        encoder_shape,
        num_heads,
        key_dim,
        ff_dim,
        dropout,
        norms,
        *,
        attention_dropout=None,
        causal=False,
        activation="relu",
        self_attention=None,
        name=None,
        **options,
    ):
        check_block(shape, encoder_shape, ff_dim, dropout, *norms[:2])
        first, second = (prefix_name(name, f"{kind}_attention") for kind in ("self", "cross"))
        dtype = options.get("dtype")
        rate = dropout if attention_dropout is None else attention_dropout
        attention = {"num_heads": num_heads, "key_dim": key_dim, "dropout": rate, **options}

        if self_attention is None:
            self_attention = CachedMultiHeadAttention(causal=causal, **attention, name=first)
            self_attention.build(shape)
        self.self_attention = self_attention
        self.self_residual = Residual(shape, dropout, norms, dtype, first)
        self.layers = [self.self_attention, *self.self_residual.layers]

        self.cross_attention = None
        if encoder_shape is not None:
            self.cross_attention = CachedMultiHeadAttention(**attention, name=second)
            self.cross_attention.build(shape, encoder_shape)
            self.cross_residual = Residual(shape, dropout, norms, dtype, second)
            self.layers += [self.cross_attention, *self.cross_residual.layers]

        ffn = f"{name or 'block_' + str(keras.backend.get_uid('block'))}_ffn"
        self.expand = keras.layers.Dense(ff_dim, activation, name=f"{ffn}_expand", **fresh(options))
        self.inner_dropout = Dropout(dropout, name=f"{ffn}_inner_dropout", dtype=dtype)
        self.contract = keras.layers.Dense(shape[-1], name=f"{ffn}_contract", **fresh(options))
        self.expand.build(shape)
        self.contract.build((*shape[:-1], ff_dim))
        self.ffn_residual = Residual(shape, dropout, norms, dtype, prefix_name(name, "ffn"))
        self.layers += [self.expand, self.inner_dropout, self.contract, *self.ffn_residual.layers]

    def __call__(self, x, encoder_output=None, *, self_masks=None, cross_masks=None):
        """Return the output of the block, `(batch, time, d_model)`.

        Args:
            x: `(batch, time, d_model)`.
            encoder_output: `(batch, encoder_time, encoder_width)`.
            self_masks: Dict of masks of the self-attention, by the names of its arguments.
            cross_masks: Dict of masks of the attention to the encoder's output.
        """
        y = self.self_residual.begin(x)  # (batch, time, d_model), as all below
        y = self.self_attention(y, **(self_masks or {}))
        x = self.self_residual.end(x, y)

        if self.cross_attention is not None:
            y = self.cross_residual.begin(x)
            y = self.cross_attention(y, encoder_output, **(cross_masks or {}))
            x = self.cross_residual.end(x, y)

        y = self.ffn_residual.begin(x)
        y = self.expand(y)  # (batch, time, ff_dim)
        y = self.contract(self.inner_dropout(y))
        return self.ffn_residual.end(x, y)


class Residual:
    """Normalisation, dropout and the residual connection around a sublayer.

    Args:
        shape: Shape of the inputs, `(batch, time, d_model)`.
        dropout: float in [0, 1), applied to the result of the sublayer.
        norms: Tuple `(norm, normalization, epsilon)`. `norm` is "pre" to normalise the input of the
            sublayer, "post" for the sum. `normalization` is "layer" for each position separately,
            or "batch" for each feature over all positions of the batch (Zerveas et al., 2021).
            `epsilon` is a float, which layer normalisation adds to the variance.
        dtype: Data type or policy of the layers.
        name: Prefix of the layers' names.
    """

    def __init__(self, shape, dropout, norms, dtype, name):
        self.norm, normalization, epsilon = norms
        options = {"dtype": dtype, "name": prefix_name(name, "norm")}
        if normalization == "layer":
            self.normalise = keras.layers.LayerNormalization(epsilon=epsilon, **options)
        else:
            self.normalise = BatchNormalization(momentum=0.9, epsilon=1e-5, **options)
        self.add = keras.layers.Add(dtype=dtype, name=prefix_name(name, "add"))
        self.dropout = Dropout(dropout, dtype=dtype, name=prefix_name(name, "dropout"))
        self.layers = [self.normalise, self.add, self.dropout]
        self.normalise.build(shape)
        self.add.build([shape, shape])

    def begin(self, x):
        """Return the input of the sublayer."""
        return self.normalise(x) if self.norm == "pre" else x

    def end(self, x, y):
        """Return the sum of `x` and the result `y` of the sublayer."""
        x = self.add([x, self.dropout(y)])
        return self.normalise(x) if self.norm == "post" else x


def check_width(shape, normalization="layer"):
    """Raise ValueError for inputs of one feature, which layer normalisation makes constant."""
    if normalization == "layer" and shape[-1] == 1:
        raise ValueError(
            f"the inputs {tuple(shape)} have one feature, which layer normalisation replaces by a "
            "constant: project the series first, keras.layers.Dense(d_model)."
        )


def prefix_name(prefix, name):
    """Return the name of a layer with a prefix; None without a prefix."""
    return prefix and f"{prefix}_{name}"
