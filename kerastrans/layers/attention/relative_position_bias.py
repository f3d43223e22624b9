"""A learnt bias of attention scores that depends on the distance from query to key."""

import math

import keras
import numpy as np
from keras import ops

from kerastrans.utils.model_files import serializable
from kerastrans.utils.validation import check_at_most, check_positive_integers


@serializable
class RelativePositionBias(keras.layers.Layer):
    """Bias of each head's attention scores that depends on the distance from query to key.

    Half of the buckets hold one distance each; the others grow with the logarithm of the distance,
    and the last one holds every distance from `max_distance` on.

    Args:
        num_heads: int, number of heads.
        num_buckets: int, number of buckets of distances, at least 4.
        max_distance: int, smallest distance in the last bucket; greater than the number of buckets
            with a single distance.
        bidirectional: bool, whether half of the buckets are for keys after the query. Otherwise
            these share the bucket of distance 0, for causal attention, which hides them.
        **kwargs: Other arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: `(batch, time, width)`; only the number of steps is used.

    Returns:
        `(1, num_heads, time, time)`; the axis of the queries comes first.

    Raises:
        ValueError: If a size is below 1, or `num_buckets` or `max_distance` is too small.

    Example:
        >>> from keras import ops
        >>> layer = RelativePositionBias(num_heads=2, num_buckets=8, max_distance=16)
        >>> ops.shape(layer(ops.ones((4, 10, 16))))
        (1, 2, 10, 10)

    Source: Raffel et al. (2020), "Exploring the limits of transfer learning with a unified
    text-to-text transformer", section 2.1.
    """

    def __init__(self, num_heads, num_buckets=32, max_distance=128, bidirectional=True, **kwargs):
        sizes = {"num_buckets": num_buckets, "max_distance": max_distance}
        check_positive_integers(num_heads=num_heads, **sizes)
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.num_buckets = num_buckets
        self.max_distance = max_distance
        self.bidirectional = bidirectional
        self.one_way = num_buckets // 2 if bidirectional else num_buckets
        if self.one_way < 2:
            raise ValueError(f"num_buckets must be at least 4, got {num_buckets}.")
        check_at_most(exact_distances=self.one_way // 2, max_distance=max_distance - 1)
        self._bucket_of_distance = self._buckets()

    def build(self, inputs_shape):
        shape = (self.num_buckets, self.num_heads)
        self.table = self.add_weight(shape, "random_normal", name="table")

    def call(self, inputs):
        steps = ops.arange(ops.shape(inputs)[1], dtype="int32")
        ahead = ops.expand_dims(steps, 0) - ops.expand_dims(steps, 1)  # (query, key)
        distance = ops.abs(ahead) if self.bidirectional else ops.maximum(-ahead, 0)
        buckets = ops.take(self._bucket_of_distance, ops.minimum(distance, self.max_distance))
        if self.bidirectional:
            buckets = buckets + self.one_way * ops.cast(ahead > 0, "int32")
        bias = ops.take(self.table, buckets, axis=0)  # (query, key, heads)
        return ops.expand_dims(ops.transpose(bias, (2, 0, 1)), 0)

    def _buckets(self):
        """Return the bucket of each distance from 0 to `max_distance`, `(max_distance + 1,)`."""
        exact = self.one_way // 2
        distances = np.arange(self.max_distance + 1)
        growth = np.log(np.maximum(distances, 1) / exact) / math.log(self.max_distance / exact)
        wide = np.minimum(exact + (growth * (self.one_way - exact)).astype(int), self.one_way - 1)
        return np.where(distances < exact, distances, wide).astype("int32")

    def compute_output_shape(self, inputs_shape):
        return (1, self.num_heads, inputs_shape[1], inputs_shape[1])
