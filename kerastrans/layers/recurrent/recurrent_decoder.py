"""A recurrent network over the history and the horizon of a series, step by step."""

import keras
from keras import ops

from kerastrans.utils.keras_internals import StackedCells, cell_of, run_cell
from kerastrans.utils.validation import check_dropout, check_positive_integers


@keras.saving.register_keras_serializable(package="kerastrans")
class RecurrentDecoder(keras.layers.Layer):
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

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "num_layers": self.num_layers,
            "dropout": self.dropout,
            "sees_missing": self.sees_missing,
        }
