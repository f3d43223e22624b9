"""Linear maps over features and time, embeddings of covariates, and reshapes of channels."""

from keras import layers, ops

from kerastrans.layers import LearntPositionalEncoding
from kerastrans.layers.initializers import FanInUniform


def dense(units, **options):
    """Return a `keras.layers.Dense` that is initialised as in the reference code.

    See `FanInUniform`.
    """
    return layers.Dense(units, kernel_initializer=FanInUniform(), **options)


def time_dense(inputs, units, *, individual=False, use_bias=True, **options):
    """Apply a linear map along the time axis.

    Args:
        inputs: `(batch, time, channels)`.
        units: int, number of steps of the result.
        individual: bool, whether each channel has its own weights or all channels share them.
        use_bias: bool, whether an offset is added to each step.
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
    bias_axes = ("ch" if individual else "h") if use_bias else None
    x = layers.EinsumDense(equation, shape, bias_axes=bias_axes, **options)(inputs)
    return ops.transpose(x, (0, 2, 1))  # (batch, units, channels)


def embed_columns(inputs, sizes, kind):
    """Embed the categories of covariates; numeric columns are not changed.

    Args:
        inputs: `(..., columns)`.
        sizes: Size of each column: 0 for numbers, otherwise the number of categories.
        kind: str, kind of the covariates; the names of the embeddings begin with it.

    Returns:
        List of one tensor `(..., features)` per column.
    """
    columns = []
    for i, size in enumerate(sizes):
        column = inputs[..., i : i + 1]
        if size:
            codes = ops.cast(column[..., 0], "int32")
            column = layers.Embedding(size, embedding_width(size), name=f"{kind}_categories_{i}")(
                codes
            )
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


def exchange_axes(inputs, count):
    """Exchange an axis with one in the batch: `(batch * count, n, d)` -> `(batch * n, count, d)`.

    Args:
        inputs: `(batch * count, n, d)`.
        count: int, size of the axis that is folded into the batch.

    Example:
        >>> import keras
        >>> exchange_axes(keras.Input((4, 8)), 3).shape
        (None, 3, 8)
    """
    columns, width = inputs.shape[1:]
    # (batch, n, count, d)
    x = ops.transpose(ops.reshape(inputs, (-1, count, columns, width)), (0, 2, 1, 3))
    return ops.reshape(x, (-1, count, width))


def learn_tokens(like, count, name, initializer):
    """Return learnt vectors, the same for each window.

    Args:
        like: `(batch, ..., d_model)`, tensor whose batch and width the result has.
        count: int, number of vectors.
        name: str, name of the layer that holds them.
        initializer: Initializer of the vectors.

    Returns:
        `(batch, count, d_model)`.

    Example:
        >>> import keras
        >>> learn_tokens(keras.Input((4, 8)), 2, "tokens", "random_normal").shape
        (None, 2, 8)
    """
    width = like.shape[-1]
    zeros = ops.zeros_like(like)
    while len(zeros.shape) > 2:
        zeros = zeros[:, 0]
    zeros = ops.repeat(ops.expand_dims(zeros, 1), count, axis=1)
    return LearntPositionalEncoding(count, width, initializer, name=name)(zeros)
