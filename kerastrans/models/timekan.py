"""TimeKAN: Chebyshev polynomials for each band of frequencies (Huang et al., 2025, figure 2).

Paper: https://arxiv.org/abs/2502.06910
Code: https://github.com/huangst21/TimeKAN/tree/3a7c366
"""

import itertools

import keras
from keras import layers, ops

from kerastrans.layers import Dropout, ValueEmbedding
from kerastrans.layers.frequency.fourier import irfft, rfft
from kerastrans.layers.initializers import FanInUniform
from kerastrans.models.parts.checks import check_scales, checked
from kerastrans.models.parts.normalized_window import STANDARDIZED, open_window, pool_window
from kerastrans.models.parts.projections import dense, fold_channels, time_dense, unfold_channels
from kerastrans.utils.model_files import serializable
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_positive_integers

ARCHITECTURE = {
    "summary": "Chebyshev polynomials per band of frequencies",
    "license": "Apache-2.0",
    "tags": ("mlp", "channel independent", "affine", "takes heads"),
    "features": "head: bc t f",
}


@checked
def build_timekan_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    d_model=16,
    num_blocks=2,
    num_scales=3,
    num_terms=2,
    dropout=0.1,
    standardize=True,
    head=None,
    name="timekan",
):
    """Build TimeKAN; all channels share the weights.

    Each block separates the bands of frequencies that one resolution has and the next coarser one
    has not, maps each band, and adds the bands from coarse to fine.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        d_model: int, number of features of each step.
        num_blocks: int, number of blocks.
        num_scales: int, number of resolutions, including the given one.
        num_terms: int, number of terms of the polynomials of the coarsest resolution; each finer
            one has one more.
        dropout: float in [0, 1), dropout rate of the embedded steps.
        standardize: bool, whether each window is normalised by its mean and standard deviation,
            with a learnt scale and offset per channel.
        head: None for point forecasts, or a head of `kerastrans.heads`, whose parameters are the
            last axis of the output.
        name: str, name of the model.

    Returns:
        A functional Keras model that maps `(batch, context_length, num_channels)` to
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: If a size is below 1, or too large.
        ValueError: If the context is too short for the coarsest resolution.
        ValueError: If `dropout` is outside [0, 1).
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_timekan_model(24, 12, 3, d_model=8)
        >>> model.output_shape
        (None, 12, 3)

    Source: Huang et al. (2025), "TimeKAN: KAN-based frequency decomposition learning architecture
    for long-term time series forecasting", section 3.
    """
    check_scales(num_scales, context_length)
    dtype = full_precision()

    def refine(x, length):
        """Interpolate a coarser resolution: `(rows, time, d)` -> `(rows, length, d)`."""
        coarse = x.shape[1]
        spectrum = rfft(ops.transpose(x, (0, 2, 1)))  # (rows, d, frequencies)
        missing = length // 2 + 1 - spectrum[0].shape[-1]
        spectrum = [ops.pad(part, ((0, 0), (0, 0), (0, missing))) for part in spectrum]
        return ops.transpose(irfft(*spectrum, length), (0, 2, 1)) * (coarse / length)

    def map_band(x, terms):
        """Map the features of each step by polynomials, and each feature over three steps."""
        convolve = layers.DepthwiseConv1D(
            3,
            padding="same",
            use_bias=False,
            depthwise_initializer=FanInUniform(input_axes=(0,), output_axes=(1,)),
        )
        return layers.Add(dtype=dtype)([ChebyshevDense(d_model, terms)(x), convolve(x)])

    def mix_bands(scales):
        bands = [x - refine(coarser, x.shape[1]) for x, coarser in itertools.pairwise(scales)]
        x = map_band(scales[-1], num_terms)
        mixed = [x]
        for i, band in enumerate(reversed(bands)):  # from coarse to fine
            x = map_band(band, num_terms + 1 + i) + refine(x, band.shape[1])
            mixed.append(x)
        return mixed[::-1]

    window = open_window(
        context_length, num_channels, head, **STANDARDIZED, affine=True, standardize=standardize
    )
    embed = ValueEmbedding(d_model, dtype=dtype)
    scales = pool_window(window, num_scales, standardize)
    # (batch * channels, time, d_model)
    scales = [Dropout(dropout)(embed(fold_channels(x))) for x in scales]
    for _ in range(num_blocks):
        scales = mix_bands(scales)
    x = time_dense(scales[0], prediction_length, dtype=dtype, name="future")
    x = dense(head.size, dtype=dtype, name="head")(x)
    # (batch, time * size, channels)
    x = unfold_channels(ops.reshape(x, (-1, prediction_length * head.size, 1)), num_channels)
    return window.model(x, head, prediction_length, name)


@serializable
class ChebyshevDense(keras.layers.Layer):
    """Sums a learnt Chebyshev polynomial of each input feature, one for each output feature.

    Inputs are squashed twice by a hyperbolic tangent, because the polynomials are bounded on
    [-1, 1] only. It is a layer of a Kolmogorov-Arnold network, in full precision.

    Args:
        units: int, number of output features.
        num_terms: int, number of terms of a polynomial, one more than its degree.

    Call arguments:
        inputs: `(..., features)`.

    Returns:
        `(..., units)`.

    Raises:
        ValueError: If a size is below 1.

    Example:
        >>> from keras import ops
        >>> ops.shape(ChebyshevDense(units=8, num_terms=3)(ops.ones((4, 10, 16))))
        (4, 10, 8)

    Source: Huang et al. (2025), TimeKAN, equations 6-8.
    """

    def __init__(self, units, num_terms, **kwargs):
        check_positive_integers(units=units, num_terms=num_terms)
        super().__init__(**{"dtype": full_precision(), **kwargs})
        self.units = units
        self.num_terms = num_terms

    def build(self, inputs_shape):
        features, terms = inputs_shape[-1], self.num_terms
        initializer = keras.initializers.RandomNormal(stddev=1 / (features * terms))
        self.coefficients = self.add_weight(
            shape=(terms, features, self.units), initializer=initializer, name="coefficients"
        )

    def call(self, inputs):
        x = ops.tanh(ops.tanh(inputs))
        terms = [ops.ones_like(x), x][: self.num_terms]
        while len(terms) < self.num_terms:
            terms.append(2 * x * terms[-1] - terms[-2])
        kernel = ops.reshape(self.coefficients, (-1, self.units))  # (terms * features, units)
        return ops.matmul(ops.concatenate(terms, axis=-1), kernel)

    def compute_output_shape(self, inputs_shape):
        return (*inputs_shape[:-1], self.units)
