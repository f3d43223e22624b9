"""DeepAR: a recurrent network and a distribution, step by step (Salinas et al., 2020)."""

import keras
from keras import layers, ops

from kerastrans import heads
from kerastrans.layers import (
    RecurrentDecoder,
    RecurrentForecaster,
    ReversibleInstanceNormalization,
)
from kerastrans.models.blocks import (
    concatenate,
    dense,
    embed_columns,
    fold_channels,
    unfold_channels,
)
from kerastrans.models.covariates import covariate_inputs
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_dropout, check_positive_integers

SEARCH_SPACE = {
    "units": (20, 40, 80),
    "num_layers": (1, 2, 3),
    "dropout": (0.0, 0.1),
}


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
    """Build DeepAR's network: it reads the history, then goes on from its own forecasts.

    All channels share the weights; each window is divided by its mean absolute value. With a head
    that is a distribution the model is autoregressive: it is trained by teacher forcing, and
    forecasts by ancestral sampling (`kerastrans.generate_samples`). With a point head it is
    trained on its own forecasts, and puts out the horizon at once.

    Args:
        context_length, prediction_length, num_channels: int, sizes of input and output.
        units, num_layers: int, width and number of the LSTMs.
        dropout: float in [0, 1), on what enters each LSTM.
        head: None for points, or a distribution of `kerastrans.heads`.
        covariates: dict of "future" and "static", see `kerastrans.zoo.build`, for a distribution.
        name: of the model.

    Returns:
        A functional Keras model: `(batch, context_length, num_channels)` ->
        `(batch, prediction_length, num_channels)` for points; for a distribution `[history,
        future_covariates, static_covariates, decoder_inputs]` (covariates where there are any)
        -> `(batch, time, num_channels, size)`, decoder inputs `(batch, time, num_channels)`.

    Raises:
        ValueError: a size below 1, quantiles as a head, past covariates, an unknown `head`.

    Source: Salinas et al. (2020), figure 2 and section 3.3.
    """
    check_positive_integers(
        context_length=context_length,
        prediction_length=prediction_length,
        num_channels=num_channels,
        units=units,
        num_layers=num_layers,
    )
    check_dropout(dropout)
    head = heads.get(head)
    history = keras.Input((context_length, num_channels), name="history")
    normalization = ReversibleInstanceNormalization(center=None, scale="mean_abs")
    x, statistics = normalization(history)
    if isinstance(head, heads.PointHead):
        if covariates:
            raise ValueError(
                "deepar takes covariates with a distribution as its head, not a point."
            )
        x = RecurrentForecaster(units, num_layers, prediction_length)(fold_channels(x))
        x = unfold_channels(x, num_channels)
        return keras.Model(
            history, head.forecast(x, prediction_length, normalization, statistics), name=name
        )

    if not hasattr(head, "draw"):
        raise ValueError(f"deepar draws from a distribution, got {type(head).__name__}.")
    if "past" in (covariates or {}):
        raise ValueError("deepar takes future and static covariates, not past ones.")
    extra = covariate_inputs(context_length, prediction_length, covariates or {})
    columns = []
    if "future_covariates" in extra:
        columns += embed_columns(extra["future_covariates"], covariates["future"])
    if "static_covariates" in extra:
        repeat = layers.RepeatVector(context_length + prediction_length)
        columns += map(repeat, embed_columns(extra["static_covariates"], covariates["static"]))

    decoder_inputs = keras.Input((None, num_channels), name="decoder_inputs")
    y = ops.divide(decoder_inputs, statistics[:, 1:])
    known = {"covariates": concatenate(columns)} if columns else {}
    y = RecurrentDecoder(units, num_layers, dropout)(y, x, **known)
    y = dense(head.size, dtype=full_precision(), name="head")(y)
    outputs = head(y, statistics=statistics)
    return keras.Model([history, *extra.values(), decoder_inputs], outputs, name=name)
