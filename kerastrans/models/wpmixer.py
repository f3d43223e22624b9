"""WPMixer: patches of wavelet coefficients, mixed per level (Murad et al., 2025, figure 2).

Paper: https://arxiv.org/abs/2412.17176
Code: https://github.com/thuml/Time-Series-Library/tree/4e938a1
"""

from keras import layers, ops

from kerastrans.layers import BatchNormalization, Dropout, Patching
from kerastrans.layers.frequency.wavelets import (
    check_wavelet,
    coefficient_lengths,
    decompose,
    reconstruct,
)
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.normalized_window import STANDARDIZED, open_window
from kerastrans.models.parts.projections import dense
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_at_most

ARCHITECTURE = {
    "summary": "mixed patches of wavelet coefficients",
    "license": "MIT",
    "tags": ("mlp", "channel independent", "affine", "takes heads"),
    "paper": {"d_model": 256},
    "features": ".+_head: b c f",
}


@checked
def build_wpmixer_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    wavelet="db2",
    num_levels=1,
    patch_length=16,
    stride=8,
    d_model=32,
    time_expansion=5,
    feature_expansion=5,
    dropout=0.1,
    head=None,
    name="wpmixer",
):
    """Build WPMixer: each level of a wavelet transform is forecast by a mixer over its patches.

    All channels share the weights, except those of the batch normalisations.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        wavelet: Name of the wavelet: "haar", "db1" to "db38" (Daubechies), "sym2" to "sym20"
            (symlets) or "bior1.1" to "bior3.9" (biorthogonal splines).
        num_levels: int, number of levels of the wavelet transform.
        patch_length: int, number of coefficients in a patch, at most `context_length`; all
            coefficients of a level that has fewer.
        stride: int, number of coefficients between the starts of two patches.
        d_model: int, number of features of a patch.
        time_expansion: int, factor of the hidden width of the networks over patches.
        feature_expansion: int, factor of the hidden width of the networks over features.
        dropout: float in [0, 1), dropout rate.
        head: None for point forecasts, or a head of `kerastrans.heads`, whose parameters are the
            last axis of the output.
        name: str, name of the model.

    Returns:
        A functional Keras model that maps `(batch, context_length, num_channels)` to
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: If a size is below 1, or too large.
        ValueError: If the context is shorter than a patch.
        ValueError: If `wavelet` is unknown.
        ValueError: If `dropout` is outside [0, 1).
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_wpmixer_model(24, 12, 3, patch_length=6, stride=3, d_model=8)
        >>> model.output_shape
        (None, 12, 3)

    Source: Murad et al. (2025), "WPMixer: Efficient multi-resolution mixing for long-term time
    series forecasting", section 4.
    """
    check_at_most(patch_length=patch_length, context_length=context_length)
    check_wavelet(wavelet)
    dtype = full_precision()

    def normalise(x):
        """Apply batch normalisation with statistics for each channel."""
        return BatchNormalization(axis=1, momentum=0.9, epsilon=1e-5)(x)

    def apply_network(x, expansion):
        """Apply a network of two layers to the last axis; the hidden one is `expansion` wide."""
        width = x.shape[-1]
        return dense(width)(Dropout(dropout)(dense(expansion * width, activation="gelu")(x)))

    def mix(x):
        """Mix patches, then features, of `(batch, channels, patches, d_model)`."""
        x = ops.transpose(normalise(x), (0, 1, 3, 2))  # (batch, channels, d_model, patches)
        x = Dropout(dropout)(apply_network(x, time_expansion))
        x = normalise(ops.transpose(x, (0, 1, 3, 2)))  # (batch, channels, patches, d_model)
        y = Dropout(dropout)(apply_network(x, feature_expansion))
        return layers.Add()([x, y])

    def forecast_level(x, units, level):
        """Forecast coefficients: `(batch, channels, past)` -> `(batch, channels, size, units)`."""
        x = ops.transpose(x, (0, 2, 1))
        # (batch, channels, patches, patch_length)
        x = normalise(Patching(min(patch_length, x.shape[1]), stride, pad_end=True)(x))
        x = mix(Dropout(dropout)(dense(d_model)(x)))
        x = normalise(layers.Add()([x, mix(x)]))
        # (batch, channels, patches * d_model)
        x = ops.reshape(x, (-1, num_channels, x.shape[2] * d_model))
        x = dense(head.size * units, dtype=dtype, name=f"level_{level}_head")(x)
        return ops.reshape(x, (-1, num_channels, head.size, units))

    window = open_window(context_length, num_channels, head, **STANDARDIZED)
    x = ops.transpose(window.values, (0, 2, 1))  # (batch, channels, context_length)
    approximation, details = decompose(x, wavelet, num_levels)
    counts = coefficient_lengths(prediction_length, wavelet, num_levels)
    approximation = forecast_level(approximation, counts[-1], num_levels)
    details = [forecast_level(x, counts[i], i) for i, x in enumerate(details)]
    x = reconstruct(approximation, details, wavelet)
    x = ops.transpose(x[..., -prediction_length:], (0, 3, 1, 2))  # (batch, time, channels, size)
    # (batch, time, channels * size)
    x = ops.reshape(x, (-1, prediction_length, num_channels * head.size))
    return window.model(x, head, prediction_length, name)
