"""DeepAR: a recurrent network and a distribution, step by step (Salinas et al., 2020)."""

import keras
from keras import layers, ops

from kerastrans import heads
from kerastrans.layers import RecurrentDecoder, RecurrentForecaster
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.normalized_window import open_window
from kerastrans.models.parts.projections import (
    concatenate,
    dense,
    fold_channels,
    unfold_channels,
)
from kerastrans.models.parts.regression import covariate_columns
from kerastrans.utils.precision import full_precision

ARCHITECTURE = {
    "title": "DeepAR",
    "source": "Salinas et al.",
    "year": 2020,
    "summary": "LSTM on its own forecasts",
    "tags": (
        "recurrent",
        "channel independent",
        "scale",
        "future covariates",
        "static covariates",
        "takes heads",
        "autoregressive",
    ),
    "head": "student_t",
    "paper": {"num_layers": 3},
}
SEARCH_SPACE = {
    "units": (20, 40, 80),
    "num_layers": (1, 2, 3),
    "dropout": (0.0, 0.1),
}


@checked
def build_deepar_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    units=40,
    num_layers=2,
    dropout=0.0,
    head=None,
    covariates=None,
    name="deepar",
):
    """Build DeepAR, a recurrent network that reads the history and then its own forecasts.

    All channels share the weights, and each window is divided by its mean absolute value. If the
    head is a distribution, the model is autoregressive: it is trained by teacher forcing and
    forecasts by ancestral sampling (`kerastrans.generate_samples`). With a point head the model is
    trained on its own forecasts and returns the whole horizon at once. The authors draw training
    windows in proportion to the scale of their series (section 3.4), as
    `Forecaster.fit(sampling="scale")` does.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        units: int, width of the LSTMs.
        num_layers: int, number of LSTMs.
        dropout: float in [0, 1), dropout rate on the inputs of each LSTM.
        head: None for point forecasts, or a head of `kerastrans.heads` that can be drawn from: a
            distribution or quantiles.
        covariates: Dict of "future" and "static", see `kerastrans.zoo.build`; it requires a
            head that can be drawn from.
        name: str, name of the model.

    Returns:
        A functional Keras model. With a point head it maps `(batch, context_length,
        num_channels)` to `(batch, prediction_length, num_channels)`. With a distribution it maps
        `[history, future_covariates, static_covariates, decoder_inputs]`, without the covariates
        that are not given, to `(batch, time, num_channels, size)`; the decoder inputs are
        `(batch, time, num_channels)`.

    Raises:
        ValueError: If a size is below 1, or too large.
        ValueError: If there are past covariates, or any covariates with a point head.
        ValueError: If `dropout` is outside [0, 1).
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_deepar_model(24, 12, 3, units=8, head="normal")
        >>> model.output_shape
        (None, None, 3, 2)

    Source: Salinas et al. (2020), figure 2 and section 3.3.
    """
    is_point = isinstance(head, heads.PointHead)
    window = open_window(context_length, num_channels, head, scale="mean_abs", fill=is_point)
    if is_point:
        if covariates:
            raise ValueError(
                "deepar takes covariates only with a distribution as its head, not a point head."
            )
        x = RecurrentForecaster(units, num_layers, prediction_length)(fold_channels(window.values))
        x = unfold_channels(x, num_channels)
        return keras.Model(window.history, window.forecast(x, head, prediction_length), name=name)

    if "past" in (covariates or {}):
        raise ValueError("deepar takes future and static covariates, not past ones.")
    extra, columns = covariate_columns(window, prediction_length, covariates)
    repeat = layers.RepeatVector(context_length + prediction_length)
    features = columns.get("future", []) + [repeat(x) for x in columns.get("static", [])]

    decoder_inputs = keras.Input((None, num_channels), name="decoder_inputs")
    y = ops.divide(decoder_inputs, window.statistics[:, 1:])
    kwargs = {"covariates": concatenate(features)} if features else {}
    y = RecurrentDecoder(units, num_layers, dropout, sees_missing=head.sees_missing)(
        y, window.values, **kwargs
    )
    y = dense(head.size, dtype=full_precision(), name="head")(y)
    outputs = head(y, statistics=window.statistics)
    return keras.Model([window.history, *extra.values(), decoder_inputs], outputs, name=name)
