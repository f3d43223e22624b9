"""N-BEATS: blocks that explain away the past, one after the other (Oreshkin et al., 2020)."""

import keras
from keras import layers, ops

from kerastrans.layers import BasisExpansion
from kerastrans.layers.initializers import FanInUniform
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.normalized_window import open_window
from kerastrans.models.parts.projections import add, concatenate, dense
from kerastrans.models.parts.regression import channel_features, covariate_columns
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_choice

ARCHITECTURE = {
    "title": "N-BEATS",
    "source": "Oreshkin et al.",
    "year": 2020,
    "summary": "residual blocks of curves",
    "tags": (
        "mlp",
        "channel independent",
        "past covariates",
        "future covariates",
        "static covariates",
        "takes heads",
    ),
}
SEARCH_SPACE = {
    "hidden_dim": (64, 256, 512),
    "num_blocks": (1, 3),
    "stacks": (("generic", "generic"), ("trend", "seasonality")),
}

EXOGENOUS = ("exogenous", "exogenous_wavenet")
KINDS = ("generic", "trend", "seasonality", *EXOGENOUS)


@checked
def build_nbeats_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    stacks=("generic", "generic"),
    num_blocks=3,
    hidden_dim=512,
    num_layers=4,
    degree=2,
    from_last_value=False,
    exogenous_dim=8,
    head=None,
    covariates=None,
    name="nbeats",
):
    """Build N-BEATS; all channels share the weights.

    Each block sees what the blocks before it left unexplained of the past, and adds its part to the
    forecast. A "generic" block learns its curves; a "trend" block draws a polynomial and a
    "seasonality" block a Fourier series, and the blocks of such a stack share their weights:
    `("trend", "seasonality")` is the interpretable N-BEATS.

    With covariates it is N-BEATSx: they enter every block beside the past. An "exogenous" block
    draws a sum of the future covariates themselves, and the blocks of its stack share their
    weights; an "exogenous_wavenet" block one of what causal convolutions make of them.
    `("trend", "seasonality", "exogenous")` is the interpretable N-BEATSx.

    Args:
        context_length: int, steps of history.
        prediction_length: int, steps to forecast.
        num_channels: int, values at each step.
        stacks: kinds of the stacks, in order: "generic", "trend", "seasonality", and with future
            covariates "exogenous", "exogenous_wavenet".
        num_blocks: int, blocks in each stack.
        hidden_dim: int, width of each block's network.
        num_layers: int, depth of each block's network.
        degree: int, of a trend's polynomial.
        from_last_value: bool, whether the blocks draw the distance to the last known value of each
            channel, as in the reference code, or the forecast itself, as in the paper.
        exogenous_dim: int, curves that the convolutions of a block make of the covariates.
        head: None for points, or a head of `kerastrans.heads`, whose parameters are a last axis.
        covariates: dict of "past", "future", "static", see `kerastrans.zoo.build`.
        name: str, name of the model.

    Returns:
        A functional Keras model `(batch, context_length, num_channels)` ->
        `(batch, prediction_length, num_channels)`; with covariates its input is a dict.

    Raises:
        ValueError: A size is below 1, or too large.
        ValueError: There is no stack, or one of an unknown kind.
        ValueError: A stack is exogenous, and there are no future covariates.
        ValueError: A kind of covariates is unknown.
        ValueError: `head` is unknown.

    Example:
        >>> model = build_nbeats_model(24, 12, 3, stacks=("trend", "seasonality"), hidden_dim=8)
        >>> model.output_shape
        (None, 12, 3)

    Source: Oreshkin et al. (2020), figure 1 and sections 3.1-3.3; Olivares et al. (2023), sections
    3.2-3.4.
    """
    _check_stacks(stacks, covariates)
    dtype = full_precision()

    def curve(kind, length, size, basis):
        """From a block's features to `size` curves of `length` steps."""
        if kind == "generic":
            return [dense(size * length, dtype=dtype), layers.Reshape((num_channels, size, length))]
        if kind == "trend":
            count, draw = degree + 1, BasisExpansion("polynomial", length, dtype=dtype)
        elif kind == "seasonality":
            count, draw = max(1, length - 1), BasisExpansion("fourier", length, dtype=dtype)
        else:
            count, draw = basis.shape[2], lambda x: ops.matmul(x, basis)
        return [
            dense(size * count, use_bias=False, dtype=dtype),
            layers.Reshape((num_channels, size, count)),
            draw,
        ]

    def make_block(kind):
        past, ahead = _exogenous_basis(kind, columns, context_length, exogenous_dim)
        return (
            [dense(hidden_dim, activation="relu") for _ in range(num_layers)],
            curve(kind, context_length, 1, past),
            curve(kind, prediction_length, head.size, ahead),
        )

    window = open_window(context_length, num_channels, head)
    extra, columns = covariate_columns(window, prediction_length, covariates)
    flat = [layers.Flatten()(x) for kind in columns for x in columns[kind]]
    known = [channel_features(flat, num_channels)] if extra else []
    residual = ops.transpose(window.values, (0, 2, 1))  # (batch, channels, context_length)
    forecasts = []
    for kind in stacks:
        block = make_block(kind)
        for i in range(num_blocks):
            if kind in ("generic", "exogenous_wavenet") and i > 0:
                block = make_block(kind)
            network, backcast, forecast = block
            features = _through(network, concatenate([residual, *known]))
            backcast = _through(backcast, features)[:, :, 0]
            residual = layers.Subtract(dtype=dtype)([residual, backcast])
            forecasts.append(_through(forecast, features))
    # Nothing uses the last residual: the layers that would draw it are not part of the model.
    x = add(forecasts, dtype=dtype)
    x = ops.reshape(
        ops.transpose(x, (0, 3, 2, 1)), (-1, prediction_length * head.size, num_channels)
    )
    level = window.last_value(prediction_length) if from_last_value else None
    outputs = window.forecast(x, head, prediction_length, shift=level)
    return keras.Model(window.inputs(extra), outputs, name=name)


def _check_stacks(stacks, covariates):
    if not stacks:
        raise ValueError("stacks must name at least one stack, got none.")
    for kind in stacks:
        check_choice("stacks", kind, KINDS)
        if kind in EXOGENOUS and "future" not in (covariates or {}):
            raise ValueError(f"a stack {kind!r} draws future covariates, and there are none.")


def _exogenous_basis(kind, columns, context_length, width):
    """Curves `(batch, 1, curves, steps)` of past and future, of an exogenous stack."""
    if kind not in EXOGENOUS:
        return None, None
    x = concatenate(columns["future"])
    for level in range(4) if kind == "exogenous_wavenet" else ():
        options = {"padding": "causal", "dilation_rate": 2**level, "activation": "relu"}
        x = layers.Conv1D(width, 3, kernel_initializer=FanInUniform(), **options)(x)
    x = ops.expand_dims(ops.transpose(x, (0, 2, 1)), 1)
    return x[..., :context_length], x[..., context_length:]


def _through(sequence, x):
    for layer in sequence:
        x = layer(x)
    return x
