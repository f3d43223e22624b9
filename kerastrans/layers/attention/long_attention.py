"""Training of long attention without its weights in memory: their number is a product of lengths.

In inference the weights are needed once, and are not kept.
"""

import functools

import keras
from keras import ops

# Smallest product of the numbers of queries and keys that is faster in chunks. On TensorFlow the
# whole is 1.5 times faster for 1,440 queries and keys on one core, as long as it fits into memory.
LONG = {"jax": 2**18, "tensorflow": 2**22, "torch": 2**18}
CHUNK = 64  # queries: the weights of a chunk stay in the cache of a processor


def is_long(queries, keys, dropout=0.0):
    """Return whether to call `map_chunks`, or on PyTorch `fuse`.

    Args:
        queries: int, number of queries; None where unknown.
        keys: int, number of keys; None where unknown.
        dropout: float, dropout rate of the weights, which PyTorch does not fuse on a CPU.
    """
    backend = keras.backend.backend()
    if backend not in LONG or None in (queries, keys) or (dropout and backend == "torch"):
        return False
    return queries * keys >= LONG[backend]


def map_chunks(attend, queries, keys, values, mask=None):
    """Return `attend(start, queries, keys, values, mask)` of all chunks of the queries.

    The weights of one chunk at a time are in memory: they are computed again for the gradient.

    Args:
        attend: Function of a chunk that returns `(batch, heads, CHUNK, value_dim)`. `start` is
            the number of its first query, an int32 scalar.
        queries: `(batch, heads, query, key_dim)`.
        keys: `(batch, heads, key, key_dim)`.
        values: `(batch, heads, key, value_dim)`.
        mask: None, or boolean and broadcastable to `(batch, query, key)`.

    Returns:
        `(batch, heads, query, value_dim)`.

    Source: Rabe and Staats (2021), "Self-attention does not need O(n^2) memory".
    """
    length = queries.shape[2]
    count = -(-length // CHUNK)

    def split(x, axis):
        """Return chunks of CHUNK queries along a new first axis; the last one is filled up."""
        padding = [(0, 0)] * len(x.shape)
        padding[axis] = 0, count * CHUNK - length
        shape = ops.shape(x)
        x = ops.reshape(ops.pad(x, padding), (*shape[:axis], count, CHUNK, *shape[axis + 1 :]))
        return ops.moveaxis(x, axis, 0)

    chunks = [CHUNK * ops.arange(count, dtype="int32"), split(queries, 2)]
    if mask is not None:
        # TensorFlow has no gradient of a loop with booleans.
        mask = ops.cast(mask, queries.dtype)
        mask = ops.reshape(mask, (*[1] * (3 - len(mask.shape)), *ops.shape(mask)))
        if mask.shape[1] != 1:
            chunks.append(split(mask, 1))
            mask = None

    def step(chunk):
        start, queries, *own = chunk
        masks = own if mask is None else [mask]
        return keras.remat(functools.partial(attend, start))(queries, keys, values, *masks)

    attended = ops.moveaxis(ops.map(step, chunks), 0, 2)  # (B, H, count, CHUNK, D)
    batch, heads, *_, width = ops.shape(attended)
    return ops.reshape(attended, (batch, heads, count * CHUNK, width))[:, :, :length]


def fuse(queries, keys, values, mask=None):
    """Compute the attention by PyTorch's fused function, with the arguments of `map_chunks`."""
    import torch

    if mask is not None:
        mask = ops.reshape(mask, (*[1] * (3 - len(mask.shape)), *ops.shape(mask)))[:, None]
    function = torch.nn.functional.scaled_dot_product_attention
    return function(queries, keys, values, attn_mask=mask, scale=1.0)
