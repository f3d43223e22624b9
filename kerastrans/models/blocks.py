"""The Transformer's blocks: KerasTensor in, KerasTensor out, for any functional model.

Models made of these blocks decode step by step from a key/value cache as they stand:
see `kerastrans.generate`.
"""

import functools

import keras
from keras import layers, ops

from kerastrans.layers import (
    CachedMultiHeadAttention,
    Dropout,
    PositionalEncoding,
    SeriesDecomposition,
    ValueEmbedding,
)
from kerastrans.layers.initializers import FanInUniform
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import (
    check_at_most,
    check_choice,
    check_dropout,
    check_positive_integers,
)

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
        activation, kernel_initializer: as in `keras.layers.Dense`.
        name: prefix of the layers' names, by which `distribute` finds them; "block_1", "block_2",
            ... by default.

    Returns:
        `(batch, time, output_dim)`.

    Raises:
        ValueError: `ff_dim` or `output_dim` below 1.
        ValueError: `dropout` outside [0, 1).

    Example:
        >>> import keras
        >>> position_wise_ffn(keras.Input((10, 16)), ff_dim=64, output_dim=8).shape
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
        dropout: float in [0, 1), on what the sublayer returns.
        norm: "pre" normalises what enters the sublayer, "post" the sum.
        normalization: "layer", of each position alone, or "batch", of each feature over all
            positions of the batch (Zerveas et al., 2021).
        name: prefix of the layers' names.

    Returns:
        `(batch, time, d_model)`.

    Raises:
        ValueError: an unknown `norm` or `normalization`.

    Example:
        >>> import keras
        >>> add_norm(keras.Input((10, 16)), keras.layers.Dense(16), dropout=0.1).shape
        (None, 10, 16)

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
    """What leaves a stack of blocks: a pre-norm stack is normalised once more at its end.

    Source: Xiong et al. (2020), figure 1b.
    """
    if norm == "post":
        return inputs
    return layers.LayerNormalization(epsilon=EPSILON, dtype=dtype, name=_join(name, "norm"))(inputs)


def dense(units, **options):
    """`keras.layers.Dense` that begins as the reference code's layers do, see `FanInUniform`."""
    return layers.Dense(units, kernel_initializer=FanInUniform(), **options)


def time_dense(inputs, units, *, individual=False, **options):
    """A linear map along the time axis: `(batch, time, channels)` -> `(batch, units, channels)`.

    Args:
        inputs: `(batch, time, channels)`.
        units: int, steps put out.
        individual: bool, whether every channel has weights of its own or all share them.
        **options: more arguments of `keras.layers.EinsumDense`: activation, dtype, name ...

    Source: Zeng et al. (2023), figure 2.
    """
    equation = "btc,cth->bch" if individual else "btc,th->bch"
    shape = (inputs.shape[-1], units)  # time comes last here: LiteRT adds no bias elsewhere
    options |= {"bias_axes": "ch" if individual else "h", "kernel_initializer": FanInUniform()}
    x = layers.EinsumDense(equation, shape, **options)(inputs)
    return ops.transpose(x, (0, 2, 1))


