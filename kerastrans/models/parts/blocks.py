"""The blocks of the Transformer, functions of KerasTensors for any functional model.

Models made of these blocks can be decoded step by step with a key/value cache, see
`kerastrans.generate`. `kerastrans.layers.TransformerEncoder` and `TransformerDecoder` are the same
blocks as single layers, with the arguments of KerasHub's.
"""

from typing import Any

from kerastrans.layers.transformer.block import Block
from kerastrans.layers.transformer.sublayers import EPSILON, check_width
from kerastrans.utils.types import Tensor


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
        normalization: "layer" or "batch", see `add_norm`.
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
    masks = {"padding_mask": padding_mask, "attention_mask": attention_mask}
    masks = {key: mask for key, mask in masks.items() if mask is not None}
    if self_attention is not None and masks:
        raise ValueError(f"{min(masks)} is for multi-head attention: leave self_attention out.")
    check_width(inputs.shape, normalization)
    block = Block(
        inputs.shape,
        num_heads=num_heads,
        key_dim=key_dim,
        ff_dim=ff_dim,
        dropout=dropout,
        norm=norm,
        normalization=normalization,
        epsilon=layer_norm_epsilon,
        activation=activation,
        attention_dropout=attention_dropout,
        kernel_initializer=kernel_initializer,
        self_attention=self_attention,
        name=name,
    )
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
    cross_masks = {"padding_mask": encoder_padding_mask, "attention_mask": encoder_attention_mask}
    cross_masks = {key: mask for key, mask in cross_masks.items() if mask is not None}
    if encoder_output is None and cross_masks:
        raise ValueError(f"encoder_{min(cross_masks)} requires encoder_output, got None.")
    masks = {"padding_mask": padding_mask, "attention_mask": attention_mask}
    check_width(inputs.shape)
    block = Block(
        inputs.shape,
        None if encoder_output is None else encoder_output.shape,
        num_heads=num_heads,
        key_dim=key_dim,
        ff_dim=ff_dim,
        dropout=dropout,
        causal=True,
        norm=norm,
        epsilon=layer_norm_epsilon,
        activation=activation,
        kernel_initializer=kernel_initializer,
        name=name,
    )
    masks = {key: mask for key, mask in masks.items() if mask is not None}
    return block(inputs, encoder_output, self_masks=masks, cross_masks=cross_masks)
