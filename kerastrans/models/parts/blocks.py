"""The blocks of the Transformer, functions of KerasTensors for any functional model.

Models made of these blocks can be decoded step by step with a key/value cache, see
`kerastrans.generate`.
"""

import functools
from typing import Any

from kerastrans.layers import CachedMultiHeadAttention
from kerastrans.models.parts.sublayers import EPSILON, add_norm, position_wise_ffn, prefix_name
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
    epsilon: float = EPSILON,
    padding_mask: Tensor | None = None,
    self_attention: Any = None,
    name: str | None = None,
) -> Tensor:
    """Add an encoder block: self-attention and a position-wise feed-forward network.

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
        epsilon: float, number that layer normalisation adds to the variance.
        padding_mask: Boolean `(batch, time)`, True for steps that are not padding; see
            `kerastrans.create_padding_mask`.
        self_attention: Layer or function from a tensor to a tensor of the same shape, used instead
            of multi-head attention.
        name: Prefix of the layers' names.

    Returns:
        `(batch, time, d_model)`.

    Raises:
        ValueError: If a size is below 1.
        ValueError: If `dropout` is outside [0, 1).
        ValueError: If `norm` or `normalization` is unknown.
        ValueError: If `padding_mask` and `self_attention`, which would ignore it, are both given.

    Example:
        >>> import keras
        >>> transformer_encoder(keras.Input((10, 16)), num_heads=2, key_dim=8, ff_dim=32).shape
        (None, 10, 16)

    Source: Vaswani et al. (2017), figure 1, left.
    """
    if self_attention is not None and padding_mask is not None:
        raise ValueError("padding_mask is for multi-head attention: leave self_attention out.")

    def multi_head_attention(x):
        layer = CachedMultiHeadAttention(
            num_heads,
            key_dim,
            dropout if attention_dropout is None else attention_dropout,
            kernel_initializer=kernel_initializer,
            name=prefix_name(name, "self_attention"),
        )
        return layer(x, padding_mask=padding_mask)

    def feed_forward(x):
        return position_wise_ffn(
            x,
            ff_dim,
            dropout,
            activation=activation,
            kernel_initializer=kernel_initializer,
            name=name,
        )

    add = {"norm": norm, "normalization": normalization, "epsilon": epsilon}
    attention = self_attention or multi_head_attention
    x = add_norm(inputs, attention, dropout, **add, name=prefix_name(name, "self_attention"))
    return add_norm(x, feed_forward, dropout, **add, name=prefix_name(name, "ffn"))


def transformer_decoder(
    inputs: Tensor,
    encoder_output: Tensor | None,
    num_heads: int,
    key_dim: int,
    ff_dim: int,
    dropout: float = 0.1,
    *,
    norm: str = "pre",
    activation: str = "relu",
    kernel_initializer: Any = "glorot_uniform",
    epsilon: float = EPSILON,
    padding_mask: Tensor | None = None,
    encoder_padding_mask: Tensor | None = None,
    name: str | None = None,
) -> Tensor:
    """Add a decoder block: causal self-attention, cross-attention, feed-forward network.

    Position t sees positions 0..t of `inputs` and the whole `encoder_output`. Without encoder
    output it is the block of a decoder-only model: causal self-attention and feed-forward network.

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
        epsilon: float, number that layer normalisation adds to the variance.
        padding_mask: Boolean `(batch, time)`, True for steps of `inputs` that are not padding.
        encoder_padding_mask: Boolean `(batch, encoder_time)`, the same for `encoder_output`.
        name: Prefix of the layers' names.

    Returns:
        `(batch, time, d_model)`.

    Raises:
        ValueError: If a size is below 1.
        ValueError: If `dropout` is outside [0, 1).
        ValueError: If `norm` is unknown.
        ValueError: If `encoder_padding_mask` is given without `encoder_output`.

    Example:
        >>> import keras
        >>> inputs, memory = keras.Input((None, 16)), keras.Input((10, 16))
        >>> transformer_decoder(inputs, memory, num_heads=2, key_dim=8, ff_dim=32).shape
        (None, None, 16)

    Source: Vaswani et al. (2017), figure 1, right.
    """
    if encoder_output is None and encoder_padding_mask is not None:
        raise ValueError("encoder_padding_mask requires encoder_output, got None.")
    initial = {"kernel_initializer": kernel_initializer}
    attention = functools.partial(CachedMultiHeadAttention, num_heads, key_dim, dropout, **initial)

    def self_attention(x):
        layer = attention(causal=True, name=prefix_name(name, "self_attention"))
        return layer(x, padding_mask=padding_mask)

    def cross_attention(x):
        layer = attention(name=prefix_name(name, "cross_attention"))
        return layer(x, encoder_output, padding_mask=encoder_padding_mask)

    def feed_forward(x):
        return position_wise_ffn(x, ff_dim, dropout, activation=activation, **initial, name=name)

    def add(x, sublayer, names):
        kwargs = {"norm": norm, "epsilon": epsilon, "name": prefix_name(name, names)}
        return add_norm(x, sublayer, dropout, **kwargs)

    x = add(inputs, self_attention, "self_attention")
    if encoder_output is not None:
        x = add(x, cross_attention, "cross_attention")
    return add(x, feed_forward, "ffn")
