"""Covariates as features of a model, or as a regression around a model without covariates."""

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
    """Create the `keras.Input`s of covariates.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        sizes: Dict of "past", "future", "static": size of each column, see `regress`.

    Returns:
        Dict of the inputs by name, for the kinds in `sizes`: "past_covariates"
        `(batch, context_length, columns)`, "future_covariates"
        `(batch, context_length + prediction_length, columns)`, "static_covariates"
        `(batch, columns)`.

    Raises:
        ValueError: If a kind is not "past", "future" or "static".

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
    """Create the inputs of covariates, and embed each column as features of a model.

    If the window is centred, the mean of each numeric past and future covariate over the same steps
    is subtracted too: the centred window does not contain the part of its level that is due to the
    covariate. The authors' code of TimeXer does so with all its series.

    Args:
        window: `kerastrans.models.parts.normalized_window.Window`.
        prediction_length: int, number of steps to forecast.
        sizes: Sizes as in `covariate_inputs`; None for no covariates.

    Returns:
        `(inputs, columns)`: the dict of `covariate_inputs`, and a dict of the kinds in `sizes`,
        each with a list of one tensor per column, `(batch, steps, features)`, or
        `(batch, features)` if it is static; see
        `kerastrans.models.parts.projections.embed_columns`.

    Raises:
        ValueError: If a kind is not "past", "future" or "static".

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
        columns[kind] = embed_columns(inputs[f"{kind}_covariates"], sizes[kind], kind)
        if kind != "static" and window.normalization.center:
            columns[kind] = [
                column if size else CenteredCovariates()(column, window.history)
                for column, size in zip(columns[kind], sizes[kind], strict=True)
            ]
    return inputs, columns


def covariate_series(window, prediction_length, sizes):
    """Create the inputs of numeric covariates, whose past is read like additional channels.

    Args:
        window: `kerastrans.models.parts.normalized_window.Window`.
        prediction_length: int, number of steps to forecast.
        sizes: Sizes as in `covariate_inputs`.

    Returns:
        `(inputs, series)`: the dict of `covariate_inputs`, and a list of one tensor
        `(batch, context_length, columns)` per kind.

    Raises:
        ValueError: If a covariate is static or has categories.
    """
    if "static" in sizes or any(map(any, sizes.values())):
        raise ValueError(
            f"only past and future covariates that are numbers can be read like channels, got "
            f"{sizes}."
        )
    length = window.history.shape[1]
    inputs = covariate_inputs(length, prediction_length, sizes)
    return inputs, [x[:, :length] for x in inputs.values()]


def channel_features(features, num_channels):
    """Repeat the features of a window for each of its channels.

    If there are several channels, a learnt vector of each channel is appended, as if the number of
    the channel were a static category, so that channels can respond to a covariate in different
    ways.

    Args:
        features: List of tensors `(batch, features)`.
        num_channels: int, number of channels.

    Returns:
        `(batch, num_channels, features)`.
    """
    x = layers.RepeatVector(num_channels)(concatenate(features))
    return x if num_channels == 1 else ChannelEmbedding(embedding_width(num_channels))(x)


def regress(model: keras.Model, sizes: CovariateSizes, *, width: int = 32) -> keras.Model:
    """Add covariates to a forecasting model by regression; the model forecasts the remainder.

    One small network estimates the effect of the future covariates at each step of past and future.
    The effect is subtracted from the history and added to the forecast. A second network estimates
    the effect of the past covariates, which is added to the history. Both networks take the static
    covariates too, and their outputs are initialised to zero: before training, the model forecasts
    as it does without covariates.

    An effect is in the unit of the values that the model is given, so the scaler of a `Forecaster`
    determines it:

    - With "mean_abs" it is a share of the mean absolute value of the window. Choose it if a
      promotion adds 20 % to small and large series alike.
    - With "standard" it is in standard deviations of the window, which include the effect itself.
    - With None it is in the unit of the series. Choose it if a promotion adds the same 30 to all
      series, for models that normalise their windows themselves, such as "rlinear". The loss is
      then in that unit too, and large series have more weight.

    For counts the effect is a logarithm: the history is divided, and the forecast multiplied, by
    its exponential.

    Args:
        model: Functional Keras model of "history" and optionally "position", with any head.
        sizes: Dict of "past", "future", "static": for each column 0 if it holds numbers, otherwise
            the number of categories. Kinds without columns are left out.
        width: int, hidden width of the two networks.

    Returns:
        A functional Keras model whose input is a dict of the inputs of `model` and
        "past_covariates", "future_covariates", "static_covariates", see `covariate_inputs`. Its
        output has the same form as that of `model`.

    Raises:
        ValueError: If a kind is not "past", "future" or "static".

    Example:
        >>> from kerastrans import zoo
        >>> model = regress(zoo.build("nlinear", 24, 12, 3), {"future": (0, 7)})
        >>> sorted(model.input)
        ['future_covariates', 'history']

    Source: Hyndman, Athanasopoulos (2021), chapter 10, regression with errors that follow a
    time-series model, with networks instead of the linear parts.
    """
    history = history_input(model)
    context_length, num_channels = history.shape[1:]
    prediction_length = model.output_shape[1]
    inputs = {
        tensor.name: keras.Input(tensor.shape[1:], dtype=tensor.dtype, name=tensor.name)
        for tensor in model.inputs
    }
    extra = covariate_inputs(context_length, prediction_length, sizes)
    features = {
        kind: embed_columns(extra[f"{kind}_covariates"], sizes[kind], kind) for kind in sizes
    }

    def effect(kind, length):
        """Estimate the effect of one kind of columns and the static ones at each step."""
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
        x = _remove_effect(heads.of(model), x, future_effect[:, :context_length])
    inner = {**inputs, history.name: x}
    outputs = model(inner if len(inner) > 1 else x)
    if "future" in sizes:
        outputs = heads.of(model).shift(outputs, future_effect[:, context_length:])
    return keras.Model({**inputs, **extra}, outputs, name=model.name)


def _remove_effect(head, values, effect):
    """Remove an effect from values, the inverse of `head.shift`; for counts it is a factor."""
    if head.takes_scaled_windows:
        return values - effect
    return values * ops.exp(-effect)
