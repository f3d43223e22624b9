"""TimesNet: convolutions over a series folded at its periods (Wu et al., 2023, figures 2-3).

Paper: https://arxiv.org/abs/2210.02186
Code: https://github.com/thuml/Time-Series-Library/tree/4e938a1
"""

import functools

import keras
from keras import layers, ops

from kerastrans.layers.frequency.fourier import rfft
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.encoder_decoders import embed_values
from kerastrans.models.parts.normalized_window import STANDARDIZED, open_window
from kerastrans.models.parts.projections import dense, time_dense
from kerastrans.models.parts.sublayers import TORCH_EPSILON
from kerastrans.utils.model_files import serializable
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_positive_integers

ARCHITECTURE = {
    "summary": "images of periods",
    "license": "MIT",
    "tags": ("convolution", "mixes channels", "affine", "takes heads"),
    "paper": {"num_kernels": 6},
    "features": "head: b t f",
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

    window = open_window(context_length, num_channels, head, **STANDARDIZED)
    x = time_dense(embed_values(window.values, d_model, dropout), length)
    normalise = layers.LayerNormalization(epsilon=TORCH_EPSILON)
    for _ in range(num_blocks):
        x = normalise(times_block(x))
    x = x[:, -prediction_length:]
    x = dense(num_channels * head.size, dtype=full_precision(), name="head")(x)
    return window.model(x, head, prediction_length, name)


def _strongest_periods(x, count, of_batch=False):
    """Return the periods `(batch, count)` of the strongest frequencies, and softmax weights."""
    length = x.shape[1]
    series = ops.cast(ops.transpose(x, (0, 2, 1)), full_precision())  # (batch, d_model, time)
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


@serializable
class PeriodicConvolution(keras.layers.Layer):
    """Mean of several square convolutions on the image whose rows are the periods of a series.

    The image is never built, since its shape would depend on the period. Instead, tap (i, j) of a
    kernel reads the value `i` periods and `j` steps away, if it is in the same row. All shapes are
    therefore static, and the layer compiles on all backends. The kernels of width 1, 3, 5, ... are
    averaged into one kernel before they are applied.

    Args:
        filters: int, number of output features.
        num_kernels: int, number of kernels; the largest is `2 * num_kernels - 1` wide.
        length: int, number of steps of the series, if the inputs are longer because of
            `pad_to_image`: the last row is completed, and what follows it is 0 in the output. None
            if the inputs are the series: the last row ends with it, and is padded with zeros.
        kernel_biases: bool, whether each kernel has its own bias, as in the reference code.

    Call arguments:
        inputs: `(batch, time, channels)`.
        period: Integers `(batch,)`, length of the rows.

    Returns:
        `(batch, time, filters)`.

    Raises:
        ValueError: If a size is below 1.
        ValueError: If the inputs are shorter than `length`.

    Example:
        >>> from keras import ops
        >>> layer = PeriodicConvolution(filters=8, num_kernels=2)
        >>> ops.shape(layer(ops.ones((2, 48, 3)), ops.convert_to_tensor([12, 24])))
        (2, 48, 8)

    Source: Wu et al. (2023), TimesNet, equations 4-5 (inception block).
    """

    def __init__(self, filters, num_kernels=6, length=None, kernel_biases=False, **kwargs):
        check_positive_integers(filters=filters, num_kernels=num_kernels)
        super().__init__(**kwargs)
        self.filters = filters
        self.num_kernels = num_kernels
        self.length = length
        self.kernel_biases = kernel_biases

    def build(self, inputs_shape, period_shape):
        if self.length is not None and inputs_shape[1] < self.length:
            raise ValueError(f"length={self.length} steps are not in {inputs_shape[1]} inputs.")
        normal = functools.partial(
            keras.initializers.VarianceScaling, 2.0, "fan_out", "untruncated_normal"
        )
        self.kernels = [
            self.add_weight(
                shape=(size, size, inputs_shape[-1], self.filters),
                initializer=normal(),
                name=f"kernel_{size}",
            )
            for size in range(1, 2 * self.num_kernels, 2)
        ]
        shape = (self.num_kernels, self.filters) if self.kernel_biases else (self.filters,)
        self.bias = self.add_weight(shape=shape, initializer="zeros", name="bias")

    def call(self, inputs, period):
        _, length, channels = inputs.shape
        reach = self.num_kernels - 1
        width = 2 * reach + 1
        taps = ops.arange(-reach, reach + 1, dtype="int32")
        period = ops.reshape(ops.cast(period, "int32"), (-1, 1, 1))  # (batch, 1, 1)
        # The image ends with its last row, or with the inputs.
        size = length
        if self.length is not None:
            size = (self.length + period - 1) // period * period

        # Gather the rows above and below each step: (batch, steps, taps * channels). The steps run
        # from `reach` before the first to `reach` after the last.
        steps = ops.arange(-reach, length + reach, dtype="int32")
        rows = ops.expand_dims(steps, 1) + taps * period  # (batch, steps, taps)
        inside = ops.cast((rows >= 0) & (rows < size), inputs.dtype)
        batch = ops.shape(inputs)[0]
        start = ops.reshape(ops.arange(batch, dtype="int32") * length, (-1, 1, 1))  # (batch, 1, 1)
        flat = ops.reshape(inputs, (-1, channels))  # (batch * time, channels)
        # (batch, steps, taps, channels)
        gathered = ops.take(flat, ops.clip(rows, 0, length - 1) + start, axis=0)
        gathered = gathered * ops.expand_dims(inside, -1)
        # (batch, steps, taps * channels)
        gathered = ops.reshape(gathered, (-1, length + 2 * reach, width * channels))

        # Convolve along the row: multiply by the kernel of each tap, shift the product by the tap,
        # and drop products that leave the row. The products are split and not sliced, because the
        # gradient of each slice would be as large as all products together.
        products = ops.matmul(gathered, self._kernel(width, channels))
        products = ops.split(products, width, axis=-1)
        column = ops.expand_dims(ops.arange(length, dtype="int32"), 1)
        column = ops.mod(column, period) + taps  # (batch, time, taps)
        in_row = ops.cast((column >= 0) & (column < period), inputs.dtype)
        outputs = sum(
            product[:, tap : tap + length] * in_row[:, :, tap : tap + 1]
            for tap, product in enumerate(products)
        )
        bias = ops.mean(self.bias, axis=0) if self.kernel_biases else self.bias
        outputs = outputs + ops.cast(bias, outputs.dtype)
        if self.length is None:
            return outputs
        steps = ops.reshape(ops.arange(length, dtype="int32"), (1, -1, 1))  # (1, time, 1)
        return outputs * ops.cast(steps < size, outputs.dtype)

    def _kernel(self, size, channels):
        """Return the mean kernel as `(row taps * channels, column taps * filters)`."""
        padded = []
        for kernel in self.kernels:
            margin = (size - kernel.shape[0]) // 2
            padded.append(ops.pad(kernel, ((margin, margin), (margin, margin), (0, 0), (0, 0))))
        kernel = ops.cast(sum(padded) / len(padded), self.compute_dtype)
        kernel = ops.transpose(kernel, (0, 2, 1, 3))  # (row, channels, column, filters)
        return ops.reshape(kernel, (size * channels, size * self.filters))

    def compute_output_shape(self, inputs_shape, period_shape):
        return (*inputs_shape[:-1], self.filters)


def pad_to_image(x):
    """Pad a series `(batch, time, channels)` with zeros, so that the rows of each image are whole.

    The periods of `time` steps are `time // frequency` for the frequencies up to half of them.
    """
    length = x.shape[1]
    periods = {length // frequency for frequency in range(1, max(2, length // 2 + 1))}
    longest = max(-(-length // period) * period for period in periods)
    return ops.pad(x, ((0, 0), (0, longest - length), (0, 0)))
