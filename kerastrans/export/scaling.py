"""A model's scaling inside an exported file, in float32."""

import keras
import numpy as np

from kerastrans.data.scaling import StandardScaler, WindowScaler


def check_scaler(model, head, scaler, num_channels):
    """Raise ValueError for a scaler of another width, or one that the head cannot undo."""
    if isinstance(scaler, StandardScaler) and len(scaler.mean) != num_channels:
        raise ValueError(
            f"the model's input has {num_channels} channels, the scaler {len(scaler.mean)}: they "
            "must agree."
        )
    if not scaler.is_identity:  # a head of counts says here that it has no scale
        parameters = np.zeros([size or 1 for size in model.output_shape])
        head.rescale(parameters, np.zeros(num_channels), np.ones(num_channels))


def unscaled(predict, head, scaler, takes_missing):
    """The function from raw history, and the model's further inputs, to the head's outputs.

    Args:
        predict: function from scaled history `(batch, context_length, num_channels)`, and the
            further inputs, to the head's parameters `(batch, prediction_length, num_channels[,
            head.size])`.
        head: of the model.
        scaler: `StandardScaler`, `WindowScaler` or None.
        takes_missing: bool, whether `predict` takes NaN for a missing value; otherwise it gets 0.
    """
    import tensorflow as tf

    by_window = isinstance(scaler, WindowScaler)
    if scaler is None or scaler.is_identity:  # counts stay as they are

        def function(history, *further):
            if not takes_missing:
                history = tf.where(tf.math.is_nan(history), 0.0, history)
            return head.outputs(predict(history, *further))

        return function

    def function(history, *further):
        if by_window:
            unit = _unit(history)
            history = history / unit
        center, scale = scaler.statistics(history, keras.ops)
        x = (history - center) / scale
        if not takes_missing:
            x = tf.where(tf.math.is_nan(x), 0.0, x)
        parameters = head.rescale(predict(x, *further), center, scale)
        if by_window:
            parameters = head.rescale(parameters, tf.zeros_like(unit), unit)
        return head.outputs(parameters)

    return function


def _unit(history):
    """A power of two near the largest magnitude of each window, `(batch, 1, num_channels)`.

    Python computes a window's statistics in float64. Here they are float32, whose squares overflow
    from 2e19 on and vanish below 1e-19. Divided by a power of two nothing is rounded, and of 1e-5
    to 6e4 the power is 1.
    """
    import tensorflow as tf

    magnitude = tf.abs(tf.where(tf.math.is_nan(history), 0.0, history))
    largest = tf.reduce_max(magnitude, axis=1, keepdims=True)
    unit = tf.ones_like(largest)
    for power in (32, 64, 96):
        unit = tf.where(largest >= 2.0 ** (power - 16), 2.0**power, unit)
        unit = tf.where((largest < 2.0 ** (16 - power)) & (largest > 0.0), 2.0**-power, unit)
    return unit
