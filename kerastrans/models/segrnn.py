"""SegRNN: a recurrent network that reads and forecasts segments (Lin et al., 2023, figure 2).

Paper: https://arxiv.org/abs/2308.11200
Code: https://github.com/lss-1138/SegRNN/tree/8e869ec
"""

import keras
from keras import ops

from kerastrans.layers import Dropout, Patching
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.normalized_window import STANDARDIZED, open_window
from kerastrans.models.parts.projections import concatenate, dense
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_at_most, check_choice, check_positive_integers

ARCHITECTURE = {
    "summary": "GRU over segments",
    "license": "Apache-2.0",
    "tags": ("recurrent", "channel independent", "shift", "takes heads"),
    "features": "head: b c t f",
}


@checked
def build_segrnn_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    segment_length=24,
    d_model=512,
    cell="gru",
    dropout=0.5,
    decoding="parallel",
    channel_embedding=True,
    standardize=False,
    head=None,
    name="segrnn",
):
    """Build SegRNN; all channels share the weights and do not mix.

    A recurrent cell, by default a GRU, reads the past segment by segment. From its last state it
    takes one step for each future segment, all in parallel; the input of such a step is a learnt
    embedding of channel and segment. In a long frame all series are channel 0 and share its
    embedding; in a wide frame each column has its own embedding. If the context is not a multiple
    of the segment, its oldest steps are not used.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        segment_length: int, number of steps in a segment, at most `context_length`.
        d_model: int, width of the recurrent cell; it must be even.
        cell: "gru", "lstm" or "rnn", the recurrent cell; "rnn" is a simple one without gates.
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
        ValueError: If `cell` is unknown.
        ValueError: If `decoding` is unknown, or "recurrent" with a head.
        ValueError: If `dropout` is outside [0, 1).
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_segrnn_model(24, 12, 3, segment_length=6, d_model=8)
        >>> model.output_shape
        (None, 12, 3)

    Source: Lin et al. (2023), "SegRNN", sections 3.2-3.3.
    """
    check_choice("cell", cell, tuple(CELLS))
    check_choice("decoding", decoding, ("parallel", "recurrent"))
    if decoding == "recurrent" and head.size > 1:
        raise ValueError(f'decoding="recurrent" requires a point head, got {head}.')
    check_at_most(segment_length=segment_length, context_length=context_length)
    past, future = context_length // segment_length, -(-prediction_length // segment_length)

    scaling = STANDARDIZED if standardize else {"center": "last"}
    window = open_window(context_length, num_channels, head, **scaling)
    x = window.values[:, -past * segment_length :]
    x = Patching(segment_length, segment_length)(x)  # (batch, channels, segments, length)
    embed = dense(d_model, activation="relu", name="embedding")
    x = embed(x)

    num_gates, num_states, next_state = CELLS[cell]
    input_gates = dense(num_gates * d_model, name="input_gates")
    state_gates = dense(num_gates * d_model, name="state_gates")
    states = num_states * (ops.zeros_like(x[:, :, :1]),)  # each (batch, channels, 1, d_model)
    for segment in ops.split(input_gates(x), past, axis=2):
        states = next_state(segment, state_gates(states[0]), *states)

    predict = dense(segment_length * head.size, dtype=full_precision(), name="head")
    if decoding == "parallel":
        where = ChannelSegmentEmbedding(future, channel_embedding)(states[0])
        x, *_ = next_state(input_gates(where), state_gates(states[0]), *states)
        x = predict(Dropout(dropout)(x))  # (batch, channels, segments, length)
    else:
        segments = [predict(Dropout(dropout)(states[0]))]
        for _ in range(future - 1):
            inputs = input_gates(embed(segments[-1]))
            states = next_state(inputs, state_gates(states[0]), *states)
            segments.append(predict(Dropout(dropout)(states[0])))
        x = concatenate(segments, axis=2)
    # (batch, channels, time * size)
    x = ops.reshape(x, (-1, num_channels, future * segment_length * head.size))
    # (batch, time * size, channels)
    x = ops.transpose(x[..., : prediction_length * head.size], (0, 2, 1))
    return window.model(x, head, prediction_length, name)


def _gru_step(inputs, memory, state):
    """Return the next state of a gated recurrent unit, in a tuple.

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
    return (update * state + (1 - update) * candidate,)


def _lstm_step(inputs, memory, _, cell):
    """Return the next output and cell of a long short-term memory.

    Args:
        inputs: Projection of the input to the input gate, forget gate, candidate and output gate.
        memory: Projection of the previous output to the same four.
        cell: The previous cell.

    Source: Gers et al. (2000), "Learning to forget", section 3.
    """
    keep, forget, candidate, show = ops.split(inputs + memory, 4, axis=-1)
    cell = ops.sigmoid(forget) * cell + ops.sigmoid(keep) * ops.tanh(candidate)
    return ops.sigmoid(show) * ops.tanh(cell), cell


def _simple_step(inputs, memory, _):
    """Return the next state of a recurrent network without gates, in a tuple."""
    return (ops.tanh(inputs + memory),)


# Number of projections and of states of each cell, and the function of its next states.
CELLS = {"gru": (3, 1, _gru_step), "lstm": (4, 2, _lstm_step), "rnn": (1, 1, _simple_step)}


@keras.saving.register_keras_serializable(package="kerastrans")
class ChannelSegmentEmbedding(keras.layers.Layer):
    """One vector per channel and segment; half is learnt per segment, half per channel.

    Args:
        num_segments: int, number of segments to forecast.
        channels: bool, whether channels differ; otherwise the whole vector is learnt per segment.

    Call arguments:
        inputs: `(batch, num_channels, ..., d_model)`, with an even `d_model`; only the shape is
            used.

    Returns:
        `(1, num_channels, num_segments, d_model)`, the same for every example.

    Raises:
        ValueError: If `num_segments` is below 1.
        ValueError: If channels differ and `d_model` is odd.

    Example:
        >>> from keras import ops
        >>> ops.shape(ChannelSegmentEmbedding(num_segments=5)(ops.ones((4, 3, 16))))
        (1, 3, 5, 16)

    Source: Lin et al. (2023), SegRNN, section 3.3.
    """

    def __init__(self, num_segments, channels=True, **kwargs):
        check_positive_integers(num_segments=num_segments)
        super().__init__(**kwargs)
        self.num_segments = num_segments
        self.has_channels = channels

    def build(self, inputs_shape):
        num_channels, width = inputs_shape[1], inputs_shape[-1]
        if self.has_channels and width % 2:
            raise ValueError(f"d_model must be even, got {width}.")
        width = width // 2 if self.has_channels else width
        normal = keras.initializers.RandomNormal(stddev=1.0)
        self.segments = self.add_weight(
            shape=(1, 1, self.num_segments, width), initializer=normal, name="segments"
        )
        if self.has_channels:
            normal = keras.initializers.RandomNormal(stddev=1.0)
            self.channels = self.add_weight(
                shape=(1, num_channels, 1, width), initializer=normal, name="channels"
            )

    def call(self, inputs):
        parts = [self.segments, self.channels] if self.has_channels else [self.segments]
        shape = (*self.compute_output_shape(inputs.shape)[:-1], parts[0].shape[-1])
        parts = [ops.broadcast_to(part, shape) for part in parts]
        return ops.cast(ops.concatenate(parts, axis=-1), self.compute_dtype)

    def compute_output_shape(self, inputs_shape):
        return (1, inputs_shape[1], self.num_segments, inputs_shape[-1])

    def get_config(self):
        return {
            **super().get_config(),
            "num_segments": self.num_segments,
            "channels": self.has_channels,
        }
