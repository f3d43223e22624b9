"""Forecasts of windows by the network of kerastrans-zero, also of the series of each phase."""

import keras
import numpy as np
from keras import ops
from keras.backend import standardize_dtype

from kerastrans.layers import ObservedNormalization
from kerastrans.models.pretrained.scaling import rescaled
from kerastrans.models.pretrained.zero.network import shorten
from kerastrans.utils.model_files import serializable
from kerastrans.utils.precision import full_precision

SHARE = 0.25  # of the forecast of a phase's own series
LEAST_CYCLES = 3  # number of known values of a phase below which its series is not forecast
SHORTEST_PHASE = 64  # smallest window of a phase's series


def normalized(history, length, prediction_length):
    """Return the inputs of the network for histories `(batch, time)`, NaN where missing.

    Args:
        history: Tensor.
        length: int, number of steps that the network reads.
        prediction_length: int, number of steps to forecast.

    Returns:
        `([values, observed, steps], location, scale)`, see `build_network`; location and scale are
        `(batch, 1)`, the mean and the deviation of each window.
    """
    values, observed, location, scale = ObservedNormalization()(history[:, -length:])
    padding = [[0, 0], [length - values.shape[1], 0]]
    values, observed = ops.pad(values, padding), ops.pad(observed, padding)
    steps = np.arange(1, prediction_length + 1, dtype=standardize_dtype(values.dtype))[None]
    steps = ops.add(ops.zeros_like(values[:, :1]), steps)
    return [values, observed, steps], location, scale


def forecast_windows(network, history, prediction_length):
    """Return quantiles `(batch, prediction_length, quantiles)` in the units of the histories."""
    length = network.inputs[0].shape[1]
    inputs, location, scale = normalized(history, length, prediction_length)
    return rescaled(network(inputs), location, scale)


def since_window(network, inputs):
    """Return a dict of inputs by name, all from the first step of the window that is read."""
    earlier = max(0, inputs["history"].shape[1] - network.inputs[0].shape[1])
    return {name: x[:, earlier:] for name, x in inputs.items()}


@serializable
class PhaseForecasts(keras.layers.Layer):
    """Forecasts windows, and the series of each phase of a season, and averages both.

    The series of a phase has every `season`-th value, such as the loads at 3 o'clock. It sees as
    many days in 64 steps as the window itself in 1,536. Its forecast has a quarter of the weight,
    and none if fewer than three values of the phase are known. The layer has the weights of the
    network.

    Args:
        network: Keras model, see `build_network`.
        season: int, number of steps of a season.
        prediction_length: int, number of steps to forecast.
        **kwargs: Additional arguments of `keras.layers.Layer`.

    Call arguments:
        history: `(batch, time)`, NaN where missing. The network reads the last steps.

    Returns:
        Quantiles `(batch, prediction_length, quantiles)` in the units of the history.
    """

    takes_missing = True

    def __init__(self, network, season, prediction_length, **kwargs):
        super().__init__(**{"dtype": full_precision(), **kwargs})
        self.network, self.season, self.prediction_length = network, season, prediction_length

    def build(self, history_shape):
        self.cycles = -(-history_shape[1] // self.season)
        window = SHORTEST_PHASE
        while window < self.cycles:
            window *= 2
        self.of_phases = shorten(self.network, window)  # which has the same dense layers
        super().build(history_shape)

    @property
    def num_phases(self):
        """Number of phases that are forecast."""
        return min(self.season, self.prediction_length)

    @property
    def num_cycles_ahead(self):
        """Number of steps that the series of a phase is forecast."""
        return -(-self.prediction_length // self.season)

    def call(self, history):
        whole = forecast_windows(self.network, history, self.prediction_length)
        series, share = self.split(history)
        x = forecast_windows(self.of_phases, series, self.num_cycles_ahead)
        x = self.in_order(x)
        return whole + share[..., None] * (x - whole)

    def split(self, history):
        """Return the series of each phase, and the weights of their forecasts.

        Args:
            history: `(batch, time)`, NaN where missing.

        Returns:
            Tensors `(batch * num_phases, cycles)`, that of the next step first, and
            `(batch, prediction_length)`.
        """
        # The last steps of a history are the end of a cycle: the first phase is the next step's.
        padding = [[0, 0], [self.cycles * self.season - history.shape[1], 0]]
        x = ops.pad(history, padding, constant_values=np.nan)
        x = ops.reshape(x, (-1, self.cycles, self.season))[:, :, : self.num_phases]
        known = ops.sum(ops.cast(ops.logical_not(ops.isnan(x)), history.dtype), axis=1)
        share = ops.where(known >= LEAST_CYCLES, SHARE, 0.0)
        share = ops.concatenate([share] * self.num_cycles_ahead, axis=1)
        x = ops.reshape(ops.transpose(x, (0, 2, 1)), (-1, self.cycles))
        return x, share[:, : self.prediction_length]

    def in_order(self, x):
        """Return values of the phases in the order of the steps.

        Args:
            x: `(batch * num_phases, num_cycles_ahead, ...)`.

        Returns:
            `(batch, prediction_length, ...)`.
        """
        steps, rest = self.num_cycles_ahead, tuple(x.shape[2:])
        x = ops.reshape(x, (-1, self.num_phases, steps, *rest))
        x = ops.transpose(x, (0, 2, 1, *range(3, 3 + len(rest))))
        return ops.reshape(x, (-1, steps * self.num_phases, *rest))[:, : self.prediction_length]

    def compute_output_shape(self, history_shape):
        quantiles = self.network.output_shape[-1]
        return (history_shape[0], self.prediction_length, quantiles)

    @classmethod
    def from_config(cls, config):
        network = keras.saving.deserialize_keras_object(config["network"])
        return cls(**{**config, "network": network})
