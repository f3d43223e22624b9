"""TimesNet: convolutions over a series folded at its periods (Wu et al., 2023, figures 2-3)."""

import keras
from keras import layers, ops

from kerastrans.layers import PeriodicConvolution
from kerastrans.layers.frequency.fourier import rfft
from kerastrans.layers.frequency.periodic_convolution import pad_to_image
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.encoder_decoders import embed_values
from kerastrans.models.parts.normalized_window import open_window
from kerastrans.models.parts.projections import dense, time_dense
from kerastrans.models.parts.sublayers import TORCH_EPSILON
from kerastrans.utils.precision import full_precision

ARCHITECTURE = {
    "title": "TimesNet",
    "source": "Wu et al.",
    "year": 2023,
    "summary": "images of periods",
    "license": "MIT",
    "tags": ("convolution", "mixes channels", "affine", "takes heads"),
    "paper": {"num_kernels": 6},
}
SEARCH_SPACE = {
    "d_model": (8, 16, 32),
    "num_periods": (2, 3, 5),
    "dropout": (0.0, 0.1),
}


@checked
def build_timesnet_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    d_model=16,
    ff_dim=32,
    num_blocks=2,
    num_periods=5,
    num_kernels=3,
    batch_periods=False,
    dropout=0.1,
    head=None,
    name="timesnet",
):
    """Build TimesNet: the series is folded at its periods and convolved as an image.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        d_model: int, number of features of each step.
        ff_dim: int, number of features between the two convolutions of a block.
        num_blocks: int, number of blocks.
        num_periods: int, number of periods that each block folds the series at: those of the
            strongest frequencies of each window.
        num_kernels: int, number of kernels of each convolution: 1, 3, 5, ... wide.
        batch_periods: bool, whether all windows of a batch have the same periods, those of their
            mean spectrum, as in the authors' code. A forecast then depends on the other windows.
        dropout: float in [0, 1), dropout rate.
        head: None for point forecasts, or a head of `kerastrans.heads`, whose parameters are the
            last axis of the output.
        name: str, name of the model.

    Returns:
        A functional Keras model that maps `(batch, context_length, num_channels)` to
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: If a size is below 1, or too large.
        ValueError: If there are more periods than the series has frequencies.
        ValueError: If `dropout` is outside [0, 1).
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_timesnet_model(24, 12, 3, d_model=8, ff_dim=8, num_kernels=3)
        >>> model.output_shape
        (None, 12, 3)

    Source: Wu et al. (2023), equations 1-6, without the calendar embedding. The published code
    chooses the periods of a whole batch; here each window has its own periods.
    """
    length = context_length + prediction_length
    if num_periods > length // 2:
        raise ValueError(
            f"num_periods must be at most {length // 2}, the frequencies of "
            f"context_length + prediction_length = {length} steps, got {num_periods}."
        )

    def times_block(x):
        options = {"length": length, "kernel_biases": True}
        first = PeriodicConvolution(ff_dim, num_kernels, **options)
        second = PeriodicConvolution(d_model, num_kernels, **options)
        periods, weights = _strongest_periods(x, num_periods, batch_periods)
        image = pad_to_image(x)

        def convolve(period):
            """Apply both convolutions to the whole image, then drop what was padded."""
            y = second(layers.Activation("gelu")(first(image, period)), period)
            return y[:, :length]

        images = [
            convolve(periods[:, i]) * ops.cast(weights[:, i, None, None], x.dtype)
            for i in range(num_periods)
        ]
        return layers.Add()([x, *images])

    window = open_window(context_length, num_channels, head, center="mean", scale="std")
    x = time_dense(embed_values(window.values, d_model, dropout), length)
    normalise = layers.LayerNormalization(epsilon=TORCH_EPSILON)
    for _ in range(num_blocks):
        x = normalise(times_block(x))
    x = x[:, -prediction_length:]
    x = dense(num_channels * head.size, dtype=full_precision(), name="head")(x)
    outputs = window.forecast(x, head, prediction_length)
    return keras.Model(window.history, outputs, name=name)


def _strongest_periods(x, count, of_batch=False):
    """Return the periods `(batch, count)` of the strongest frequencies, and softmax weights."""
    length = x.shape[1]
    series = ops.cast(ops.transpose(x, (0, 2, 1)), full_precision())
    real, imaginary = rfft(series)
    strength = ops.mean(ops.sqrt(ops.square(real) + ops.square(imaginary) + 1e-12), axis=1)
    strength = strength[:, 1:]  # without frequency 0
    if of_batch:
        mean = ops.mean(strength, axis=0, keepdims=True)
        _, frequencies = ops.top_k(mean + ops.zeros_like(strength), count)
        strengths = ops.take_along_axis(strength, frequencies, axis=1)
    else:
        strengths, frequencies = ops.top_k(strength, count)
    return length // (frequencies + 1), ops.softmax(strengths)
