"""Linear attention whose memory forgets what a key stood for when it is written again."""

import keras
import numpy as np
from keras import ops

_CHUNK_LENGTH = 32  # in steps; any length gives the same result


@keras.saving.register_keras_serializable(package="kerastrans")
class DeltaRule(keras.layers.Layer):
    """Linear recurrence that moves what is stored under a key towards a new value.

    The state S is a matrix: `S[t] = S[t - 1] + k[t] b[t] (v[t] - k[t] S[t - 1])`, and the output is
    `q[t] S[t]`. Keys should have a norm of at most 1. The layer has no weights.

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.

    Call arguments:
        queries: `(batch, heads, time, key_dim)`.
        keys: `(batch, heads, time, key_dim)`.
        values: `(batch, heads, time, value_dim)`.
        strengths: `(batch, heads, time, 1)`, b, from 0 (nothing is stored) to 1 (replaced).

    Returns:
        `(batch, heads, time, value_dim)`.

    Example:
        >>> import numpy as np
        >>> key, value = np.ones((1, 1, 3, 1)), np.array([[[[5.0], [7.0], [9.0]]]])
        >>> outputs = DeltaRule()(key, key, value, np.array([[[[1.0], [0.0], [0.5]]]]))
        >>> [float(x) for x in outputs[0, 0, :, 0]]
        [5.0, 5.0, 7.0]

    Source: Yang et al. (2024), "Parallelizing linear Transformers with the delta rule over sequence
    length", section 3.2, with states that are carried from chunk to chunk in passes whose reach
    doubles.
    """

    def call(self, queries, keys, values, strengths):
        length = keys.shape[2]
        size = min(_CHUNK_LENGTH, length)
        chunks = -(-length // size)

        def chunked(x):
            """Return `(batch, heads, chunks, size, dim)`, padded with steps that store nothing."""
            x = ops.pad(x, [[0, 0], [0, 0], [0, chunks * size - length], [0, 0]])
            return ops.reshape(x, (-1, x.shape[1], chunks, size, x.shape[-1]))

        queries, keys, values, strengths = map(chunked, (queries, keys, values, strengths))
        across = (0, 1, 2, 4, 3)
        inverse = _unit_inverse(strengths * ops.matmul(keys, ops.transpose(keys, across)))
        # What each chunk stores: `stored - erased S`, for a state S before it.
        stored = ops.matmul(inverse, strengths * values)
        erased = ops.matmul(inverse, strengths * keys)
        before = _states_before(ops.transpose(keys, across), stored, erased)
        seen = ops.convert_to_tensor(np.tri(size), keys.dtype)
        attention = ops.matmul(queries, ops.transpose(keys, across)) * seen
        stored = stored - ops.matmul(erased, before)
        x = ops.matmul(queries, before) + ops.matmul(attention, stored)
        return ops.reshape(x, (-1, x.shape[1], chunks * size, x.shape[-1]))[:, :, :length]

    def compute_output_shape(self, queries_shape, keys_shape, values_shape, strengths_shape):
        return values_shape


def _unit_inverse(x):
    """Return the inverse of `1 + x` for the part of `(..., size, size)` below the diagonal.

    The inverses of two blocks on the diagonal give that of the block of both. A power series would
    cancel large terms.
    """
    size = x.shape[-1]
    inverse = ops.convert_to_tensor(np.eye(size), x.dtype)
    block = np.arange(size)
    while block.max() > 0:
        # Rows of the second of two blocks, columns of the first.
        pairs = (block[:, None] % 2 == 1) & (block[None] == block[:, None] - 1)
        between = x * ops.convert_to_tensor(pairs, x.dtype)
        inverse = inverse - ops.matmul(ops.matmul(inverse, between), inverse)
        block = block // 2
    return inverse


def _states_before(keys, stored, erased):
    """Return the state before each chunk, `(batch, heads, chunks, key_dim, value_dim)`.

    Args:
        keys: `(batch, heads, chunks, key_dim, size)`.
        stored: `(batch, heads, chunks, size, value_dim)`, see `DeltaRule.call`.
        erased: `(batch, heads, chunks, size, key_dim)`.
    """
    chunks = keys.shape[2]
    # A chunk maps the state before it to `decay S + gain`.
    decay = ops.convert_to_tensor(np.eye(keys.shape[3]), keys.dtype) - ops.matmul(keys, erased)
    gain = ops.matmul(keys, stored)
    reach = 1
    while reach < chunks:
        later, earlier = slice(reach, None), slice(None, chunks - reach)
        gain = ops.concatenate(
            [
                gain[:, :, :reach],
                gain[:, :, later] + ops.matmul(decay[:, :, later], gain[:, :, earlier]),
            ],
            axis=2,
        )
        decay = ops.concatenate(
            [decay[:, :, :reach], ops.matmul(decay[:, :, later], decay[:, :, earlier])], axis=2
        )
        reach *= 2
    return ops.pad(gain, [[0, 0], [0, 0], [1, 0], [0, 0], [0, 0]])[:, :, :chunks]
