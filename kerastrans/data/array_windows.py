"""Windows over a series given as an array, and training pairs for a decoder."""

import numpy as np

from kerastrans.data.batches import make_batches
from kerastrans.utils.random import draw_seed
from kerastrans.utils.validation import check_positive_integers


def sliding_windows(values, context_length, prediction_length, stride=1):
    """Return all windows of a series as views, without copying it.

    Args:
        values: Array `(time, num_channels)`.
        context_length: int, number of steps of history in a window.
        prediction_length: int, number of steps to forecast after them.
        stride: int, number of steps from one window to the next.

    Returns:
        Read-only views `(windows, context_length, num_channels)` and
        `(windows, prediction_length, num_channels)`. With stride 1 there are
        `time - context_length - prediction_length + 1` windows: none is dropped.

    Raises:
        ValueError: If `values` is not 2-D, not finite or too short for one window.
        ValueError: If a size is below 1.

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
    patch_length=1,
    first_position=None,
):
    """Return batches of windows over a series, for `model.fit`, `evaluate` and `predict`.

    The series is stored once, and windows are cut batch by batch: in a `tf.data.Dataset` on
    TensorFlow and in a `keras.utils.PyDataset` on other backends, which are the fastest for `fit`.

    Args:
        values: Array `(time, num_channels)`, scaled.
        context_length: int, number of steps of history in a window.
        prediction_length: int, number of steps to forecast after them.
        stride: int, number of steps from one window to the next.
        batch_size: int, number of windows in a batch. Without `shuffle` the last batch may be
            smaller. No window is dropped.
        shuffle: bool, whether every pass over the batches, of `fit` or of a loop, has the windows
            in another order. A pass ends when all windows were read, whatever `steps_per_epoch` is.
            Call `fit` with `shuffle=False`: it would shuffle the batches again, or warn. The last
            batch of a pass is filled up with earlier windows, so that all batches have the same
            size and the training step is compiled only once.
        seed: int, seed of the shuffling: it decides the order of each pass. None draws a seed,
            which depends on `keras.utils.set_random_seed`.
        teacher_forcing: bool, whether a batch is `((contexts, decoder_inputs), targets)` instead of
            `(contexts, targets)`. The decoder's inputs are the last observed value and all targets
            except the last.
        patch_length: int, number of steps by which the decoder's inputs precede the targets, that
            of the model.
        first_position: int, number of the first row of `values`, counted from the same origin in
            every part of the series. It is for models that need the position of a window in time
            (CycleNet). The inputs are then `{"history": contexts, "position": positions}`.

    Returns:
        An iterable of batches, with a length.

    Raises:
        ValueError: If `sliding_windows` refuses the values or sizes, or `batch_size` is below 1.
        ValueError: If both `teacher_forcing` and `first_position` are given, or a `patch_length`
            without `teacher_forcing` or longer than the context.

    Example:
        >>> import numpy as np
        >>> batches = window_dataset(np.arange(6.0)[:, None], 3, 2, batch_size=1)
        >>> len(batches), [x.shape for x in map(np.asarray, next(iter(batches)))]
        (2, [(1, 3, 1), (1, 2, 1)])
    """
    check_positive_integers(batch_size=batch_size)
    if teacher_forcing and first_position is not None:
        raise ValueError("teacher_forcing and first_position cannot be combined: give one of them.")
    check_positive_integers(patch_length=patch_length)
    if patch_length > 1 and not teacher_forcing:
        raise ValueError(f"patch_length={patch_length} requires teacher_forcing=True.")
    count = len(_windows(values, context_length, prediction_length, stride))
    if patch_length > context_length:
        raise ValueError(
            f"patch_length={patch_length} is longer than the context of {context_length} steps."
        )
    # Offsets of the rows of a window from its first row; added to first rows `(batch, 1)` below.
    steps = np.arange(context_length + prediction_length)

    def make(xp, arrays, chosen):
        (series,) = arrays
        starts = stride * chosen
        batch = xp.take(series, starts[:, None] + steps, axis=0)
        contexts, targets = batch[:, :context_length], batch[:, context_length:]
        if teacher_forcing:
            # The decoder's inputs are the targets a patch earlier.
            return (contexts, batch[:, context_length - patch_length : -patch_length]), targets
        if first_position is not None:
            return {"history": contexts, "position": first_position + starts}, targets
        return contexts, targets

    return make_batches([np.asarray(values)], count, make, min(batch_size, count), shuffle, seed)


def teacher_forcing_pairs(sequences, start_token, end_token=None):
    """Return decoder inputs and targets: the input at each step is the true value before it.

    Args:
        sequences: Array `(batch, time, num_channels)` that the decoder learns to return.
        start_token: Number, or array that broadcasts to `(batch, 1, num_channels)`, the first
            input; `generate` must start from the same. For forecasting, the last observed value,
            `contexts[:, -1:]`, from which `generate` starts by default.
        end_token: Number or array like `start_token`, appended to the targets, so that the decoder
            learns to end. None for forecasting, since the horizon is known.

    Returns:
        `(decoder_inputs, targets)`. With an end token, the start token and the sequence, and the
        sequence and the end token. Otherwise the start token and all steps except the last, and the
        sequence.

    Example:
        >>> import numpy as np
        >>> sequences = np.array([[[1.0], [2.0], [3.0]]])
        >>> decoder_inputs, targets = teacher_forcing_pairs(sequences, start_token=0.0)
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
    """Return standard normal sequences `(num_samples, length, num_channels)`, float32.

    Without a `seed`, they depend on `keras.utils.set_random_seed`.

    Example:
        >>> random_sequences(2, 6, 12, seed=0).shape
        (2, 6, 12)
    """
    check_positive_integers(num_samples=num_samples, length=length, num_channels=num_channels)
    shape = (num_samples, length, num_channels)
    random = np.random.default_rng(draw_seed() if seed is None else seed)
    return random.standard_normal(shape, "float32")


def _windows(values, context_length, prediction_length, stride):
    """Check a series and return a view `(windows, steps, num_channels)` of its windows."""
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
    # `sliding_window_view` puts the steps last: (windows, num_channels, steps).
    windows = np.lib.stride_tricks.sliding_window_view(values, length, axis=0)[::stride]
    return windows.transpose(0, 2, 1)
