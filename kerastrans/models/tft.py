"""Temporal Fusion Transformer with a point head (Lim et al., 2021, figure 2)."""

import keras
from keras import layers, ops

from kerastrans import heads
from kerastrans.blocks import EPSILON, dense
from kerastrans.layers import FutureClock, InterpretableMultiHeadAttention
from kerastrans.precision import full_precision
from kerastrans.validation import check_divides, check_dropout, check_positive_integers


def build_tft_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    d_model=64,
    num_heads=4,
    dropout=0.1,
    head=None,
    name="tft",
):
    """Build the Temporal Fusion Transformer of the channels' own past.

    Each channel is an observed variable; the only thing known of a future step is how far ahead
    it is.

    Args:
        context_length, prediction_length, num_channels: int, sizes of input and output.
        d_model: int, width of all layers.
        num_heads: int, which divides `d_model`.
        dropout: float in [0, 1).
        head: None for points, or a head of `kerastrans.heads`: its parameters are a last axis.
        name: of the model.

    Returns:
        A functional Keras model `(batch, context_length, num_channels)` ->
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: a size below 1, heads that do not divide `d_model`, `dropout` outside [0, 1), an
            unknown `head`.

    Source: Lim et al. (2021), figure 2 and equations 1-21, without static inputs.
    """
    check_positive_integers(
        context_length=context_length,
        prediction_length=prediction_length,
        num_channels=num_channels,
        d_model=d_model,
        num_heads=num_heads,
    )
    check_divides(num_heads=num_heads, d_model=d_model)
    check_dropout(dropout)

    def gate(x, residual):
        """Gated linear unit, added to the residual and normalised."""
        x = layers.Dropout(dropout)(x)
        x = layers.Multiply()([dense(d_model)(x), dense(d_model, activation="sigmoid")(x)])
        return layers.LayerNormalization(epsilon=EPSILON)(layers.Add()([x, residual]))

    def gated_residual_network(x):
        residual = x if x.shape[-1] == d_model else dense(d_model)(x)
        return gate(dense(d_model)(dense(d_model, activation="elu")(x)), residual)

    def select_variables(x):
        """Weigh each step's variables `(batch, time, variables, d_model)` and add them up."""
        num_variables = x.shape[2]
        if num_variables == 1:
            return gated_residual_network(x[:, :, 0])
        together = layers.Reshape((x.shape[1], num_variables * d_model))(x)
        weights = dense(num_variables)(gated_residual_network(together))
        weights = layers.Softmax(dtype=full_precision())(weights)
        each = [gated_residual_network(x[:, :, i]) for i in range(num_variables)]
        return layers.Add()(
            [ops.cast(weights[:, :, i : i + 1], y.dtype) * y for i, y in enumerate(each)]
        )

    head = heads.get(head)
    history = keras.Input((context_length, num_channels), name="history")
    embed = layers.EinsumDense(
        "btc,cd->btcd", (context_length, num_channels, d_model), bias_axes="cd", name="embedding"
    )
    past = select_variables(embed(history))
    future = gated_residual_network(dense(d_model)(FutureClock(prediction_length)(history)))

    encoded, *state = layers.LSTM(
        d_model, return_sequences=True, return_state=True, name="encoder"
    )(past)
    decoded = layers.LSTM(d_model, return_sequences=True, name="decoder")(
        future, initial_state=state
    )
    # Locality enhancement; then attention of the future to everything before it.
    sequence = gate(
        layers.Concatenate(axis=1)([encoded, decoded]), layers.Concatenate(axis=1)([past, future])
    )
    enriched = gated_residual_network(sequence)
    query = enriched[:, -prediction_length:]
    attention = InterpretableMultiHeadAttention(num_heads, d_model // num_heads, dropout)
    x = gate(attention(query, enriched), query)
    x = gate(gated_residual_network(x), sequence[:, -prediction_length:])
    x = dense(num_channels * head.size, dtype=full_precision(), name="head")(x)
    outputs = head.forecast(x, prediction_length)
    return keras.Model(history, outputs, name=name)
