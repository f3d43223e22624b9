"""Two LSTMs, the second attending to what the first read (Luong et al., 2015, figure 2)."""

import keras
from keras import layers

from kerastrans import heads
from kerastrans.layers import Dropout
from kerastrans.models.blocks import dense
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_dropout, check_positive_integers

SEARCH_SPACE = {
    "units": (32, 64, 128),
    "dropout": (0.0, 0.1, 0.3),
}


def build_lstm_seq2seq_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    units=64,
    dropout=0.1,
    head=None,
    name="lstm_seq2seq",
):
    """Build the LSTM encoder-decoder with global attention, which puts out the horizon at once.

    Args:
        context_length, prediction_length, num_channels: int, sizes of input and output.
        units: int, width of both LSTMs.
        dropout: float in [0, 1), in front of the head.
        head: None for points, or a head of `kerastrans.heads`: its parameters are a last axis.
        name: of the model.

    Returns:
        A functional Keras model `(batch, context_length, num_channels)` ->
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: a size below 1, `dropout` outside [0, 1), an unknown `head`.

    Source: Sutskever et al. (2014); attention "dot": Luong et al. (2015), equations 5-8.
    """
    check_positive_integers(
        context_length=context_length,
        prediction_length=prediction_length,
        num_channels=num_channels,
        units=units,
    )
    check_dropout(dropout)
    head = heads.get(head)
    history = keras.Input((context_length, num_channels), name="history")
    memory, *state = layers.LSTM(units, return_sequences=True, return_state=True, name="encoder")(
        history
    )
    x = layers.RepeatVector(prediction_length)(memory[:, -1])
    x = layers.LSTM(units, return_sequences=True, name="decoder")(x, initial_state=state)
    attended = layers.Attention(name="attention")([x, memory])
    x = dense(units, activation="tanh", use_bias=False)(layers.Concatenate()([attended, x]))
    x = Dropout(dropout)(x)
    x = dense(num_channels * head.size, dtype=full_precision(), name="head")(x)
    outputs = head.forecast(x, prediction_length)
    return keras.Model(history, outputs, name=name)
