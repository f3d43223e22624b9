"""The stationary wavelet transform and its inverse, with learnt filters for each channel."""

import keras
import numpy as np
from keras import ops

from kerastrans.layers.frequency.wavelets import check_wavelet, high_pass, wavelet_filters
from kerastrans.utils.model_files import serializable
from kerastrans.utils.validation import check_positive_integers


@serializable
class StationaryWavelets(keras.layers.Layer):
    """Wavelet coefficients at every step, not at every second step; the series is periodic.

    A level filters the approximation of the level before, with taps twice as far apart. All levels
    share the two filters of a channel, which are those of the wavelet before training.

    Args:
        wavelet: Name of the wavelet, see `kerastrans.layers.frequency.wavelets.wavelet_filters`.
        num_levels: int, number of levels.

    Call arguments:
        inputs: `(batch, num_channels, time)`.

    Returns:
        `(batch, num_channels, 1 + num_levels, time)`: the approximation, then the details, the
        coarsest first.

    Raises:
        ValueError: If `wavelet` is unknown, or `num_levels` is below 1.

    Example:
        >>> from keras import ops
        >>> series = ops.convert_to_tensor([[[1.0, 1.0, 3.0, 3.0]]])
        >>> coefficients = StationaryWavelets("haar", num_levels=1)(series)
        >>> [round(float(x), 2) for x in coefficients[0, 0, 1]]
        [0.0, -1.41, 0.0, 1.41]

    Source: Nason, Silverman (1995), "The stationary wavelet transform and some statistical
    applications"; Chen et al. (2025), SimpleTM, section 3.
    """

    def __init__(self, wavelet, num_levels, **kwargs):
        check_wavelet(wavelet)
        check_positive_integers(num_levels=num_levels)
        super().__init__(**kwargs)
        self.wavelet = wavelet
        self.num_levels = num_levels

    def build(self, inputs_shape):
        analysis, synthesis = wavelet_filters(self.wavelet)
        self.low = _add_filters(self, inputs_shape[1], analysis, "low")
        self.high = _add_filters(self, inputs_shape[1], high_pass(synthesis), "high")

    def call(self, inputs):
        x, details = inputs, []
        before = self.low.shape[1] // 2 - 1
        for level in range(self.num_levels):
            details.append(_filter(x, self.high, 2**level, before))
            x = _filter(x, self.low, 2**level, before)
        return ops.stack([x, *reversed(details)], axis=2)

    def compute_output_shape(self, inputs_shape):
        batch, num_channels, length = inputs_shape
        return (batch, num_channels, 1 + self.num_levels, length)


@serializable
class InverseStationaryWavelets(keras.layers.Layer):
    """Inverse of `StationaryWavelets`, with its own filters for each channel.

    Before training it restores the series exactly: each level is the mean of two reconstructions.

    Args:
        wavelet: Name of the wavelet, see `kerastrans.layers.frequency.wavelets.wavelet_filters`.

    Call arguments:
        inputs: `(batch, num_channels, 1 + num_levels, time)`, see `StationaryWavelets`.

    Returns:
        `(batch, num_channels, time)`.

    Raises:
        ValueError: If `wavelet` is unknown.

    Example:
        >>> from keras import ops
        >>> x = ops.reshape(ops.arange(16.0), (1, 2, 8))
        >>> restored = InverseStationaryWavelets("db2")(StationaryWavelets("db2", 2)(x))
        >>> bool(ops.max(ops.abs(restored - x)) < 1e-4)
        True

    Source: Nason, Silverman (1995), section 2; Chen et al. (2025), SimpleTM, section 3.
    """

    def __init__(self, wavelet, **kwargs):
        check_wavelet(wavelet)
        super().__init__(**kwargs)
        self.wavelet = wavelet

    def build(self, inputs_shape):
        analysis, synthesis = wavelet_filters(self.wavelet)
        self.low = _add_filters(self, inputs_shape[1], synthesis[::-1], "low")
        self.high = _add_filters(self, inputs_shape[1], high_pass(analysis)[::-1], "high")

    def call(self, inputs):
        before = self.low.shape[1] // 2
        x, num_levels = inputs[:, :, 0], inputs.shape[2] - 1
        for i in range(num_levels):
            spacing = 2 ** (num_levels - 1 - i)
            low = _filter(x, self.low, spacing, before)
            x = (low + _filter(inputs[:, :, i + 1], self.high, spacing, before)) / 2
        return x

    def compute_output_shape(self, inputs_shape):
        batch, num_channels, _, length = inputs_shape
        return (batch, num_channels, length)


def _add_filters(layer, num_channels, filter_, name):
    """Add a weight `(num_channels, taps)` whose rows begin as a filter."""

    def initializer(shape, dtype=None):
        return ops.convert_to_tensor(np.broadcast_to(filter_, shape).astype("float32"), dtype)

    return layer.add_weight(shape=(num_channels, len(filter_)), initializer=initializer, name=name)


def _filter(x, filters, spacing, before):
    """Filter a periodic series `(batch, num_channels, time)` by `(num_channels, taps)`.

    The taps are `spacing` steps apart, and `before` of them are on steps before the result's.
    """
    length, taps = x.shape[-1], filters.shape[1]
    spacing %= length  # the same steps of a periodic series
    steps = np.arange(-before * spacing, length + (taps - 1 - before) * spacing) % length
    x = ops.take(x, steps.astype("int32"), axis=-1)
    # A sum of shifted products, because backends are slow at depthwise convolutions.
    return sum(
        x[..., tap * spacing : tap * spacing + length] * filters[:, tap : tap + 1]
        for tap in range(taps)
    )
