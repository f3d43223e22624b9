"""Windows over a series, as views until a batch is made, and the pairs that train a decoder."""

import numpy as np

from kerastrans.data.batches import make_batches
from kerastrans.utils.validation import check_positive_integers


def sliding_windows(values, context_length, prediction_length, stride=1):
    """All windows of a series, without copying it.

    Args:
        values: `(time, num_channels)`.
        context_length: int, steps of history in a window.
        prediction_length: int, steps to forecast after them.
        stride: int, steps from one window to the next.

    Returns:
        Read-only views `(windows, context_length, num_channels)` and
        `(windows, prediction_length, num_channels)`. With stride 1 there are
        `time - context_length - prediction_length + 1` windows: none is dropped.

    Raises:
        ValueError: values that are not 2-D, not finite or too short for one window.
        ValueError: a size below 1.

    Example:
        >>> import numpy as np
        >>> contexts, targets = sliding_windows(np.arange(6.0)[:, None], 3, 2)
        >>> contexts[:, :, 0].tolist(), targets[:, :, 0].tolist()
        ([[0.0, 1.0, 2.0], [1.0, 2.0, 3.0]], [[3.0, 4.0], [4.0, 5.0]])
    """
    windows = _windows(values, context_length, prediction_length, stride)
    return windows[:, :context_length], windows[:, context_length:]


def window_dataset(
    values,
    context_length,
    prediction_length,
    *,
    stride=1,
    batch_size=32,
    shuffle=False,
    seed=None,
    teacher_forcing=False,
    first_position=None,
):
    """Batches of windows over a series, for `model.fit`, `evaluate` and `predict`.

    The series is kept once; windows are cut batch by batch, on every backend in the way that
    `fit` takes fastest: a `tf.data.Dataset` on TensorFlow, a `keras.utils.PyDataset` elsewhere.

    Args:
        values: `(time, num_channels)`, scaled.
        context_length: int, steps of history in a window.
        prediction_length: int, steps to forecast after them.
        stride: int, steps from one window to the next.
        batch_size: int; no window is dropped, and the last batch may be smaller, unless
            `shuffle`.
        shuffle: bool, whether the order of the windows changes with every epoch; then give
            `fit` `shuffle=False`, which would warn that there is nothing left to shuffle. The
            last batch of an epoch is filled up with windows seen before, so that all batches
            are of one size and a training step is compiled once.
        seed: int, of the shuffling.
        teacher_forcing: bool, whether a batch is `((contexts, decoder_inputs), targets)`, where
            the decoder's inputs are the last observed value and all targets but the last, or
            `(contexts, targets)`.
        first_position: int, for models that ask where in time a window begins (CycleNet): the
            number of the first row of `values`, counted from the same origin in every part of
            the series. The inputs are then `{"history": contexts, "position": positions}`.

    Returns:
        An iterable of batches that knows its length.

    Raises:
        ValueError: values or sizes that `sliding_windows` refuses; `batch_size` below 1.
        ValueError: both `teacher_forcing` and `first_position`.

    Example:
        >>> import numpy as np
        >>> batches = window_dataset(np.arange(6.0)[:, None], 3, 2, batch_size=1)
        >>> len(batches), [x.shape for x in map(np.asarray, next(iter(batches)))]
        (2, [(1, 3, 1), (1, 2, 1)])
    """
    check_positive_integers(batch_size=batch_size)
    if teacher_forcing and first_position is not None:
        raise ValueError("a batch has decoder inputs or positions: give one of the two.")
    count = len(_windows(values, context_length, prediction_length, stride))
    steps = np.arange(context_length + prediction_length)

    def make(xp, arrays, chosen):
        (series,) = arrays
        starts = stride * chosen
        batch = xp.take(series, starts[:, None] + steps, axis=0)
        contexts, targets = batch[:, :context_length], batch[:, context_length:]
        if teacher_forcing:
            return (contexts, batch[:, context_length - 1 : -1]), targets
        if first_position is not None:
            return {"history": contexts, "position": first_position + starts}, targets
        return contexts, targets

    return make_batches([np.asarray(values)], count, make, min(batch_size, count), shuffle, seed)


def teacher_forcing_pairs(sequences, start_token=0.0, end_token=None):
    """Decoder inputs and targets: at each step the decoder sees the true values before it.

    Args:
        sequences: `(batch, time, num_channels)`, what the decoder is to return.
        start_token: number, or array that broadcasts to `(batch, 1, num_channels)`, put
            first; for forecasting the last observed value, `contexts[:, -1:]`.
        end_token: the same, appended to the targets, so that the decoder learns to end; None
            for forecasting, where the horizon is known.

    Returns:
        `(decoder_inputs, targets)`: start token + sequence against sequence + end token, or,
        without an end token, start token + all but the last step against the sequence.

    Example:
        >>> import numpy as np
        >>> decoder_inputs, targets = teacher_forcing_pairs(np.array([[[1.0], [2.0], [3.0]]]))
        >>> decoder_inputs.ravel().tolist(), targets.ravel().tolist()
        ([0.0, 1.0, 2.0], [1.0, 2.0, 3.0])
    """
    sequences = np.asarray(sequences)

    def as_step(token):
        token = np.asarray(token, sequences.dtype)
        return np.broadcast_to(token, (len(sequences), 1, sequences.shape[-1]))

    decoder_inputs = np.concatenate([as_step(start_token), sequences], axis=1)
    if end_token is None:
        return decoder_inputs[:, :-1], sequences
    return decoder_inputs, np.concatenate([sequences, as_step(end_token)], axis=1)


def random_sequences(num_samples, length, num_channels, seed=None):
    """Standard normal sequences `(num_samples, length, num_channels)`, float32, to practise on.

    Example:
        >>> random_sequences(2, 6, 12, seed=0).shape
        (2, 6, 12)
    """
    check_positive_integers(num_samples=num_samples, length=length, num_channels=num_channels)
    shape = (num_samples, length, num_channels)
    return np.random.default_rng(seed).standard_normal(shape, "float32")


def _windows(values, context_length, prediction_length, stride):
    """View `(windows, context_length + prediction_length, num_channels)` of a checked series."""
    check_positive_integers(
        context_length=context_length, prediction_length=prediction_length, stride=stride
    )
    values = np.asarray(values)
    if values.ndim != 2:
        raise ValueError(f"values must be (time, num_channels), got shape {values.shape}.")
    length = context_length + prediction_length
    if len(values) < length:
        raise ValueError(
            f"a window needs {context_length} + {prediction_length} = {length} rows, "
            f"got a series of {len(values)}."
        )
    if not np.isfinite(values).all():
        row, channel = np.argwhere(~np.isfinite(values))[0]
        raise ValueError(
            f"values must be finite, got {values[row, channel]} in row {row}, channel {channel}."
        )
    windows = np.lib.stride_tricks.sliding_window_view(values, length, axis=0)[::stride]
    return windows.transpose(0, 2, 1)
