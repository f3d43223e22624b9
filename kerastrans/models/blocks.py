"""The Transformer's blocks: KerasTensor in, KerasTensor out, for any functional model.

Models made of these blocks decode step by step from a key/value cache as they stand:
see `kerastrans.generate`.
"""

import functools

import keras
from keras import layers

from kerastrans.layers import CachedMultiHeadAttention, Dropout
from kerastrans.utils.validation import check_choice, check_dropout, check_positive_integers

EPSILON = 1e-6  # of the layer normalisations, as in the lesson


def transformer_encoder(
    inputs,
    num_heads,
    key_dim,
    ff_dim,
    dropout=0.1,
    *,
    norm="pre",
    normalization="layer",
    activation="relu",
    attention_dropout=None,
    kernel_initializer="glorot_uniform",
    padding_mask=None,
    name=None,
):
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
        name: prefix of the layers' names.

    Returns:
        `(batch, time, d_model)`.

    Raises:
        ValueError: a size below 1.
        ValueError: `dropout` outside [0, 1).
        ValueError: an unknown `norm` or `normalization`.

    Example:
        >>> import keras
        >>> transformer_encoder(keras.Input((10, 16)), num_heads=2, key_dim=8, ff_dim=32).shape
        (None, 10, 16)

    Source: Vaswani et al. (2017), figure 1, left.
    """

    def self_attention(x):
        layer = CachedMultiHeadAttention(
            num_heads,
            key_dim,
            dropout if attention_dropout is None else attention_dropout,
            kernel_initializer=kernel_initializer,
            name=_join(name, "self_attention"),
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
    x = add_norm(inputs, self_attention, dropout, **add, name=_join(name, "self_attention"))
    return add_norm(x, feed_forward, dropout, **add, name=_join(name, "ffn"))


def transformer_decoder(
    inputs,
    encoder_output,
    num_heads,
    key_dim,
    ff_dim,
    dropout=0.1,
    *,
    norm="pre",
    activation="relu",
    kernel_initializer="glorot_uniform",
    padding_mask=None,
    encoder_padding_mask=None,
    name=None,
):
    """One decoder block: causal self-attention, cross-attention, feed-forward network.

    Position t sees positions 0..t of `inputs` and the whole of `encoder_output`.

    Args:
        inputs: `(batch, time, d_model)`.
        encoder_output: `(batch, encoder_time, encoder_width)`.
        num_heads, key_dim, ff_dim, dropout, norm, activation, kernel_initializer, name: as in
            `transformer_encoder`.
        padding_mask: boolean `(batch, time)`, True where `inputs` hold data.
        encoder_padding_mask: boolean `(batch, encoder_time)`, True where `encoder_output` does.

    Returns:
        `(batch, time, d_model)`.

    Raises:
        ValueError: a size below 1.
        ValueError: `dropout` outside [0, 1).
        ValueError: an unknown `norm`.

    Example:
        >>> import keras
        >>> inputs, memory = keras.Input((None, 16)), keras.Input((10, 16))
        >>> transformer_decoder(inputs, memory, num_heads=2, key_dim=8, ff_dim=32).shape
        (None, None, 16)

    Source: Vaswani et al. (2017), figure 1, right.
    """

    initial = {"kernel_initializer": kernel_initializer}
    attention = functools.partial(CachedMultiHeadAttention, num_heads, key_dim, dropout, **initial)

    def self_attention(x):
        layer = attention(causal=True, name=_join(name, "self_attention"))
        return layer(x, padding_mask=padding_mask)

    def cross_attention(x):
        layer = attention(name=_join(name, "cross_attention"))
        return layer(x, encoder_output, padding_mask=encoder_padding_mask)

    def feed_forward(x):
        return position_wise_ffn(x, ff_dim, dropout, activation=activation, **initial, name=name)

    x = add_norm(inputs, self_attention, dropout, norm=norm, name=_join(name, "self_attention"))
    x = add_norm(x, cross_attention, dropout, norm=norm, name=_join(name, "cross_attention"))
    return add_norm(x, feed_forward, dropout, norm=norm, name=_join(name, "ffn"))


def position_wise_ffn(
    inputs,
    ff_dim,
    dropout=0.0,
    *,
    output_dim=None,
    activation="relu",
    kernel_initializer="glorot_uniform",
    name=None,
):
    """The same two-layer network at every position: Dense, activation, dropout, Dense.

    Args:
        inputs: `(batch, time, d_model)`.
        ff_dim: int, width of the hidden layer.
        dropout: float in [0, 1), after the activation.
        output_dim: int, width of the result; that of the inputs by default.
        activation: of the hidden layer, as in `keras.layers.Dense`.
        kernel_initializer: of both layers, as in `keras.layers.Dense`.
        name: str, prefix of the layers' names.

    Returns:
        `(batch, time, output_dim)`.

    Raises:
        ValueError: `ff_dim` or `output_dim` is below 1.
        ValueError: `dropout` is outside [0, 1).

    Example:
        >>> import keras
        >>> position_wise_ffn(keras.Input((10, 8)), ff_dim=32).shape
        (None, 10, 8)

    Source: Vaswani et al. (2017), equation 2.
    """
    output_dim = inputs.shape[-1] if output_dim is None else output_dim
    check_positive_integers(ff_dim=ff_dim, output_dim=output_dim)
    check_dropout(dropout)
    name = name or f"block_{keras.backend.get_uid('block')}"
    initial = {"kernel_initializer": kernel_initializer}
    x = layers.Dense(ff_dim, activation=activation, **initial, name=f"{name}_ffn_expand")(inputs)
    x = Dropout(dropout, name=f"{name}_ffn_inner_dropout")(x)
    return layers.Dense(output_dim, **initial, name=f"{name}_ffn_contract")(x)


def add_norm(inputs, sublayer, dropout=0.0, *, norm="pre", normalization="layer", name=None):
    """`sublayer` with dropout, a residual connection and normalisation around it.

    Args:
        inputs: `(batch, time, d_model)`.
        sublayer: from a tensor to a tensor of the same shape: a function, or a layer.
        dropout: float in [0, 1), on the sublayer's result.
        norm: "pre" normalises what enters the sublayer, "post" the sum.
        normalization: "layer", of each position alone, or "batch", of each feature over all
            positions of the batch (Zerveas et al., 2021).
        name: str, prefix of the layers' names.

    Returns:
        `(batch, time, d_model)`.

    Raises:
        ValueError: `norm` or `normalization` is unknown.

    Example:
        >>> import keras
        >>> add_norm(keras.Input((10, 8)), keras.layers.Dense(8), norm="post").shape
        (None, 10, 8)

    Source: Vaswani et al. (2017), section 3.1; "pre": Xiong et al. (2020).
    """
    check_choice("norm", norm, ("pre", "post"))
    check_choice("normalization", normalization, ("layer", "batch"))
    if normalization == "layer":
        normalise = layers.LayerNormalization(epsilon=EPSILON, name=_join(name, "norm"))
    else:
        normalise = layers.BatchNormalization(momentum=0.9, epsilon=1e-5, name=_join(name, "norm"))
    x = sublayer(normalise(inputs) if norm == "pre" else inputs)
    x = Dropout(dropout, name=_join(name, "dropout"))(x)
    x = layers.Add(name=_join(name, "add"))([inputs, x])
    return normalise(x) if norm == "post" else x


def close_stack(inputs, norm, *, dtype=None, name=None):
    """The end of a stack of blocks: a pre-norm stack is normalised once more after its last block.

    Source: Xiong et al. (2020), figure 1b.
    """
    if norm == "post":
        return inputs
    return layers.LayerNormalization(epsilon=EPSILON, dtype=dtype, name=_join(name, "norm"))(inputs)


def _join(prefix, name):
    return prefix and f"{prefix}_{name}"