def embed_columns(inputs, sizes):
    """Covariates as features: numbers as they are, the numbers of categories embedded.

    Args:
        inputs: `(..., columns)`.
        sizes: of each column, 0 for a number or how many categories there are.

    Returns:
        List with one tensor `(..., features)` a column.
    """
    columns = []
    for i, size in enumerate(sizes):
        column = inputs[..., i : i + 1]
        if size:
            width = min(16, 1 + size // 2)
            column = layers.Embedding(size, width)(ops.cast(column[..., 0], "int32"))
        columns.append(column)
    return columns


def concatenate(tensors, axis=-1):
    """Tensors behind each other; one alone stays as it is."""
    return layers.Concatenate(axis=axis)(tensors) if len(tensors) > 1 else tensors[0]


def fold_channels(inputs):
    """Every channel a series of its own: `(batch, time, c)` -> `(batch * c, time, 1)`."""
    length = inputs.shape[1]
    return ops.reshape(ops.transpose(inputs, (0, 2, 1)), (-1, length, 1))


def unfold_channels(inputs, num_channels):
    """What `fold_channels` folded: `(batch * c, time, 1)` -> `(batch, time, c)`."""
    length = inputs.shape[1]
    return ops.transpose(ops.reshape(inputs, (-1, num_channels, length)), (0, 2, 1))


def embed_values(inputs, d_model, dropout=0.0):
    """`ValueEmbedding` with sinusoids of the position: `(batch, time, c)` -> `(..., d_model)`.

    Source: Zhou et al. (2021), appendix B, without the embedding of the calendar.
    """
    x = PositionalEncoding(None, d_model)(ValueEmbedding(d_model)(inputs))
    return Dropout(dropout)(x)


def resolve_label_length(label_length, context_length):
    """The length of the label, half the context where None is given; ValueError past it."""
    if label_length is None:
        return max(1, context_length // 2)
    check_positive_integers(label_length=label_length)
    check_at_most(label_length=label_length, context_length=context_length)
    return label_length


def label_input(history, label_length, prediction_length):
    """Decoder input of the Informer line: the last `label_length` steps, then zeros.

    `(batch, context_length, c)` -> `(batch, label_length + prediction_length, c)`.

    Source: Zhou et al. (2021), equation 5.
    """
    return ops.pad(history[:, -label_length:], ((0, 0), (0, prediction_length), (0, 0)))


def decomposition_transformer(
    history,
    prediction_length,
    head,
    self_attention,
    cross_attention,
    *,
    label_length,
    d_model,
    ff_dim,
    num_encoder_blocks,
    num_decoder_blocks,
    moving_average,
    dropout,
):
    """Encoder-decoder whose blocks take the trend out of the sequence and carry it apart.

    Args:
        history: `(batch, context_length, c)`.
        prediction_length: int, steps put out.
        head: of `kerastrans.heads`, what is put out.
        self_attention: makes a layer that mixes the steps of a sequence.
        cross_attention: makes a layer that takes the decoder's sequence and the encoder's.
        label_length: int, known steps in front of the decoder's input.
        d_model, ff_dim, num_encoder_blocks, num_decoder_blocks, dropout: as in
            `build_autoformer_model`.
        moving_average: int, steps of the moving average that is the trend.

    Returns:
        `(batch, prediction_length, c)`, in full precision, and the parameters of the head.

    Source: Wu et al. (2021), figure 1 and equations 3-4.
    """
    num_channels = history.shape[-1]
    dtype = full_precision()  # of the trend and of what is put out

    def decompose(x, sublayer):
        """Residual sublayer, then the moving average taken out: season, trend."""
        y = Dropout(dropout)(sublayer(x))
        return SeriesDecomposition(moving_average)(layers.Add()([x, y]))

    def feed_forward(x):
        x = dense(ff_dim, activation="gelu", use_bias=False)(x)
        return dense(d_model, use_bias=False)(Dropout(dropout)(x))

    def normalise(x):
        """Layer normalisation, then centred over time: the season has no level."""
        x = layers.LayerNormalization(epsilon=EPSILON)(x)
        return x - ops.mean(x, axis=1, keepdims=True)

    season, trend = SeriesDecomposition(moving_average, dtype=dtype)(history)
    mean = ops.mean(history, axis=1, keepdims=True)
    future = ops.repeat(mean, prediction_length, axis=1)
    trend = ops.concatenate([trend[:, -label_length:], future], axis=1)
    season = label_input(season, label_length, prediction_length)

    x = Dropout(dropout)(ValueEmbedding(d_model)(history))
    for _ in range(num_encoder_blocks):
        x, _ = decompose(x, self_attention())
        x, _ = decompose(x, feed_forward)
    memory = normalise(x)

    x = Dropout(dropout)(ValueEmbedding(d_model)(season))
    for _ in range(num_decoder_blocks):
        cross = cross_attention()
        x, first = decompose(x, self_attention())
        x, second = decompose(x, lambda x, cross=cross: cross(x, memory))
        x, third = decompose(x, feed_forward)
        trend = trend + ValueEmbedding(num_channels, dtype=dtype)(first + second + third)
    season = dense(num_channels * head.size, dtype=dtype)(normalise(x)[:, -prediction_length:])
    return head.forecast(season, prediction_length, shift=trend[:, -prediction_length:])


def _join(prefix, name):
    return prefix and f"{prefix}_{name}"
