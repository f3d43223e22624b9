"""FITS: interpolation of the spectrum by one complex matrix (Xu et al., 2024, figure 2).

Paper: https://arxiv.org/abs/2307.03756
Code: https://github.com/VEWOXIC/FITS/tree/d040bb0
"""

from keras import ops

from kerastrans.layers import ComplexDense
from kerastrans.layers.frequency.fourier import irfft, rfft
from kerastrans.layers.initializers import FanInUniform
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.normalized_window import STANDARDIZED, open_window
from kerastrans.utils.validation import check_at_most

ARCHITECTURE = {
    "summary": "complex map from spectrum to longer spectrum",
    "license": "Apache-2.0",
    "tags": ("linear", "channel independent", "affine", "takes heads"),
}


@checked
def build_fits_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    num_frequencies=None,
    individual=False,
    even_length=False,
    head=None,
    name="fits",
):
    """Build FITS: the lowest frequencies of the window are mapped to those of window and future.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        num_frequencies: int, number of frequencies of the window that are kept, the lowest, at most
            `context_length // 2 + 1`; None for all.
        individual: bool, whether each channel has its own weights or all channels share them.
        even_length: bool, whether the longer series has an even number of steps, as in the authors'
            code: if `context_length + prediction_length` is odd, the forecast then starts one step
            early.
        head: None for point forecasts, or a head of `kerastrans.heads`, whose parameters are the
            last axis of the output.
        name: str, name of the model.

    Returns:
        A functional Keras model that maps `(batch, context_length, num_channels)` to
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: If a size is below 1, or too large.
        ValueError: If the window has fewer than `num_frequencies` frequencies.
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_fits_model(24, 12, 3, num_frequencies=6)
        >>> model.output_shape
        (None, 12, 3)

    Source: Xu et al. (2024), "FITS: Modeling time series with 10k parameters", section 3.
    """
    length = context_length + prediction_length
    bins = context_length // 2 + 1
    kept = bins if num_frequencies is None else num_frequencies
    check_at_most(**{"num_frequencies": kept, "context_length // 2 + 1": bins})
    longer = min(int(kept * length / context_length), length // 2 + 1)

    window = open_window(context_length, num_channels, head, **STANDARDIZED, ddof=1)
    spectrum = rfft(ops.transpose(window.values, (0, 2, 1)))  # (batch, channels, frequencies)
    spectrum = ComplexDense(longer * head.size, individual, kernel_initializer=FanInUniform())(
        *(part[..., :kept] for part in spectrum)
    )
    missing = length // 2 + 1 - longer
    spectrum = [
        ops.pad(
            # (batch, channels, size, frequencies)
            ops.reshape(part, (-1, num_channels, head.size, longer)),
            ((0, 0), (0, 0), (0, 0), (0, missing)),
        )
        for part in spectrum
    ]
    x = irfft(*spectrum, length - length % 2 if even_length else length) * (length / context_length)
    x = ops.transpose(x[..., -prediction_length:], (0, 3, 1, 2))  # (batch, time, channels, size)
    # (batch, time, channels * size)
    x = ops.reshape(x, (-1, prediction_length, num_channels * head.size))
    return window.model(x, head, prediction_length, name)
