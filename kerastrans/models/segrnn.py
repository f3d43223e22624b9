"""SegRNN: a GRU that reads and forecasts segments (Lin et al., 2023, figure 2)."""

import keras
from keras import ops

from kerastrans.layers import (
    ChannelSegmentEmbedding,
    Dropout,
    Patching,
)
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.normalized_window import open_window
from kerastrans.models.parts.projections import concatenate, dense
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_at_most, check_choice

ARCHITECTURE = {
    "title": "SegRNN",
    "source": "Lin et al.",
    "year": 2023,
    "summary": "GRU over segments",
    "license": "Apache-2.0",
    "tags": ("recurrent", "channel independent", "shift", "takes heads"),
}
SEARCH_SPACE = {
    "d_model": (64, 128, 256),
    "segment_length": (6, 12, 24),
    "dropout": (0.0, 0.3),
}


@checked
def build_segrnn_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    segment_length=24,
    d_model=512,
    dropout=0.5,
    decoding="parallel",
    channel_embedding=True,
    standardize=False,
    head=None,
    name="segrnn",
):
    """Build SegRNN; all channels share the weights and do not mix.

    The GRU reads the past segment by segment. From its last state it takes one step for each
    future segment, all in parallel; the input of such a step is a learnt embedding of channel and
    segment. In a long frame all series are channel 0 and share its embedding; in a wide frame each
    column has its own embedding. If the context is not a multiple of the segment, its oldest steps
    are not used.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        segment_length: int, number of steps in a segment, at most `context_length`.
        d_model: int, width of the GRU; it must be even.
        dropout: float in [0, 1), dropout rate before the head.
        decoding: "parallel" forecasts all segments at once, "recurrent" one after the other, each
            from the forecast of the one before, which requires a point head.
        channel_embedding: bool, whether half of the embedding of a future segment is learnt per
            channel; `decoding="recurrent"` has no embedding.
        standardize: bool, whether the window is normalised by its mean and standard deviation, as
            for some data sets in the authors' scripts, instead of its last value.
        head: None for point forecasts, or a head of `kerastrans.heads`, whose parameters are the
            last axis of the output.
        name: str, name of the model.

    Returns:
        A functional Keras model that maps `(batch, context_length, num_channels)` to
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: If a size is below 1, or too large.
        ValueError: If the context is shorter than a segment.
        ValueError: If channels are embedded and `d_model` is odd.
        ValueError: If `decoding` is unknown, or "recurrent" with a head.
        ValueError: If `dropout` is outside [0, 1).
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_segrnn_model(24, 12, 3, segment_length=6, d_model=8)
        >>> model.output_shape
        (None, 12, 3)

    Source: Lin et al. (2023), "SegRNN", sections 3.2-3.3.
    """
    check_choice("decoding", decoding, ("parallel", "recurrent"))
    if decoding == "recurrent" and head.size > 1:
        raise ValueError(f'decoding="recurrent" requires a point head, got {head}.')
    check_at_most(segment_length=segment_length, context_length=context_length)
    past, future = context_length // segment_length, -(-prediction_length // segment_length)

    scaling = {"center": "mean", "scale": "std"} if standardize else {"center": "last"}
    window = open_window(context_length, num_channels, head, **scaling)
    x = window.values[:, -past * segment_length :]
    x = Patching(segment_length, segment_length)(x)  # (batch, channels, segments, length)
    embed = dense(d_model, activation="relu", name="embedding")
    x = embed(x)

    input_gates = dense(3 * d_model, name="input_gates")
    state_gates = dense(3 * d_model, name="state_gates")
    state = ops.zeros_like(x[:, :, :1])  # (batch, channels, 1, d_model)
    for segment in ops.split(input_gates(x), past, axis=2):
        state = _gru_step(segment, state_gates(state), state)

    predict = dense(segment_length * head.size, dtype=full_precision(), name="head")
    if decoding == "parallel":
        where = ChannelSegmentEmbedding(future, channel_embedding)(state)
        x = _gru_step(input_gates(where), state_gates(state), state)
        x = predict(Dropout(dropout)(x))  # (batch, channels, segments, length)
    else:
        segments = [predict(Dropout(dropout)(state))]
        for _ in range(future - 1):
            state = _gru_step(input_gates(embed(segments[-1])), state_gates(state), state)
            segments.append(predict(Dropout(dropout)(state)))
        x = concatenate(segments, axis=2)
    x = ops.reshape(x, (-1, num_channels, future * segment_length * head.size))
    x = ops.transpose(x[..., : prediction_length * head.size], (0, 2, 1))
    outputs = window.forecast(x, head, prediction_length)
    return keras.Model(window.history, outputs, name=name)


def _gru_step(inputs, memory, state):
    """Return the next state of a gated recurrent unit.

    Args:
        inputs: Projection of the input to the update gate, reset gate and candidate.
        memory: Projection of the state to the same three.
        state: The previous state.

    Source: Cho et al. (2014), section 2.3; the reset gate is applied after the product, as in
    cuDNN.
    """
    inputs, memory = ops.split(inputs, 3, axis=-1), ops.split(memory, 3, axis=-1)
    update, reset = (ops.sigmoid(inputs[gate] + memory[gate]) for gate in range(2))
    candidate = ops.tanh(inputs[2] + reset * memory[2])
    return update * state + (1 - update) * candidate
