"""The Transformer's blocks: KerasTensor in, KerasTensor out, for any functional model.

Models made of these blocks decode step by step from a key/value cache as they stand:
see `kerastrans.generate`.
"""

import functools
from typing import Any

from kerastrans.layers import CachedMultiHeadAttention
from kerastrans.models.parts.sublayers import add_norm, position_wise_ffn, prefix_name
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
    padding_mask: Tensor | None = None,
    self_attention: Any = None,
    name: str | None = None,
) -> Tensor:
    """One encoder block: self-attention, then a position-wise feed-forward network.

    Args:
        inputs: `(batch, time, d_model)`.
        num_heads: int, attention heads.
        key_dim: int, width of each head.
        ff_dim: int, width of the feed-forward network's hidden layer.
        dropout: float in [0, 1): on the attention weights, in the feed-forward network and on
            both results before they are added.
        norm: "pre" normalises what enters each sublayer (Xiong et al., 2020), "post" what
            leaves it (Vaswani et al., 2017).
        normalization: "layer" or "batch", see `add_norm`.
        activation: of the feed-forward network, as in `keras.layers.Dense`.
        attention_dropout: float in [0, 1), on the attention weights; as `dropout` by default.
        kernel_initializer: of all projections: a name, or a class such as `FanInUniform`, of
            which each projection has an instance.
        padding_mask: boolean `(batch, time)`, True where there is data; see
            `kerastrans.create_padding_mask`.
        self_attention: from a tensor to a tensor of the same shape, in place of multi-head
            attention: a function, or a layer.
        name: prefix of the layers' names.

    Returns:
        `(batch, time, d_model)`.

    Raises:
        ValueError: a size below 1.
        ValueError: `dropout` outside [0, 1).
        ValueError: an unknown `norm` or `normalization`.
        ValueError: a `padding_mask` beside a `self_attention`, which would not see it.

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

    add = {"norm": norm, "normalization": normalization}
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
    padding_mask: Tensor | None = None,
    encoder_padding_mask: Tensor | None = None,
    name: str | None = None,
) -> Tensor:
    """One decoder block: causal self-attention, cross-attention, feed-forward network.

    Position t sees positions 0..t of `inputs` and the whole of `encoder_output`. Without one the
    block is that of a decoder-only model: causal self-attention and the feed-forward network.

    Args:
        inputs: `(batch, time, d_model)`.
        encoder_output: `(batch, encoder_time, encoder_width)`, or None for no cross-attention.
        num_heads: int, attention heads.
        key_dim: int, width of each head.
        ff_dim: int, width of the feed-forward network's hidden layer.
        dropout: float in [0, 1), as in `transformer_encoder`.
        norm: "pre" or "post", as in `transformer_encoder`.
        activation: of the feed-forward network, as in `keras.layers.Dense`.
        kernel_initializer: of all projections, as in `transformer_encoder`.
        name: prefix of the layers' names.
        padding_mask: boolean `(batch, time)`, True where `inputs` hold data.
        encoder_padding_mask: boolean `(batch, encoder_time)`, True where `encoder_output` does.

    Returns:
        `(batch, time, d_model)`.

    Raises:
        ValueError: a size below 1.
        ValueError: `dropout` outside [0, 1).
        ValueError: an unknown `norm`.
        ValueError: `encoder_padding_mask` without `encoder_output`.

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

    x = add_norm(
        inputs, self_attention, dropout, norm=norm, name=prefix_name(name, "self_attention")
    )
    if encoder_output is not None:
        names = {"name": prefix_name(name, "cross_attention")}
        x = add_norm(x, cross_attention, dropout, norm=norm, **names)
    return add_norm(x, feed_forward, dropout, norm=norm, name=prefix_name(name, "ffn"))
