"""FreTS: dense layers in the frequency domain, over channels and time (Yi et al., 2023).

Paper: https://arxiv.org/abs/2311.06184
Code: https://github.com/aikunyi/FreTS/tree/6de28ab
"""

import keras
from keras import layers, ops

from kerastrans.layers import ComplexDense
from kerastrans.layers.frequency.fourier import irfft, rfft
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.normalized_window import open_window
from kerastrans.models.parts.projections import dense
from kerastrans.utils.precision import full_precision

ARCHITECTURE = {
    "summary": "dense layers on spectra",
    "license": "Apache-2.0",
    "tags": ("mlp", "mixes channels", "takes heads"),
    "paper": {"embedding_dim": 128, "hidden_dim": 256},
    "features": "head: b c f",
}
THRESHOLD = 0.01  # value below which a part of a frequency becomes 0
# Deviation of the weights at the width of the paper. A smaller width has a greater one, so that the
# spectra are as far above the threshold as there.
DEVIATION, PAPER_DIM = 0.02, 128


@checked
def build_frets_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    embedding_dim=16,
    hidden_dim=128,
    mix_channels=True,
    diagonal=False,
    head=None,
    name="frets",
):
    """Build FreTS: a complex dense layer on the spectrum over channels, and one over time.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        embedding_dim: int, number of features of each value.
        hidden_dim: int, hidden width of the network that forecasts.
        mix_channels: bool, whether the layer over channels is used; without it, channels are
            forecast independently.
        diagonal: bool, whether only the diagonals of the complex matrices are used, as in the
            authors' code; in the paper the matrices are full.
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
        >>> model = build_frets_model(24, 12, 3, embedding_dim=4, hidden_dim=8)
        >>> model.output_shape
        (None, 12, 3)

    Source: Yi et al. (2023), "Frequency-domain MLPs are more effective learners in time series
    forecasting", sections 2.2-2.3.
    """
    dtype = full_precision()
    deviation = DEVIATION * (PAPER_DIM / embedding_dim) ** 0.5

    def learn_spectrum(x):
        """Apply a complex dense layer to the spectrum over the last axis but one."""
        count = x.shape[2]
        spectrum = rfft(ops.transpose(x, (0, 1, 3, 2)) * count**-0.5)
        spectrum = ComplexDense(
            embedding_dim,
            diagonal=diagonal,
            kernel_initializer=keras.initializers.RandomNormal(stddev=deviation),
            bias_initializer=keras.initializers.RandomNormal(stddev=DEVIATION),
        )(*(ops.transpose(part, (0, 1, 3, 2)) for part in spectrum))
        spectrum = (ops.relu(ops.relu(part) - THRESHOLD) for part in spectrum)
        x = irfft(*(ops.transpose(part, (0, 1, 3, 2)) for part in spectrum), count) * count**0.5
        return ops.transpose(x, (0, 1, 3, 2))

    window = open_window(context_length, num_channels, head)
    embed = layers.EinsumDense(
        "btc,d->btcd",
        (context_length, num_channels, embedding_dim),
        kernel_initializer=keras.initializers.RandomNormal(stddev=1.0),
        dtype=dtype,
        name="embedding",
    )
    embedding = embed(window.values)
    x = learn_spectrum(embedding) if mix_channels else embedding
    x = ops.transpose(learn_spectrum(ops.transpose(x, (0, 2, 1, 3))), (0, 2, 1, 3))
    x = layers.Add(dtype=dtype)([x, embedding])
    x = ops.transpose(x, (0, 2, 1, 3))  # (batch, channels, time, embedding_dim)
    # (batch, channels, time * embedding_dim)
    x = ops.reshape(x, (-1, num_channels, context_length * embedding_dim))
    x = dense(hidden_dim, activation=keras.layers.LeakyReLU(0.01), name="hidden")(x)
    x = dense(prediction_length * head.size, dtype=dtype, name="head")(x)
    return window.model(ops.transpose(x, (0, 2, 1)), head, prediction_length, name)
