"""DeepAR: a recurrent network and a distribution, step by step (Salinas et al., 2020).

Paper: https://arxiv.org/abs/1704.04110
"""

import keras
from keras import layers, ops

from kerastrans import heads
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.normalized_window import open_window
from kerastrans.models.parts.projections import concatenate, dense, fold_channels, unfold_channels
from kerastrans.models.parts.regression import covariate_columns
from kerastrans.utils.keras_internals import (
    KeepsQuantization,
    StackedCells,
    cell_of,
    run_cell,
    state_sizes,
)
from kerastrans.utils.model_files import serializable
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_dropout, check_positive_integers

ARCHITECTURE = {
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
        x = unfold_channels(x, num_channels)  # (batch, prediction_length, channels)
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


@serializable
class RecurrentDecoder(KeepsQuantization, keras.layers.Layer):
    """Stacked LSTM over the history and then over the decoder's inputs, applied to each channel.

    Each step takes the previous value and the covariates of the step. All channels share the
    weights. Missing values are NaN and are replaced by 0. `kerastrans.generate` caches the state
    of the LSTMs.

    Args:
        units: int, width of each LSTM.
        num_layers: int, number of stacked LSTMs.
        dropout: float in [0, 1), dropout rate on the inputs of each LSTM.
        sees_missing: bool, whether each step also takes an indicator: 1 if its value is missing,
            otherwise 0.

    Call arguments:
        inputs: `(batch, time, num_channels)`, the last value of the history, followed by all
            future values except the last.
        history: `(batch, context_length, num_channels)`.
        covariates: `(batch, context_length + time, features)`, or None.

    Returns:
        `(batch, time, num_channels, units)`.

    Raises:
        ValueError: If a size is below 1.
        ValueError: If `dropout` is outside [0, 1).

    Example:
        >>> from keras import ops
        >>> layer = RecurrentDecoder(units=8, num_layers=2)
        >>> ops.shape(layer(ops.ones((4, 12, 3)), ops.ones((4, 48, 3))))
        (4, 12, 3, 8)

    Source: Salinas et al. (2020), figure 2.
    """

    def __init__(self, units, num_layers, dropout=0.0, sees_missing=False, **kwargs):
        check_positive_integers(units=units, num_layers=num_layers)
        check_dropout(dropout)
        super().__init__(**kwargs)
        self.units = units
        self.num_layers = num_layers
        self.dropout = dropout
        self.sees_missing = sees_missing

    def build(self, inputs_shape, history_shape, covariates_shape=None):
        policy = self.dtype_policy
        cells = [
            keras.layers.LSTMCell(self.units, dropout=self.dropout, dtype=policy)
            for _ in range(self.num_layers)
        ]
        cells = StackedCells(cells, dtype=policy)
        self.rnn = keras.layers.RNN(cells, return_sequences=True, return_state=True, dtype=policy)
        features = 0 if covariates_shape is None else covariates_shape[-1]
        self.rnn.build((None, None, 1 + int(self.sees_missing) + features))

    def call(self, inputs, history, covariates=None, training=False):
        values = ops.concatenate([history[:, :-1], inputs], axis=1)
        length, steps = history.shape[1], ops.shape(inputs)[1]
        if covariates is not None:
            covariates = covariates[:, 1 : length + steps]
        outputs, *_ = self.rnn(self._fold(values, covariates), training=training)
        return self._unfold(outputs[:, length - 1 :], inputs.shape[-1])

    def check_decode(self, inputs, history, covariates=None, *, time_axes):
        """See `kerastrans.decoding.contract`."""
        for name in time_axes.keys() - {"inputs"}:
            raise ValueError(f"{self.name}: {name} must not depend on the decoder's input.")
        return covariates is not None

    def start_cache(self, inputs, history, covariates=None, *, batch_size, length):
        """Return the states after the history, a tuple of `(batch * num_channels, units)`."""
        if covariates is not None and covariates.shape[1] < history.shape[1] + length:
            raise ValueError(
                f"{self.name}: {length} steps after a history of {history.shape[1]} require "
                f"covariates of {history.shape[1] + length} steps, got {covariates.shape[1]}."
            )
        if history.shape[1] == 1:
            shape = batch_size * history.shape[-1], self.units
            return tuple(ops.zeros(shape, self.compute_dtype) for _ in range(2 * self.num_layers))
        if covariates is not None:
            covariates = covariates[:, 1 : history.shape[1]]
        _, *states = self.rnn(self._fold(history[:, :-1], covariates))
        return tuple(keras.tree.flatten(states))

    def decode(self, inputs, history, covariates=None, *, cache, index, time_axes):
        """Return the output of the newest step `(batch, 1, num_channels, units)` and its states."""
        if covariates is not None:
            covariates = ops.take(covariates, history.shape[1] + index, axis=1)[:, None]
        x = self._fold(inputs, covariates)[:, 0]
        outputs, states = run_cell(cell_of(self.rnn), x, cache)
        return self._unfold(outputs[:, None], inputs.shape[-1]), tuple(states)

    def _fold(self, values, covariates):
        """Move channels to the batch and append features: `(batch * channels, time, features)`."""
        steps, channels = ops.shape(values)[1], values.shape[-1]
        # (batch * channels, time, 1)
        x = ops.reshape(ops.transpose(values, (0, 2, 1)), (-1, steps, 1))
        missing = ops.isnan(x)
        features = [ops.where(missing, ops.zeros_like(x), x)]
        if self.sees_missing:
            features.append(ops.cast(missing, x.dtype))
        if covariates is not None:
            features.append(ops.repeat(ops.cast(covariates, x.dtype), channels, axis=0))
        return ops.concatenate(features, axis=-1)

    def _unfold(self, outputs, channels):
        """Reshape `(batch * channels, time, units)` to `(batch, time, channels, units)`."""
        steps = ops.shape(outputs)[1]
        return ops.transpose(ops.reshape(outputs, (-1, channels, steps, self.units)), (0, 2, 1, 3))

    def compute_output_shape(self, inputs_shape, history_shape, covariates_shape=None):
        return (*inputs_shape, self.units)


class _Feedback(keras.layers.Layer):
    """Recurrent cell whose input is its own output of the previous step."""

    def __init__(self, cell, head, **kwargs):
        super().__init__(**kwargs)
        self.cell = cell
        self.head = head
        self.state_size = [*state_sizes(cell), head.units]
        self.output_size = head.units

    def call(self, inputs, states, training=False):
        *hidden, previous = states
        features, hidden = run_cell(self.cell, previous, hidden, training=training)
        value = self.head(features)
        return value, [*hidden, ops.cast(value, previous.dtype)]


@serializable
class RecurrentForecaster(KeepsQuantization, keras.layers.Layer):
    """Stacked LSTM over the history, unrolled over the horizon on its own forecasts.

    The same weights are used for the history and the horizon. Each step takes the previous value:
    the observed value in the history, and the network's own forecast in the horizon.

    Args:
        units: int, width of each LSTM.
        num_layers: int, number of stacked LSTMs.
        prediction_length: int, number of steps to forecast.

    Call arguments:
        inputs: `(batch, time, num_channels)`.

    Returns:
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: If a size is below 1.

    Example:
        >>> from keras import ops
        >>> ops.shape(RecurrentForecaster(8, 2, prediction_length=12)(ops.ones((4, 48, 3))))
        (4, 12, 3)

    Source: Salinas et al. (2020), figure 2, with a point forecast instead of a distribution.
    """

    def __init__(self, units, num_layers, prediction_length, **kwargs):
        check_positive_integers(
            units=units, num_layers=num_layers, prediction_length=prediction_length
        )
        super().__init__(**kwargs)
        self.units = units
        self.num_layers = num_layers
        self.prediction_length = prediction_length

    def build(self, inputs_shape):
        num_channels = inputs_shape[-1]
        policy = self.dtype_policy
        cells = [keras.layers.LSTMCell(self.units, dtype=policy) for _ in range(self.num_layers)]
        stacked = StackedCells(cells, dtype=policy)
        self.encoder = keras.layers.RNN(stacked, return_state=True, dtype=policy)
        self.encoder.build(inputs_shape)
        self.head = keras.layers.Dense(num_channels, dtype=self.variable_dtype, name="head")
        self.head.build((None, self.units))
        self.decoder = keras.layers.RNN(
            _Feedback(cell_of(self.encoder), self.head, dtype=policy),
            return_sequences=True,
            dtype=policy,
        )

    def call(self, inputs):
        features, *states = self.encoder(inputs)
        value = self.head(features)
        first = ops.expand_dims(value, 1)
        if self.prediction_length == 1:
            return first
        states = [*keras.tree.flatten(states), value]
        # `RNN` takes its number of steps from its inputs, which `_Feedback` ignores.
        steps = ops.zeros((ops.shape(inputs)[0], self.prediction_length - 1, 1))
        others = self.decoder(steps, initial_state=states)
        return ops.concatenate([first, ops.cast(others, first.dtype)], axis=1)

    def compute_output_shape(self, inputs_shape):
        return (inputs_shape[0], self.prediction_length, inputs_shape[-1])

    def compute_output_spec(self, inputs):
        return keras.KerasTensor(self.compute_output_shape(inputs.shape), self.variable_dtype)
