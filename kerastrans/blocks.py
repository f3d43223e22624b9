"""The Transformer's blocks: KerasTensor in, KerasTensor out, for any functional model.

Models made of these blocks decode step by step from a key/value cache as they stand:
see `kerastrans.generate`.
"""

from keras import layers

from kerastrans.layers import CachedMultiHeadAttention
from kerastrans.validation import check_choice, check_dropout, check_positive_integers

EPSILON = 1e-6  # of the layer normalisations, as in the lesson


def transformer_encoder(
    inputs,
    num_heads,
    key_dim,
    ff_dim,
    dropout=0.1,
    *,
    norm="pre",
    activation="relu",
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
        activation: of the feed-forward network, as in `keras.layers.Dense`.
        padding_mask: boolean `(batch, time)`, True where there is data; see
            `kerastrans.create_padding_mask`.
        name: prefix of the layers' names.

    Returns:
        `(batch, time, d_model)`.

    Raises:
        ValueError: a size below 1, `dropout` outside [0, 1), an unknown `norm`.

    Source: Vaswani et al. (2017), figure 1, left.
    """

    def self_attention(x):
        layer = CachedMultiHeadAttention(
            num_heads, key_dim, dropout, name=_join(name, "self_attention")
        )
        return layer(x, padding_mask=padding_mask)

    def feed_forward(x):
        return position_wise_ffn(x, ff_dim, dropout, activation=activation, name=name)

    x = _sublayer(inputs, self_attention, norm, dropout, _join(name, "self_attention"))
    return _sublayer(x, feed_forward, norm, dropout, _join(name, "ffn"))


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
    padding_mask=None,
    encoder_padding_mask=None,
    name=None,
):
    """One decoder block: causal self-attention, cross-attention, feed-forward network.

    Position t sees positions 0..t of `inputs` and the whole of `encoder_output`.

    Args:
        inputs: `(batch, time, d_model)`.
        encoder_output: `(batch, encoder_time, encoder_width)`.
        num_heads, key_dim, ff_dim, dropout, norm, activation, name: as in
            `transformer_encoder`.
        padding_mask: boolean `(batch, time)`, True where `inputs` hold data.
        encoder_padding_mask: boolean `(batch, encoder_time)`, True where `encoder_output` does.

    Returns:
        `(batch, time, d_model)`.

    Raises:
        ValueError: a size below 1, `dropout` outside [0, 1), an unknown `norm`.

    Source: Vaswani et al. (2017), figure 1, right.
    """

    def self_attention(x):
        layer = CachedMultiHeadAttention(
            num_heads, key_dim, dropout, causal=True, name=_join(name, "self_attention")
        )
        return layer(x, padding_mask=padding_mask)

    def cross_attention(x):
        layer = CachedMultiHeadAttention(
            num_heads, key_dim, dropout, name=_join(name, "cross_attention")
        )
        return layer(x, encoder_output, padding_mask=encoder_padding_mask)

    def feed_forward(x):
        return position_wise_ffn(x, ff_dim, dropout, activation=activation, name=name)

    x = _sublayer(inputs, self_attention, norm, dropout, _join(name, "self_attention"))
    x = _sublayer(x, cross_attention, norm, dropout, _join(name, "cross_attention"))
    return _sublayer(x, feed_forward, norm, dropout, _join(name, "ffn"))


def position_wise_ffn(inputs, ff_dim, dropout=0.0, *, activation="relu", name=None):
    """The same two-layer network at every position: Dense, activation, dropout, Dense.

    Args:
        inputs: `(batch, time, d_model)`.
        ff_dim: int, width of the hidden layer.
        dropout: float in [0, 1), after the activation.
        activation: as in `keras.layers.Dense`.
        name: prefix of the layers' names.

    Returns:
        `(batch, time, d_model)`.

    Raises:
        ValueError: `ff_dim` below 1, `dropout` outside [0, 1).

    Source: Vaswani et al. (2017), equation 2.
    """
    check_positive_integers(ff_dim=ff_dim)
    check_dropout(dropout)
    x = layers.Dense(ff_dim, activation=activation, name=_join(name, "ffn_expand"))(inputs)
    x = layers.Dropout(dropout, name=_join(name, "ffn_inner_dropout"))(x)
    return layers.Dense(inputs.shape[-1], name=_join(name, "ffn_contract"))(x)


def _sublayer(inputs, sublayer, norm, dropout, name):
    """`sublayer` with dropout, residual connection and layer normalisation around it."""
    check_choice("norm", norm, ("pre", "post"))
    normalise = layers.LayerNormalization(epsilon=EPSILON, name=_join(name, "norm"))
    x = sublayer(normalise(inputs) if norm == "pre" else inputs)
    x = layers.Dropout(dropout, name=_join(name, "dropout"))(x)
    x = layers.Add(name=_join(name, "add"))([inputs, x])
    return normalise(x) if norm == "post" else x


def _join(prefix, name):
    return prefix and f"{prefix}_{name}"
