"""DeepAR's recurrent network with a point in place of the distribution (Salinas et al., 2020)."""

import keras

from kerastrans.blocks import fold_channels, unfold_channels
from kerastrans.layers import RecurrentForecaster, ReversibleInstanceNormalization
from kerastrans.validation import check_positive_integers


def build_deepar_model(
    context_length, prediction_length, num_channels, *, units=40, num_layers=2, name="deepar"
):
    """Build DeepAR's network: it reads the history, then goes on from its own forecasts.

    All channels share the weights; each window is divided by its mean absolute value.

    Args:
        context_length, prediction_length, num_channels: int, sizes of input and output.
        units, num_layers: int, width and number of the LSTMs.
        name: of the model.

    Returns:
        A functional Keras model `(batch, context_length, num_channels)` ->
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: a size below 1.

    Source: Salinas et al. (2020), figure 2 and section 3.3. Trained on its own forecasts, not
    by teacher forcing.
    """
    check_positive_integers(
        context_length=context_length,
        prediction_length=prediction_length,
        num_channels=num_channels,
        units=units,
        num_layers=num_layers,
    )
    history = keras.Input((context_length, num_channels), name="history")
    normalization = ReversibleInstanceNormalization(center=None, scale="mean_abs")
    x, statistics = normalization(history)
    x = RecurrentForecaster(units, num_layers, prediction_length)(fold_channels(x))
    x = unfold_channels(x, num_channels)
    return keras.Model(history, normalization(x, statistics), name=name)
