"""Amplifier: raise the energy of weak frequencies, forecast, and restore it (Fei et al., 2025).

Paper: https://arxiv.org/abs/2501.17216
Code: https://github.com/aikunyi/Amplifier/tree/d43dd59
"""

from keras import layers, ops

from kerastrans.layers import ComplexDense, SeriesDecomposition
from kerastrans.layers.frequency.fourier import irfft, rfft
from kerastrans.layers.initializers import FanInUniform
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.normalized_window import STANDARDIZED, open_window
from kerastrans.models.parts.projections import dense, time_dense
from kerastrans.utils.precision import full_precision

ARCHITECTURE = {
    "summary": "weak frequencies amplified by the flipped spectrum",
    "tags": ("mlp", "mixes channels", "affine", "takes heads"),
    "paper": {"hidden_dim": 512},
    "features": "season|trend: b f c",
}


@checked
def build_amplifier_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    hidden_dim=128,
    moving_average=25,
    mix_channels=True,
    head=None,
    name="amplifier",
):
    """Build Amplifier: the flipped spectrum of the window gives energy to its weak frequencies.

    Two networks forecast season and trend of the amplified window, and a complex map of the flipped
    spectrum takes the additional energy out of their forecast.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        hidden_dim: int, hidden width of the networks over time.
        moving_average: int, number of steps in the moving average that estimates the trend.
        mix_channels: bool, whether the channels exchange information through a common pattern
            (semi-channel interaction); without it, channels are forecast independently.
        head: None for point forecasts, or a head of `kerastrans.heads`, whose parameters are the
            last axis of the output.
        name: str, name of the model.

    Returns:
        A functional Keras model that maps `(batch, context_length, num_channels)` to
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: If a size is below 1, or too large.
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_amplifier_model(24, 12, 3, hidden_dim=8, moving_average=7)
        >>> model.output_shape
        (None, 12, 3)

    Source: Fei et al. (2025), "Amplifier: Bringing attention to neglected low-energy components in
    time series forecasting", section 4. The learnt factor of the flipped spectrum is that of the
    published code.
    """
    dtype = full_precision()
    activation = layers.LeakyReLU(0.01)

    def flip_spectrum(spectrum):
        """Reverse the order of the frequencies, and weigh them (energy amplification)."""
        weigh = layers.EinsumDense(
            "bcf,cf->bcf",
            (num_channels, context_length // 2 + 1),
            kernel_initializer="ones",
            dtype=dtype,
            name="amplification",
        )
        return [weigh(ops.flip(part, axis=-1)) for part in spectrum]

    def map_time(x, length, name, **options):
        """Map the time axis by one hidden layer: `(batch, time, c)` -> `(batch, length, c)`."""
        x = time_dense(x, hidden_dim, activation=activation, name=f"{name}_hidden")
        return time_dense(x, length, name=name, **options)

    def interact(x):
        """Map the common pattern of all channels, and separately what each adds to it (SCI)."""
        common = dense(num_channels, activation=activation, name="pattern_hidden")(x)
        common = map_time(dense(1, name="pattern")(common), context_length, "common")
        return common + map_time(x - common, context_length, "specific")

    def restore(flipped):
        """Return what the flipped spectrum adds to the forecast (energy restoration).

        The result has the layout of `map_time`.
        """
        bins = prediction_length // 2 + 1
        spectrum = ComplexDense(
            bins * head.size,
            kernel_initializer=FanInUniform(),
            imaginary_initializer="zeros",
            name="restoration",
        )(*flipped)
        shape = (-1, num_channels, head.size, bins)
        # (batch, channels, size, time)
        x = irfft(*(ops.reshape(part, shape) for part in spectrum), prediction_length)
        x = ops.transpose(x, (0, 3, 2, 1))  # (batch, time, size, channels)
        # (batch, time * size, channels)
        return ops.reshape(x, (-1, prediction_length * head.size, num_channels))

    window = open_window(context_length, num_channels, head, **STANDARDIZED, affine=True)
    spectrum = rfft(ops.transpose(window.values, (0, 2, 1)))  # (batch, channels, frequencies)
    flipped = flip_spectrum(spectrum)
    amplified = (part + more for part, more in zip(spectrum, flipped, strict=True))
    # (batch, context_length, channels)
    x = ops.transpose(irfft(*amplified, context_length), (0, 2, 1))
    if mix_channels:
        x = interact(x)
    season, trend = SeriesDecomposition(moving_average, dtype=dtype)(x)
    length = prediction_length * head.size
    season = map_time(season, length, "season", dtype=dtype)
    trend = map_time(trend, length, "trend", dtype=dtype)
    # In the paper the spectra of forecast and flipped part are subtracted, which is the same.
    x = layers.Subtract(dtype=dtype)([layers.Add(dtype=dtype)([season, trend]), restore(flipped)])
    return window.model(x, head, prediction_length, name)
