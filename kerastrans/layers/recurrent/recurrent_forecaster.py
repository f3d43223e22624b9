"""A recurrent network that takes the history and then its own forecasts as inputs."""

import keras
from keras import ops

from kerastrans.utils.keras_internals import StackedCells, cell_of, run_cell, state_sizes
from kerastrans.utils.validation import check_positive_integers


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


@keras.saving.register_keras_serializable(package="kerastrans")
class RecurrentForecaster(keras.layers.Layer):
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

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "num_layers": self.num_layers,
            "prediction_length": self.prediction_length,
        }
