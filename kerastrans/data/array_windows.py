"""Windows over a series given as an array, and training pairs for a decoder."""

import numpy as np

from kerastrans.data.batches import make_batches
from kerastrans.utils.random import draw_seed
from kerastrans.utils.validation import (
    check_at_most,
    check_integer,
    check_positive_integers,
    check_seed,
    quote,
    suggest,
)


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
    sizes = {"context_length": context_length, "prediction_length": prediction_length}
    check_positive_integers(**sizes, stride=stride)
    values = _check_values(values)
    length = context_length + prediction_length
    _count_windows(0, len(values), length, stride, sizes)
    _check_finite("values", values)
    # `sliding_window_view` puts the steps last: (windows, num_channels, steps).
    windows = np.lib.stride_tricks.sliding_window_view(values, length, axis=0)[::stride]
    windows = windows.transpose(0, 2, 1)
    return windows[:, :context_length], windows[:, context_length:]


def window_dataset(
    values,
    context_length,
    prediction_length,
    *,
    targets=None,
    offset=0,
    sampling_rate=1,
    stride=1,
    start_index=None,
    end_index=None,
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

    The arguments are those of `keras.utils.timeseries_dataset_from_array`, where `stride` is called
    `sequence_stride`. The first window with `context_length=3`, `prediction_length=2`,
    `sampling_rate=2` and `offset=1`:

        row      0  1  2  3  4  5  6  7  8  9
        context  x     x     x
        targets                       y     y

    Args:
        values: Array or DataFrame `(time, num_channels)`, scaled.
        context_length: int, number of steps of history in a window.
        prediction_length: int, number of steps to forecast after them.
        targets: List of the columns of `values` to forecast, numbers or the names of a DataFrame's,
            or an array `(time, ...)` with a row for every row of `values`. None for all columns.
        offset: int, number of rows between the context, which takes `context_length *
            sampling_rate` rows, and the first target. If negative, the targets begin as many rows
            before the context ends, for models that have an output for each step of the context.
        sampling_rate: int, number of rows from one step of a window to the next, in its context and
            in its targets.
        stride: int, number of rows from one window to the next.
        start_index: int, first row that windows may read. None for the first one.
        end_index: int, row before which windows and their targets end. None for all rows.
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
            `(contexts, targets)`. The decoder's inputs are the last known value of what is forecast
            and all targets except the last.
        patch_length: int, number of steps by which the decoder's inputs precede the targets, that
            of the model.
        first_position: int, number of the first row of `values`, counted from the same origin in
            every part of the series. It is for models that need the position of a window in time
            (CycleNet). The inputs are then `{"history": contexts, "position": positions}`.

    Returns:
        An iterable of batches, with a length. Contexts are `(batch, context_length, num_channels)`,
        targets and decoder inputs `(batch, prediction_length, ...)`.

    Raises:
        ValueError: If `values` or `targets` are not finite numbers of the shapes above.
        ValueError: If a size, index or seed is out of range, or no window fits into the rows.
        ValueError: If `teacher_forcing` and `first_position` are combined, the former with a
            negative `offset`, or the latter with an `offset` or a `sampling_rate`.
        ValueError: If a `patch_length` is given without `teacher_forcing`, or is longer than the
            context.

    Example:
        >>> import numpy as np
        >>> batches = window_dataset(np.arange(6.0)[:, None], 3, 2, batch_size=1)
        >>> len(batches), [x.shape for x in map(np.asarray, next(iter(batches)))]
        (2, [(1, 3, 1), (1, 2, 1)])
    """
    sizes = {"context_length": context_length, "prediction_length": prediction_length}
    check_positive_integers(**sizes, sampling_rate=sampling_rate, stride=stride)
    check_positive_integers(batch_size=batch_size, patch_length=patch_length)
    check_integer("offset", offset, -context_length * sampling_rate)
    sizes |= {"sampling_rate": sampling_rate, "offset": offset}
    _check_inputs(teacher_forcing, patch_length, first_position, sizes)
    if seed is not None:
        check_seed(seed)
    # Rows of the steps of a window, counted from its first row; added to first rows below.
    past = sampling_rate * np.arange(context_length)
    ahead = sampling_rate * (context_length + np.arange(prediction_length)) + offset
    before = np.concatenate([past, ahead])[context_length - patch_length : -patch_length]
    columns = getattr(values, "columns", None)
    values = _check_values(values)
    start = 0 if start_index is None else start_index
    end = len(values) if end_index is None else end_index
    check_integer("start_index", start, 0)
    check_integer("end_index", end, 0)
    check_at_most(end_index=end, rows=len(values))
    count = _count_windows(start, end, 1 + max(past[-1], ahead[-1]), stride, sizes)
    _check_finite("values", values, start, end)
    arrays = [values]  # contexts are cut from the first one, targets from the last
    if targets is not None:
        arrays.append(_target_series(values, columns, targets))
        _check_finite("targets", arrays[1], start, end)

    def make(xp, arrays, chosen):
        first = start + stride * chosen
        contexts, outputs = (
            xp.take(series, first[:, None] + steps, axis=0)
            for series, steps in ((arrays[0], past), (arrays[-1], ahead))
        )
        if teacher_forcing:
            # The decoder's inputs are the targets a patch earlier.
            return (contexts, xp.take(arrays[-1], first[:, None] + before, axis=0)), outputs
        if first_position is not None:
            return {"history": contexts, "position": first_position + first}, outputs
        return contexts, outputs

    return make_batches(arrays, count, make, min(batch_size, count), shuffle, seed)


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


def _check_values(values):
    """Return a series as an array; raise ValueError unless it is `(time, num_channels)`."""
    values = np.asarray(values)
    if values.ndim != 2:
        raise ValueError(f"values must be (time, num_channels), got shape {values.shape}.")
    return values


def _check_finite(name, series, start=0, end=None):
    """Raise ValueError unless the rows of a series that are read are finite numbers."""
    if series.dtype.kind in "OSUMm":
        raise ValueError(f"{name} must be numbers, got the type {series.dtype}.")
    is_finite = np.isfinite(series[start:end])
    if not is_finite.all():
        row, *channel = np.argwhere(~is_finite)[0].tolist()
        place = "".join(f", channel {x}" for x in channel[:1])
        value = series[(start + row, *channel)]
        raise ValueError(f"{name} must be finite, got {value} in row {start + row}{place}.")


def _count_windows(start, end, span, stride, sizes):
    """Return the number of windows of `span` rows between two rows; `sizes` are for the error."""
    if end - start < span:
        window = ", ".join(f"{name}={size}" for name, size in sizes.items())
        raise ValueError(
            f"a window of {window} needs {span} rows, got {end - start} from row {start} to {end}."
        )
    return (end - start - span) // stride + 1


def _target_series(values, columns, targets):
    """Return the series that the targets are cut from, `(time, ...)`."""
    if isinstance(targets, list | tuple):
        columns = list(range(values.shape[1]) if columns is None else columns)
        for target in targets or [None]:
            if isinstance(target, bool) or target not in columns:
                raise ValueError(
                    f"targets must be columns of values or an array, got {quote(targets)}: "
                    f"{suggest(target, map(str, columns))}"
                )
        return values[:, [columns.index(target) for target in targets]]
    targets = np.asarray(targets)
    if targets.shape[:1] != values.shape[:1]:
        raise ValueError(
            f"targets must be a list of columns of values, or an array with a row for each of its "
            f"{len(values)} rows, which offset counts, got shape {targets.shape}."
        )
    return targets


def _check_inputs(teacher_forcing, patch_length, first_position, sizes):
    """Raise ValueError for inputs of a model that do not go together."""
    context_length, offset = sizes["context_length"], sizes["offset"]
    if patch_length > 1 and not teacher_forcing:
        raise ValueError(f"patch_length={patch_length} requires teacher_forcing=True.")
    if patch_length > context_length:
        raise ValueError(
            f"patch_length={patch_length} is longer than the context of {context_length} steps."
        )
    if teacher_forcing and offset < 0:
        raise ValueError(f"teacher_forcing requires an offset of at least 0, got {offset}.")
    if first_position is None:
        return
    if teacher_forcing:
        raise ValueError("teacher_forcing and first_position cannot be combined: give one of them.")
    if offset or sizes["sampling_rate"] > 1:
        raise ValueError(
            f"first_position requires offset=0 and sampling_rate=1, got offset={offset} and "
            f"sampling_rate={sizes['sampling_rate']}."
        )
