"""TFT: variable selection, LSTM, attention (Lim et al., 2021, figure 2).

Paper: https://arxiv.org/abs/1912.09363
Code: https://github.com/thuml/Time-Series-Library/tree/4e938a1
"""

import keras
import numpy as np
from keras import layers, ops

from kerastrans.layers import Dropout
from kerastrans.layers.attention.multi_head_attention import HIDDEN_SCORE
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.encoder_decoders import embed_values
from kerastrans.models.parts.normalized_window import STANDARDIZED, open_window
from kerastrans.models.parts.projections import dense, embed_columns
from kerastrans.models.parts.regression import covariate_inputs
from kerastrans.models.parts.sublayers import TENSORFLOW_EPSILON, TORCH_EPSILON
from kerastrans.models.parts.variable_selection import GatedNetworks
from kerastrans.utils.keras_internals import KeepsQuantization
from kerastrans.utils.model_files import serializable
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_choice, check_dropout, check_positive_integers

ARCHITECTURE = {
    "summary": "variable selection, LSTM, attention",
    "license": "MIT",
    "tags": (
        "attention",
        "recurrent",
        "mixes channels",
        "past covariates",
        "future covariates",
        "static covariates",
        "takes heads",
    ),
    "paper": {"d_model": 160},
    "features": "head: b t f",
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
    variant="paper",
    static_channels=(),
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
        variant: "paper", or "time_series_library" for the PyTorch version in that library: the
            window is normalised, a channel is embedded with its neighbouring steps and its
            position, the only known variables are the future covariates, which are required, and
            the network that selects variables is narrowed after its gate.
        static_channels: Numbers of the channels that this version reads as static variables, at
            the first step of the window.
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
        ValueError: If `variant` is unknown, "time_series_library" without future covariates, or
            `static_channels` are given to "paper" or are not numbers of channels.
        ValueError: If `dropout` is outside [0, 1).
        ValueError: If `head` is unknown.

    Example:
        >>> sizes = {"future": (0, 7)}  # a number, and one of 7 categories
        >>> model = build_tft_model(24, 12, 3, d_model=8, covariates=sizes)
        >>> model.output_shape
        (None, 12, 3)

    Source: Lim et al. (2021), figure 2 and equations 1-21.
    """
    _check_variant(variant, static_channels, num_channels, covariates)

    library = variant == "time_series_library"
    epsilon = TORCH_EPSILON if library else TENSORFLOW_EPSILON
    networks = GatedNetworks(dropout, epsilon, context_bias=library, narrow_last=library)

    def residual_network(x, context=None):
        return networks.residual_network(x, d_model, context)

    def embed(columns, sizes, kind):
        """Return columns as a list of variables `(batch, ..., d_model)`."""
        columns = embed_columns(columns, sizes, kind)
        return [dense(d_model, use_bias=not library)(x) for x in columns]

    def embed_covariates(kind):
        return embed(extra[f"{kind}_covariates"], covariates[kind], kind)

    covariates = covariates or {}
    scaling = STANDARDIZED if library else {}
    window = open_window(context_length, num_channels, head, **scaling)
    extra = covariate_inputs(context_length, prediction_length, covariates)
    static = embed_covariates("static") if "static" in covariates else []
    if library:
        columns = [window.values[..., i : i + 1] for i in range(num_channels)]
        static += [embed_values(columns[i][:, :1], d_model, dropout)[:, 0] for i in static_channels]
        observed = [i for i in range(num_channels) if i not in static_channels]
        past, future = [embed_values(columns[i], d_model, dropout) for i in observed], []
    else:
        past = embed(window.values, [0] * num_channels, "past")
        future = [dense(d_model)(FutureClock(prediction_length)(window.values))]
    if "past" in covariates:
        past += embed_covariates("past")
    if "future" in covariates:
        all_steps = embed_covariates("future")
        past += [x[:, :context_length] for x in all_steps]
        future += [x[:, context_length:] for x in all_steps]

    for_selection = for_enrichment = state = None
    if static:
        static = networks.select(static, "static")
        for_selection, for_enrichment, *state = (residual_network(static) for _ in range(4))
    past = networks.select(past, "past", for_selection)
    future = networks.select(future, "future", for_selection)

    def lstm(x, state, name):
        """Return the steps and the last state; PyTorch's second bias is a constant feature."""
        x = ops.pad(x, ((0, 0), (0, 0), (0, 1)), constant_values=1) if library else x
        layer = layers.LSTM(d_model, return_sequences=True, return_state=True, name=name)
        x, *state = layer(x, initial_state=state)
        return x, state

    encoded, state = lstm(past, state, "encoder")
    decoded, _ = lstm(future, state, "decoder")
    # Locality enhancement, then attention from each future step to all earlier steps.
    x = layers.Concatenate(axis=1)([encoded, decoded])
    sequence = networks.gate(x, layers.Concatenate(axis=1)([past, future]))
    enriched = residual_network(sequence, for_enrichment)
    query = enriched[:, -prediction_length:]
    sizes = {"num_heads": num_heads, "key_dim": d_model // num_heads, "dropout": dropout}
    attention = InterpretableMultiHeadAttention(**sizes, name="attention")
    x = networks.gate(attention(query, enriched), query)
    x = networks.gate(residual_network(x), sequence[:, -prediction_length:], dropout=0.0)
    x = dense(num_channels * head.size, dtype=full_precision(), name="head")(x)
    return window.model(x, head, prediction_length, name, extra=extra)


def _check_variant(variant, static_channels, num_channels, covariates):
    check_choice("variant", variant, ("paper", "time_series_library"))
    if variant == "time_series_library":
        if "future" not in (covariates or {}):
            raise ValueError(f"variant={variant!r} requires future covariates, got none.")
        known = range(num_channels)
        if not set(static_channels) < set(known):
            raise ValueError(
                f"static_channels must be some of the channels {list(known)}, but not all, got "
                f"{tuple(static_channels)}."
            )
    elif static_channels:
        raise ValueError('static_channels require variant="time_series_library".')


@serializable
class InterpretableMultiHeadAttention(KeepsQuantization, keras.layers.Layer):
    """Attention of the last positions of a sequence to all positions that are not later.

    Every head has its own queries and keys, but all heads share the values. Therefore the weights
    of the heads can be averaged, and the average is the importance of each position.

    Args:
        num_heads: int, number of heads.
        key_dim: int, width of queries, keys and values.
        dropout: float in [0, 1), dropout rate of the result of each head and of the projected
            average.

    Call arguments:
        query: `(batch, query, d_model)`, the last `query` positions of the value.
        value: `(batch, key, d_model)`.

    Returns:
        `(batch, query, d_model)`.

    Raises:
        ValueError: If a size is below 1.
        ValueError: If `dropout` is outside [0, 1).

    Example:
        >>> from keras import ops
        >>> layer = InterpretableMultiHeadAttention(num_heads=2, key_dim=8)
        >>> ops.shape(layer(ops.ones((4, 12, 16)), ops.ones((4, 36, 16))))
        (4, 12, 16)

    Source: Lim et al. (2021), equations 13-16.
    """

    def __init__(self, *, num_heads, key_dim, dropout=0.0, **kwargs):
        check_positive_integers(num_heads=num_heads, key_dim=key_dim)
        check_dropout(dropout)
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.key_dim = key_dim
        self.dropout = dropout
        heads = {"output_shape": (None, num_heads, key_dim), "dtype": self.dtype_policy}
        self.query_dense = keras.layers.EinsumDense("btd,dhk->bthk", name="query", **heads)
        self.key_dense = keras.layers.EinsumDense("btd,dhk->bthk", name="key", **heads)
        self.value_dense = keras.layers.Dense(
            key_dim, use_bias=False, dtype=self.dtype_policy, name="value"
        )
        self.weights_dropout = Dropout(dropout, dtype=self.dtype_policy)
        self.output_dropout = Dropout(dropout, dtype=self.dtype_policy)

    def build(self, query_shape, value_shape):
        self.query_dense.build(query_shape)
        self.key_dense.build(value_shape)
        self.value_dense.build(value_shape)
        self.output_dense = keras.layers.Dense(
            query_shape[-1], use_bias=False, dtype=self.dtype_policy, name="output"
        )
        self.output_dense.build((*query_shape[:-1], self.key_dim))

    def call(self, query, value):
        dtype = keras.backend.result_type(self.compute_dtype, "float32")
        queries, keys = self.query_dense(query) * self.key_dim**-0.5, self.key_dense(value)
        if self.compute_dtype == "float16":  # whose products overflow above 65,504
            queries, keys = ops.cast(queries, dtype), ops.cast(keys, dtype)
        scores = ops.cast(ops.einsum("bqhk,bmhk->bhqm", queries, keys), dtype)
        steps, length = query.shape[1], value.shape[1]
        position = ops.reshape(ops.arange(length - steps, length), (-1, 1))  # (query, 1)
        visible = ops.arange(length) <= position  # (query, key)
        weights = ops.softmax(ops.where(visible, scores, ops.cast(HIDDEN_SCORE, dtype)))
        values = self.value_dense(value)
        weights = ops.cast(weights, self.compute_dtype)
        heads = self.weights_dropout(ops.matmul(weights, ops.expand_dims(values, 1)))
        return self.output_dropout(self.output_dense(ops.mean(heads, axis=1)))

    def compute_output_shape(self, query_shape, value_shape):
        return query_shape


@serializable
class FutureClock(keras.layers.Layer):
    """The distance of every step of the horizon from the end of the history, from 1/h to 1.

    Args:
        prediction_length: int, number of steps of the horizon, h.

    Call arguments:
        inputs: `(batch, ...)`; only the batch size is used.

    Returns:
        `(batch, prediction_length, 1)`.

    Raises:
        ValueError: If `prediction_length` is below 1.

    Example:
        >>> from keras import ops
        >>> ops.convert_to_numpy(FutureClock(4)(ops.ones((1, 48, 3))))[0, :, 0].tolist()
        [0.25, 0.5, 0.75, 1.0]
    """

    def __init__(self, prediction_length, **kwargs):
        check_positive_integers(prediction_length=prediction_length)
        super().__init__(**kwargs)
        self.prediction_length = prediction_length

    def call(self, inputs):
        steps = np.arange(1, self.prediction_length + 1)[None, :, None] / self.prediction_length
        steps = ops.convert_to_tensor(steps, self.compute_dtype)
        return ops.broadcast_to(steps, (ops.shape(inputs)[0], self.prediction_length, 1))

    def compute_output_shape(self, inputs_shape):
        return (inputs_shape[0], self.prediction_length, 1)
