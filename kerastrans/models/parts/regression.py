"""Covariates: as features of a model, or as a regression around one that takes none."""

import keras
from keras import layers, ops

from kerastrans import heads
from kerastrans.data.covariates import KINDS
from kerastrans.decoding.graph import history_input
from kerastrans.layers import CenteredCovariates, ChannelEmbedding
from kerastrans.models.parts.projections import concatenate, embed_columns, embedding_width
from kerastrans.utils.precision import full_precision
from kerastrans.utils.types import CovariateSizes


def covariate_inputs(context_length, prediction_length, sizes):
    """The `keras.Input`s of covariates.

    Args:
        context_length: int, steps of history.
        prediction_length: int, steps to forecast.
        sizes: dict of "past", "future", "static": size of each column, see `regress`.

    Returns:
        Dict of the inputs by their names, for the kinds in `sizes`: "past_covariates"
        `(batch, context_length, columns)`, "future_covariates"
        `(batch, context_length + prediction_length, columns)`, "static_covariates"
        `(batch, columns)`.

    Raises:
        ValueError: A kind is none of "past", "future" and "static".

    Example:
        >>> covariate_inputs(24, 12, {"future": (0, 7)})["future_covariates"].shape
        (None, 36, 2)
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


def covariate_columns(window, prediction_length, sizes):
    """The inputs of covariates, and each column as features of a model that reads a window.

    Where the mean is taken off the window, it is taken off the numbers of past and future too, over
    the same steps: what a covariate adds to the level of the window is not in what the model sees
    of it. So does the authors' code of TimeXer with all its series.

    Args:
        window: `kerastrans.models.parts.normalized_window.Window`.
        prediction_length: int, steps to forecast.
        sizes: as for `covariate_inputs`; None for no covariates.

    Returns:
        `(inputs, columns)`: the dict of `covariate_inputs`, and a dict of the kinds in `sizes`,
        each with a list of one tensor `(batch, steps, features)` a column, or `(batch, features)`
        if it is static, see `kerastrans.models.parts.projections.embed_columns`.

    Raises:
        ValueError: A kind is none of "past", "future" and "static".

    Example:
        >>> from kerastrans.heads import PointHead
        >>> from kerastrans.models.parts.normalized_window import open_window
        >>> window = open_window(24, 3, PointHead())
        >>> _, columns = covariate_columns(window, 12, {"future": (0, 7)})
        >>> [column.shape for column in columns["future"]]
        [(None, 36, 1), (None, 36, 4)]
    """
    sizes = sizes or {}
    inputs = covariate_inputs(window.history.shape[1], prediction_length, sizes)
    columns = {}
    for kind in filter(sizes.get, KINDS):
        columns[kind] = embed_columns(inputs[f"{kind}_covariates"], sizes[kind])
        if kind != "static" and window.normalization.center:
            columns[kind] = [
                column if size else CenteredCovariates()(column, window.history)
                for column, size in zip(columns[kind], sizes[kind], strict=True)
            ]
    return inputs, columns


def channel_features(features, num_channels):
    """Features of a window as features of each of its channels.

    Of several channels each has a learnt vector as well, the same as if its number were a static
    category: they may respond to a covariate in different ways.

    Args:
        features: list of tensors `(batch, features)`.
        num_channels: int.

    Returns:
        `(batch, num_channels, features)`.
    """
    x = layers.RepeatVector(num_channels)(concatenate(features))
    return x if num_channels == 1 else ChannelEmbedding(embedding_width(num_channels))(x)


def regress(model: keras.Model, sizes: CovariateSizes, *, width: int = 32) -> keras.Model:
    """Give a forecasting model covariates, by regression with the model on the remainder.

    One small network estimates the effect of the covariates that are known ahead at each step of
    past and future. It is subtracted from the history, and added to the forecast. A second network
    estimates the effect of the past covariates, which is added to the history. Both see the static
    ones too, and start at zero: untrained, the model forecasts as it did without covariates.

    An effect is in the unit of the values that the model is given, so that a `Forecaster`'s scaler
    decides it. With "mean_abs" it is a share of the window's mean size: right where a promotion
    adds 20 % to small and large series alike. With "standard" it is in standard deviations of the
    window, which contain the effect itself. With None it is in the unit of the series: right where
    a promotion adds the same 30 to all, for models that normalise their windows inside, such as
    "rlinear"; the loss is then in that unit too, and large series count for more. For counts it is
    a logarithm: the history is divided, and the forecast multiplied, by its exponential.

    Args:
        model: functional Keras model of "history" and perhaps "position", with any head.
        sizes: dict of "past", "future", "static": for each column 0 if it holds numbers, or how
            many categories there are; kinds without columns are left out.
        width: int, hidden width of the two networks.

    Returns:
        A functional Keras model of a dict of inputs: those of `model`, and "past_covariates",
        "future_covariates", "static_covariates", see `covariate_inputs`. Its output is as that of
        `model`.

    Raises:
        ValueError: A kind is none of "past", "future" and "static".

    Example:
        >>> from kerastrans import zoo
        >>> model = regress(zoo.build("nlinear", 24, 12, 3), {"future": (0, 7)})
        >>> sorted(model.input)
        ['future_covariates', 'history']

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
        """Effect of one kind of columns and the static ones at each of `length` steps."""
        static = [layers.RepeatVector(length)(column) for column in features.get("static", [])]
        x = concatenate(features.get(kind, []) + static)
        x = layers.Dense(width, activation="relu", name=f"{kind}_hidden")(x)
        kwargs = {"kernel_initializer": "zeros", "use_bias": False, "dtype": full_precision()}
        return layers.Dense(num_channels, **kwargs, name=f"{kind}_effect")(x)

    x = inputs[history.name]
    if "past" in sizes or "static" in sizes:
        x = x + effect("past", context_length)
    if "future" in sizes:
        future_effect = effect("future", context_length + prediction_length)
        x = _without(heads.of(model), x, future_effect[:, :context_length])
    inner = {**inputs, history.name: x}
    outputs = model(inner if len(inner) > 1 else x)
    if "future" in sizes:
        outputs = heads.of(model).shift(outputs, future_effect[:, context_length:])
    return keras.Model({**inputs, **extra}, outputs, name=model.name)


def _without(head, values, effect):
    """Values without an effect, which `head.shift` gives back: of counts a factor."""
    if head.takes_scaled_windows:
        return values - effect
    return values * ops.exp(-effect)
