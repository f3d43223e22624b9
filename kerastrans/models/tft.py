"""Temporal Fusion Transformer: variable selection, LSTM, attention (Lim et al., 2021, figure 2)."""

import keras
from keras import layers, ops

from kerastrans.layers import Dropout, FutureClock, InterpretableMultiHeadAttention
from kerastrans.layers.initializers import FanInUniform
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.normalized_window import open_window
from kerastrans.models.parts.projections import concatenate, dense, embed_columns
from kerastrans.models.parts.regression import covariate_inputs
from kerastrans.models.parts.sublayers import EPSILON
from kerastrans.utils.precision import full_precision

ARCHITECTURE = {
    "title": "TFT",
    "source": "Lim et al.",
    "year": 2021,
    "summary": "variable selection, LSTM, attention",
    "tags": (
        "attention",
        "recurrent",
        "mixes channels",
        "past covariates",
        "future covariates",
        "static covariates",
        "takes heads",
    ),
}
SEARCH_SPACE = {
    "d_model": (16, 32, 64),
    "num_heads": (1, 4),
    "dropout": (0.0, 0.1, 0.3),
}


@checked
def build_tft_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    d_model=64,
    num_heads=4,
    dropout=0.1,
    head=None,
    covariates=None,
    name="tft",
):
    """Build the Temporal Fusion Transformer.

    The observed variables are the channels and the covariates. The known variables of a future step
    are its distance from the end of the history and the future covariates. The layers
    "past_variables", "future_variables" and "static_variables" return the weights of the variables,
    which `kerastrans.variable_importances` reads.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        d_model: int, width of all blocks.
        num_heads: int, number of attention heads, a divisor of `d_model`.
        dropout: float in [0, 1), dropout rate.
        head: None for point forecasts, or a head of `kerastrans.heads`, whose parameters are the
            last axis of the output.
        covariates: Dict of "past", "future", "static", see `kerastrans.zoo.build`.
        name: str, name of the model.

    Returns:
        A functional Keras model that maps `(batch, context_length, num_channels)` to
        `(batch, prediction_length, num_channels)`; with covariates its input is a dict.

    Raises:
        ValueError: If a size is below 1, or too large.
        ValueError: If `num_heads` does not divide `d_model`.
        ValueError: If a kind of covariates is unknown.
        ValueError: If `dropout` is outside [0, 1).
        ValueError: If `head` is unknown.

    Example:
        >>> sizes = {"future": (0, 7)}  # a number, and one of 7 categories
        >>> model = build_tft_model(24, 12, 3, d_model=8, covariates=sizes)
        >>> model.output_shape
        (None, 12, 3)

    Source: Lim et al. (2021), figure 2 and equations 1-21.
    """

    def residual_network(x, context=None):
        return _gated_residual_network(x, d_model, dropout, context)

    def embed(columns, sizes):
        """Return columns as a list of variables `(batch, ..., d_model)`."""
        return [dense(d_model)(x) for x in embed_columns(columns, sizes)]

    def embed_covariates(kind):
        return embed(extra[f"{kind}_covariates"], covariates[kind])

    covariates = covariates or {}
    window = open_window(context_length, num_channels, head)
    extra = covariate_inputs(context_length, prediction_length, covariates)
    past = embed(window.values, [0] * num_channels)
    future = [dense(d_model)(FutureClock(prediction_length)(window.values))]
    if "past" in covariates:
        past += embed_covariates("past")
    if "future" in covariates:
        all_steps = embed_covariates("future")
        past += [x[:, :context_length] for x in all_steps]
        future += [x[:, context_length:] for x in all_steps]

    for_selection = for_enrichment = state = None
    if "static" in covariates:
        static = _select_variables(embed_covariates("static"), dropout, "static")
        for_selection, for_enrichment, *state = (residual_network(static) for _ in range(4))
    past = _select_variables(past, dropout, "past", for_selection)
    future = _select_variables(future, dropout, "future", for_selection)

    options = {"return_sequences": True, "return_state": True}
    encoded, *state = layers.LSTM(d_model, **options, name="encoder")(past, initial_state=state)
    decoded, *_ = layers.LSTM(d_model, **options, name="decoder")(future, initial_state=state)
    # Locality enhancement, then attention from each future step to all earlier steps.
    x = layers.Concatenate(axis=1)([encoded, decoded])
    sequence = _gate(x, layers.Concatenate(axis=1)([past, future]), dropout)
    enriched = residual_network(sequence, for_enrichment)
    query = enriched[:, -prediction_length:]
    attention = InterpretableMultiHeadAttention(
        num_heads=num_heads, key_dim=d_model // num_heads, dropout=dropout, name="attention"
    )
    x = _gate(attention(query, enriched), query, dropout)
    x = _gate(residual_network(x), sequence[:, -prediction_length:], dropout)
    x = dense(num_channels * head.size, dtype=full_precision(), name="head")(x)
    outputs = window.forecast(x, head, prediction_length)
    return keras.Model(window.inputs(extra), outputs, name=name)


def _normalize(x):
    return layers.LayerNormalization(epsilon=EPSILON)(x)


def _gate(x, residual, dropout, dense=dense, normalize=_normalize):
    """Apply a gated linear unit, add the residual and normalise."""
    units = residual.shape[-1]
    x = Dropout(dropout)(x)
    x = layers.Multiply()([dense(units)(x), dense(units, activation="sigmoid")(x)])
    return normalize(layers.Add()([x, residual]))


def _gated_residual_network(x, units, dropout, context=None, dense=dense, normalize=_normalize):
    """Apply two layers and a gate; a context `(batch, units)` is the same at every step."""
    residual = x if x.shape[-1] == units else dense(units)(x)
    x = dense(units)(x)
    if context is not None:
        added = dense(units, use_bias=False)(context)
        x = x + (added if len(x.shape) == 2 else ops.expand_dims(added, 1))
    x = dense(units)(layers.Activation("elu")(x))
    return _gate(x, residual, dropout, dense, normalize)


def _dense_of_each(units, **options):
    """Return a dense layer of `(variables, rows, features)` with separate weights per variable."""
    options = {"bias_axes": "ve", "kernel_initializer": FanInUniform(), **options}
    return layers.EinsumDense("vrd,vde->vre", (None, units), **options)


def _normalize_each(x):
    """Normalise as `_normalize`, with a separate scale and shift per variable."""
    x = layers.LayerNormalization(epsilon=EPSILON, center=False, scale=False)(x)
    options = {"bias_axes": "vd", "kernel_initializer": "ones"}
    return layers.EinsumDense("vrd,vd->vrd", (None, x.shape[-1]), **options)(x)


def _select_variables(variables, dropout, name, context=None):
    """Return the weighted sum of the variables, a list of `(batch, ..., d_model)`, at each step."""
    *steps, d_model = variables[0].shape[1:]
    if len(variables) == 1:
        return _gated_residual_network(variables[0], d_model, dropout)
    x = _gated_residual_network(concatenate(variables), d_model, dropout, context)
    weights = dense(len(variables))(x)
    weights = layers.Softmax(dtype=full_precision(), name=f"{name}_variables")(weights)
    x = ops.stack([ops.reshape(x, (-1, d_model)) for x in variables])
    x = _gated_residual_network(x, d_model, dropout, None, _dense_of_each, _normalize_each)
    weights = ops.transpose(ops.reshape(weights, (-1, len(variables))))
    x = ops.sum(x * ops.expand_dims(ops.cast(weights, x.dtype), -1), axis=0)
    return ops.reshape(x, (-1, *steps, d_model))
