"""Linear maps over features and time, embeddings of covariates, and reshapes of channels."""

from keras import layers, ops

from kerastrans.layers.initializers import FanInUniform


def dense(units, **options):
    """Return a `keras.layers.Dense` that is initialised as in the reference code.

    See `FanInUniform`.
    """
    return layers.Dense(units, kernel_initializer=FanInUniform(), **options)


def time_dense(inputs, units, *, individual=False, **options):
    """Apply a linear map along the time axis.

    Args:
        inputs: `(batch, time, channels)`.
        units: int, number of steps of the result.
        individual: bool, whether each channel has its own weights or all channels share them.
        **options: Additional arguments of `keras.layers.EinsumDense`: activation, dtype, name ...
            The default `kernel_initializer` is that of `dense`.

    Returns:
        `(batch, units, channels)`.

    Source: Zeng et al. (2023), figure 2.
    """
    equation = "btc,cth->bch" if individual else "btc,th->bch"
    # Time is the last axis of the product, because LiteRT adds a bias only to the last axis.
    shape = (inputs.shape[-1], units)
    options = {"kernel_initializer": FanInUniform(), **options}
    bias_axes = "ch" if individual else "h"
    x = layers.EinsumDense(equation, shape, bias_axes=bias_axes, **options)(inputs)
    return ops.transpose(x, (0, 2, 1))


def embed_columns(inputs, sizes):
    """Embed the categories of covariates; numeric columns are not changed.

    Args:
        inputs: `(..., columns)`.
        sizes: Size of each column: 0 for numbers, otherwise the number of categories.

    Returns:
        List of one tensor `(..., features)` per column.
    """
    columns = []
    for i, size in enumerate(sizes):
        column = inputs[..., i : i + 1]
        if size:
            codes = ops.cast(column[..., 0], "int32")
            column = layers.Embedding(size, embedding_width(size))(codes)
        columns.append(column)
    return columns


def embedding_width(size):
    """Return the number of features of an embedding of `size` categories."""
    return min(16, 1 + size // 2)


def concatenate(tensors, axis=-1):
    """Concatenate tensors along an axis; a single tensor is returned as it is."""
    return layers.Concatenate(axis=axis)(tensors) if len(tensors) > 1 else tensors[0]


def add(tensors, **options):
    """Add tensors of the same shape; a single tensor is returned as it is."""
    return layers.Add(**options)(tensors) if len(tensors) > 1 else tensors[0]


def fold_channels(inputs):
    """Move the channels into the batch: `(batch, time, c)` -> `(batch * c, time, 1)`."""
    length = inputs.shape[1]
    return ops.reshape(ops.transpose(inputs, (0, 2, 1)), (-1, length, 1))


def unfold_channels(inputs, num_channels):
    """Undo `fold_channels`: `(batch * c, time, 1)` -> `(batch, time, c)`."""
    length = inputs.shape[1]
    return ops.transpose(ops.reshape(inputs, (-1, num_channels, length)), (0, 2, 1))
