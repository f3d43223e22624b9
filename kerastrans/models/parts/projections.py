"""Small parts of a graph: maps over features, over time and over channels."""

from keras import layers, ops

from kerastrans.layers.initializers import FanInUniform


def dense(units, **options):
    """`keras.layers.Dense` whose weights start as in the reference code, see `FanInUniform`."""
    return layers.Dense(units, kernel_initializer=FanInUniform(), **options)


def time_dense(inputs, units, *, individual=False, **options):
    """A linear map along the time axis: `(batch, time, channels)` -> `(batch, units, channels)`.

    Args:
        inputs: `(batch, time, channels)`.
        units: int, steps of the result.
        individual: bool, whether every channel has weights of its own or all share them.
        **options: more arguments of `keras.layers.EinsumDense`: activation, dtype, name ... Without
            a `kernel_initializer` the weights start as those of `dense`.

    Returns:
        `(batch, units, channels)`.

    Source: Zeng et al. (2023), figure 2.
    """
    equation = "btc,cth->bch" if individual else "btc,th->bch"
    shape = (inputs.shape[-1], units)  # time comes last here: LiteRT adds no bias elsewhere
    options = {"kernel_initializer": FanInUniform(), **options}
    bias_axes = "ch" if individual else "h"
    x = layers.EinsumDense(equation, shape, bias_axes=bias_axes, **options)(inputs)
    return ops.transpose(x, (0, 2, 1))


def embed_columns(inputs, sizes):
    """Covariates as features: numbers as they are, the numbers of categories embedded.

    Args:
        inputs: `(..., columns)`.
        sizes: of each column, 0 for a number or how many categories there are.

    Returns:
        List with one tensor `(..., features)` a column.
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
    """Features of an embedding of `size` categories."""
    return min(16, 1 + size // 2)


def concatenate(tensors, axis=-1):
    """Tensors joined along an axis; a single one stays as it is."""
    return layers.Concatenate(axis=axis)(tensors) if len(tensors) > 1 else tensors[0]


def add(tensors, **options):
    """Sum of tensors of one shape; a single one stays as it is."""
    return layers.Add(**options)(tensors) if len(tensors) > 1 else tensors[0]


def fold_channels(inputs):
    """Every channel a series of its own: `(batch, time, c)` -> `(batch * c, time, 1)`."""
    length = inputs.shape[1]
    return ops.reshape(ops.transpose(inputs, (0, 2, 1)), (-1, length, 1))


def unfold_channels(inputs, num_channels):
    """What `fold_channels` folded: `(batch * c, time, 1)` -> `(batch, time, c)`."""
    length = inputs.shape[1]
    return ops.transpose(ops.reshape(inputs, (-1, num_channels, length)), (0, 2, 1))
