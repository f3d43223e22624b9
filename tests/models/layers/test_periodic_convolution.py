import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kerastrans.models.timesnet import PeriodicConvolution, pad_to_image
from tests.conftest import to_numpy

SERIES = np.random.default_rng(0).standard_normal((3, 17, 2)).astype("float32")


def reference(series, period, kernels, bias):
    """Fold into rows of one period, convolve with each kernel, unfold."""
    length, channels = series.shape
    rows = -(-length // period)
    image = np.zeros((rows, period, channels))
    image.reshape(rows * period, channels)[:length] = series
    total = 0
    for kernel in kernels:
        reach = kernel.shape[0] // 2
        padded = np.pad(image, ((reach, reach), (reach, reach), (0, 0)))
        total = total + sum(
            padded[i : i + rows, j : j + period] @ kernel[i, j]
            for i in range(kernel.shape[0])
            for j in range(kernel.shape[1])
        )
    return (total / len(kernels)).reshape(rows * period, -1)[:length] + bias


def test_of_two_convolutions_the_second_reads_the_whole_image():
    """The steps that complete the last row are those of the first one's output, and not zeros."""
    length, periods = SERIES.shape[1], [17, 8, 5]  # 17 // 1, 2, 3
    image = pad_to_image(SERIES)
    first, second = (
        PeriodicConvolution(filters, num_kernels=2, length=length, kernel_biases=True)
        for filters in (4, 3)
    )
    second(first(image, np.array(periods)), np.array(periods))
    for layer in (first, second):
        layer.bias.assign(np.random.default_rng(1).standard_normal(layer.bias.shape))
    outputs = to_numpy(second(first(image, np.array(periods)), np.array(periods)))
    for series, period, output in zip(SERIES, periods, outputs, strict=True):
        rows = -(-length // period)
        expected = np.pad(series, ((0, rows * period - length), (0, 0)))
        for layer in (first, second):
            kernels = [to_numpy(kernel) for kernel in layer.kernels]
            expected = reference(expected, period, kernels, to_numpy(layer.bias).mean(axis=0))
        np.testing.assert_allclose(output[: rows * period], expected, atol=1e-4)
        assert not output[rows * period :].any()


@settings(max_examples=8)
@given(st.lists(st.integers(1, 17), min_size=3, max_size=3))
def test_layer_equals_the_convolution_of_the_folded_series(periods):
    layer = PeriodicConvolution(4, num_kernels=3)
    outputs = to_numpy(layer(SERIES, np.array(periods)))
    kernels = [to_numpy(kernel) for kernel in layer.kernels]
    bias = to_numpy(layer.bias)
    for series, period, output in zip(SERIES, periods, outputs, strict=True):
        np.testing.assert_allclose(output, reference(series, period, kernels, bias), atol=1e-4)
