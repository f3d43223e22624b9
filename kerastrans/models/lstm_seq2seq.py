"""LSTM: an encoder-decoder (Sutskever et al., 2014), with attention (Luong et al., 2015, figure 2).

Paper: https://arxiv.org/abs/1409.3215
Attention: https://arxiv.org/abs/1508.04025
"""

from keras import layers

from kerastrans.layers import Dropout
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.normalized_window import open_window
from kerastrans.models.parts.projections import dense
from kerastrans.utils.precision import full_precision

ARCHITECTURE = {
    "summary": "encoder-decoder, attention",
    "tags": ("recurrent", "attention", "mixes channels", "takes heads"),
    "features": "head: b t f",
}


@checked
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
    """Build the LSTM encoder-decoder with global attention, which forecasts all steps at once.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        units: int, width of both LSTMs.
        dropout: float in [0, 1), dropout rate before the head.
        head: None for point forecasts, or a head of `kerastrans.heads`, whose parameters are the
            last axis of the output.
        name: str, name of the model.

    Returns:
        A functional Keras model that maps `(batch, context_length, num_channels)` to
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: If a size is below 1, or too large.
        ValueError: If `dropout` is outside [0, 1).
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_lstm_seq2seq_model(24, 12, 3, units=8)
        >>> model.output_shape
        (None, 12, 3)

    Source: Sutskever et al. (2014); Luong et al. (2015), equations 5-8, for the "dot" attention.
    """
    window = open_window(context_length, num_channels, head)
    memory, *state = layers.LSTM(units, return_sequences=True, return_state=True, name="encoder")(
        window.values
    )
    x = layers.RepeatVector(prediction_length)(memory[:, -1])
    x = layers.LSTM(units, return_sequences=True, name="decoder")(x, initial_state=state)
    attended = layers.Attention(name="attention")([x, memory])
    x = dense(units, activation="tanh", use_bias=False)(layers.Concatenate()([attended, x]))
    x = Dropout(dropout)(x)
    x = dense(num_channels * head.size, dtype=full_precision(), name="head")(x)
    return window.model(x, head, prediction_length, name)
