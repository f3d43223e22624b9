"""Covariates for a model that takes none: a regression in front of it, and behind."""

import keras
from keras import layers

from kerastrans import heads
from kerastrans.data.covariates import KINDS
from kerastrans.decoding.graph import history_input
from kerastrans.models.blocks import concatenate, embed_columns
from kerastrans.utils.precision import full_precision


def covariate_inputs(context_length, prediction_length, sizes):
    """The `keras.Input`s `{"past_covariates": ...}` of these kinds of columns.

    `past_covariates` is `(batch, context_length, columns)`, `future_covariates`
    `(batch, context_length + prediction_length, columns)`, `static_covariates`
    `(batch, columns)`.

    Raises:
        ValueError: a kind other than "past", "future" and "static".
    """
    unknown = set(sizes) - set(KINDS)
    if unknown:
        raise ValueError(f"covariates are {KINDS}, got {sorted(unknown)}.")
    lengths = {
        "past": (context_length,),
        "future": (context_length + prediction_length,),
        "static": (),
    }
    return {
        f"{kind}_covariates": keras.Input(
            (*lengths[kind], len(sizes[kind])), name=f"{kind}_covariates"
        )
        for kind in KINDS
        if kind in sizes
    }


def regress(model, sizes, *, width=32):
    """Give a forecasting model covariates, by regression with the model on what it leaves.

    What the future-known covariates explain at each step, by one small network for past and
    future, is taken off the history, and put back on the forecast. What the past ones say, with
    the static ones, is added to the history. Both networks begin at zero: untrained, the model
    forecasts as it did without.

    Args:
        model: direct model, functional, of "history" and perhaps "position", with any head.
        sizes: dict of "past", "future", "static": size of each column, 0 for a number, or how
            many categories there are; kinds without columns are left out.
        width: int, of the networks' hidden layers.

    Returns:
        A functional Keras model of a dict of inputs: those of `model`, and `past_covariates`,
        `future_covariates`, `static_covariates`, see `covariate_inputs`.

    Source: regression with errors that follow a time-series model, Hyndman, Athanasopoulos
    (2021), chapter 10, with networks in place of the linear parts.
    """
    history = history_input(model)
    context_length, num_channels = history.shape[1:]
    prediction_length = model.output_shape[1]
    inputs = {
        tensor.name: keras.Input(tensor.shape[1:], dtype=tensor.dtype, name=tensor.name)
        for tensor in model.inputs
    }
    extra = covariate_inputs(context_length, prediction_length, sizes)
    features = {kind: embed_columns(extra[f"{kind}_covariates"], sizes[kind]) for kind in sizes}

    def effect(kind, length):
        """Of one kind of columns and the static ones, at each of `length` steps."""
        static = [layers.RepeatVector(length)(column) for column in features.get("static", [])]
        x = concatenate(features.get(kind, []) + static)
        x = layers.Dense(width, activation="relu", name=f"{kind}_hidden")(x)
        end = {"kernel_initializer": "zeros", "use_bias": False, "dtype": full_precision()}
        return layers.Dense(num_channels, **end, name=f"{kind}_effect")(x)

    x = inputs[history.name]
    if "past" in sizes or "static" in sizes:
        x = x + effect("past", context_length)
    known = None
    if "future" in sizes:
        known = effect("future", context_length + prediction_length)
        x = x - known[:, :context_length]
    inner = {**inputs, history.name: x}
    outputs = model(inner if len(inner) > 1 else x)
    if known is not None:
        outputs = heads.of(model).shift(outputs, known[:, context_length:])
    return keras.Model({**inputs, **extra}, outputs, name=model.name)
