"""TSMixer: dense layers over time and over channels in turn (Chen et al., 2023, figure 1)."""

import keras
from keras import layers

from kerastrans.layers import Dropout
from kerastrans.models.builders import checked
from kerastrans.models.projections import time_dense
from kerastrans.models.window import open_window
from kerastrans.utils.precision import full_precision

ARCHITECTURE = {
    "title": "TSMixer",
    "source": "Chen et al.",
    "year": 2023,
    "summary": "dense over time, then channels",
    "tags": ("mlp", "mixes channels", "affine", "takes heads"),
}
SEARCH_SPACE = {
    "num_blocks": (2, 4, 6),
    "ff_dim": (16, 32, 64),
    "dropout": (0.1, 0.5, 0.8),
}


@checked
def build_tsmixer_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    ff_dim=64,
    num_blocks=2,
    dropout=0.9,
    head=None,
    name="tsmixer",
):
    """Build TSMixer: dense layers over time and over channels in turn.

    Args:
        context_length: int, steps of history.
        prediction_length: int, steps to forecast.
        num_channels: int, values at each step.
        ff_dim: int, hidden width of the layers over channels.
        num_blocks: int, mixing blocks.
        dropout: float in [0, 1).
        head: None for points, or a head of `kerastrans.heads`, whose parameters are a last axis.
        name: str, name of the model.

    Returns:
        A functional Keras model `(batch, context_length, num_channels)` ->
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: A size is below 1, or too large.
        ValueError: `dropout` is outside [0, 1).
        ValueError: `head` is unknown.

    Example:
        >>> model = build_tsmixer_model(24, 12, 3, ff_dim=8)
        >>> model.output_shape
        (None, 12, 3)

    Source: Chen et al. (2023), "TSMixer: An all-MLP architecture", section 4.1; batch
    normalisation of each step and channel. Weights start, and batches are averaged, as Keras does
    it by default: so does the authors' code.
    """

    def normalise(x):
        x = layers.Flatten()(x)
        x = layers.BatchNormalization()(x)
        return layers.Reshape((context_length, num_channels))(x)

    def mix_time(x, units, **options):
        return time_dense(x, units, kernel_initializer="glorot_uniform", **options)

    window = open_window(
        context_length, num_channels, head, center="mean", scale="std", affine=True
    )
    x = window.values
    for _ in range(num_blocks):
        y = mix_time(normalise(x), context_length, activation="relu")
        x = layers.Add()([x, Dropout(dropout)(y)])
        y = layers.Dense(ff_dim, activation="relu")(normalise(x))
        y = layers.Dense(num_channels)(Dropout(dropout)(y))
        x = layers.Add()([x, Dropout(dropout)(y)])
    x = mix_time(x, prediction_length * head.size, dtype=full_precision())
    outputs = window.forecast(x, head, prediction_length)
    return keras.Model(window.history, outputs, name=name)
