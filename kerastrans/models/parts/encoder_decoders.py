"""Shared parts of the encoder-decoders that follow Informer, with or without decomposition."""

import itertools

from keras import layers, ops

from kerastrans.layers import Dropout, PositionalEncoding, SeriesDecomposition, ValueEmbedding
from kerastrans.layers.initializers import FanInUniform
from kerastrans.models.parts.projections import dense
from kerastrans.models.parts.sublayers import TORCH_EPSILON
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_at_most


def embed_values(inputs, d_model, dropout=0.0, *, use_bias=False, calendar=None):
    """Embed values and positions: `(batch, time, c)` -> `(batch, time, d_model)`.

    The positional encoding is sinusoidal; `calendar` `(batch, time, columns)` are covariates that a
    linear map adds.

    Source: Zhou et al. (2021), appendix B.
    """
    x = PositionalEncoding(None, d_model)(ValueEmbedding(d_model, use_bias)(inputs))
    x = x if calendar is None else layers.Add()([x, dense(d_model)(calendar)])
    return Dropout(dropout)(x)


def resolve_label_length(label_length, context_length):
    """Return the label length, by default half the context; it is at most the whole context."""
    if label_length is None:
        return max(1, context_length // 2)
    check_at_most(label_length=label_length, context_length=context_length)
    return label_length


def label_input(history, label_length, prediction_length):
    """Return the decoder input of Informer: the last `label_length` steps, then zeros.

    Shapes: `(batch, context_length, c)` -> `(batch, label_length + prediction_length, c)`.

    Source: Zhou et al. (2021), equation 5.
    """
    if label_length == 0:
        return ops.repeat(ops.zeros_like(history[:, :1]), prediction_length, axis=1)
    return ops.pad(history[:, -label_length:], ((0, 0), (0, prediction_length), (0, 0)))


def decomposition_transformer(
    window,
    prediction_length,
    head,
    encoder_attention,
    decoder_attention,
    cross_attention,
    *,
    label_length,
    d_model,
    ff_dim,
    num_encoder_blocks,
    num_decoder_blocks,
    moving_averages,
    activation,
    dropout,
    longer="ahead",
):
    """Apply an encoder-decoder whose blocks separate the trend from the sequence.

    Args:
        window: `Window` of the model.
        prediction_length: int, number of steps to forecast.
        head: Head of `kerastrans.heads`.
        encoder_attention: Function that returns a layer that mixes the steps of the encoder's
            sequence.
        decoder_attention: Function that returns a layer that mixes those of the decoder's.
        cross_attention: Function that returns a layer of the decoder's and the encoder's sequence.
        label_length: int, number of known steps at the start of the decoder's input.
        d_model: int, width of all blocks.
        ff_dim: int, hidden width of the feed-forward networks.
        num_encoder_blocks: int, number of encoder blocks.
        num_decoder_blocks: int, number of decoder blocks.
        moving_averages: Tuple of int, number of steps in each moving average. The trend is one of
            them, or a mixture of several.
        activation: Activation of the feed-forward networks, as in `keras.layers.Dense`.
        dropout: float in [0, 1), dropout rate.
        longer: "ahead" or "back", see `SeriesDecomposition`.

    Returns:
        `(batch, prediction_length, c)`, in full precision, with a last axis for the parameters of
        the head if it has any.

    Source: Wu et al. (2021), figure 1 and equations 3-4; Zhou et al. (2022), section 3.4, for
    mixtures.
    """
    history = window.values
    num_channels = history.shape[-1]
    dtype = full_precision()  # dtype of the trend and of the forecast

    numbers = itertools.count()

    def separate(x, **options):
        """Return season and trend; weights that depend on the value mix several averages."""
        parts = [SeriesDecomposition(size, longer, **options)(x) for size in moving_averages]
        if len(parts) == 1:
            return parts[0]
        mix = dense(len(parts), **options, name=f"average_weights_{next(numbers)}")
        weights = ops.softmax(mix(ops.expand_dims(x, -1)))
        trend = ops.sum(weights * ops.stack([trend for _, trend in parts], axis=-1), axis=-1)
        return x - trend, trend

    def decompose(x, y):
        """Add the result of a sublayer to its input, then return season and trend."""
        return separate(layers.Add()([x, Dropout(dropout)(y)]))

    def feed_forward(x):
        x = dense(ff_dim, activation=activation, use_bias=False)(x)
        return dense(d_model, use_bias=False)(Dropout(dropout)(x))

    def normalise(x):
        """Apply layer normalisation and subtract the mean over time: a season has no level."""
        x = layers.LayerNormalization(epsilon=TORCH_EPSILON)(x)
        return x - ops.mean(x, axis=1, keepdims=True)

    # Decoder inputs: the trend continues with the mean of the history, the season with zeros.
    season, trend = separate(history, dtype=dtype)
    mean = ops.mean(history, axis=1, keepdims=True)
    future = ops.repeat(mean, prediction_length, axis=1)
    trend = ops.concatenate([trend[:, -label_length:], future], axis=1)
    season = label_input(season, label_length, prediction_length)

    x = Dropout(dropout)(ValueEmbedding(d_model)(history))
    for _ in range(num_encoder_blocks):
        x, _ = decompose(x, encoder_attention()(x))
        x, _ = decompose(x, feed_forward(x))
    memory = normalise(x)

    x = Dropout(dropout)(ValueEmbedding(d_model)(season))
    for _ in range(num_decoder_blocks):
        cross = cross_attention()
        x, first = decompose(x, decoder_attention()(x))
        x, second = decompose(x, cross(x, memory))
        x, third = decompose(x, feed_forward(x))
        # The trends that the sublayers removed, mapped to the channels.
        project = ValueEmbedding(num_channels, kernel_initializer=FanInUniform(), dtype=dtype)
        trend = trend + project(first + second + third)
    season = dense(num_channels * head.size, dtype=dtype, name="head")
    season = season(normalise(x)[:, -prediction_length:])
    return window.forecast(season, head, prediction_length, shift=trend[:, -prediction_length:])
