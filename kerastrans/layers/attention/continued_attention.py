"""Attention of several new steps that reuses the keys and values of earlier steps."""

import math

import keras
from keras import ops

from kerastrans.layers.attention.projected_attention import ProjectedAttention
from kerastrans.layers.attention.rotary import rotate
from kerastrans.utils.deprecation import positional_until

LOG2_E = 1.442695041  # of the published code, rounded there: `scale` was learnt with it


@keras.saving.register_keras_serializable(package="kerastrans")
class ContinuedAttention(ProjectedAttention):
    """Causal attention with rotary positions, normalised queries and keys, and a cache.

    Queries and keys are turned by their positions, see `rotate`, and divided by the root mean
    square of each head's features. The scale of the scores is learnt, one factor per feature of a
    head. A step attends to the steps whose position is from 0 to its own, earlier ones
    and new ones: a negative position hides a step.

    Args:
        num_heads: int, number of heads.
        key_dim: int, even width of each head.
        dropout: float in [0, 1), applied to the attention weights.
        theta: float, see `rotate`.
        epsilon: float, added to the mean square of the features.
        use_bias: bool, whether the projections have biases.
        **kwargs: Other arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: `(batch, time, d_model)`, the new steps.
        positions: `(batch, time)`, positions of the new steps.
        past_positions: `(batch, past)`, positions of the earlier steps.
        past_keys: `(batch, heads, past, key_dim)`, as earlier calls returned them.
        past_values: `(batch, heads, past, key_dim)`.

    Returns:
        The attention `(batch, time, d_model)`, and the keys and values of the new steps, each
        `(batch, heads, time, key_dim)`.

    Raises:
        ValueError: If a size is below 1, or `key_dim` is odd.

    Example:
        >>> from keras import ops
        >>> layer = ContinuedAttention(num_heads=2, key_dim=4)
        >>> nothing, hidden = ops.zeros((3, 2, 1, 4)), -ops.ones((3, 1))
        >>> x, keys, values = layer(ops.ones((3, 5, 8)), ops.ones((3, 5)), hidden, nothing, nothing)
        >>> ops.shape(x), ops.shape(keys)
        ((3, 5, 8), (3, 2, 5, 4))

    Source: Das et al. (2024), "A decoder-only foundation model for time-series forecasting", in
    the version 2.5 of its authors (2025); Henry et al. (2020), "Query-key normalization for
    Transformers".
    """

    @positional_until("0.5", "num_heads", "key_dim", "dropout", "theta", "epsilon", "use_bias")
    def __init__(self, *, key_dim, theta=10000.0, epsilon=1e-6, use_bias=False, **kwargs):
        super().__init__(key_dim=key_dim, use_bias=use_bias, **kwargs)
        if key_dim % 2:
            raise ValueError(f"key_dim must be even: features turn in pairs, got {key_dim}.")
        self.theta = theta
        self.epsilon = epsilon
        self.query_norm, self.key_norm = (
            keras.layers.RMSNormalization(epsilon=epsilon, dtype=self.dtype_policy, name=name)
            for name in ("query_norm", "key_norm")
        )

    def build(
        self,
        inputs_shape,
        positions_shape=None,
        past_positions_shape=None,
        past_keys_shape=None,
        past_values_shape=None,
    ):
        super().build(inputs_shape)
        head = (None, self.num_heads, None, self.key_dim)
        self.query_norm.build(head)
        self.key_norm.build(head)
        self.scale = self.add_weight((self.key_dim,), "zeros", name="scale")

    def call(self, inputs, positions, past_positions, past_keys, past_values):
        new_keys, new_values = self.project(inputs)
        new_keys = self.key_norm(rotate(new_keys, positions, self.theta))
        queries = self._split_heads(self.query_dense(inputs))
        queries = self.query_norm(rotate(queries, positions, self.theta)) * self._factors()
        keys = ops.concatenate([past_keys, new_keys], axis=2)
        values = ops.concatenate([past_values, new_values], axis=2)
        places = ops.concatenate([past_positions, positions], axis=1)[:, None]
        visible = ops.logical_and(places >= 0, places <= positions[..., None])
        weights = self.weights_dropout(self._weights(queries, keys, visible))
        return self._merge_heads(ops.matmul(weights, values)), new_keys, new_values

    def _factors(self):
        """Return the factors of the query's features; 1 / sqrt(key_dim) if `scale` is zero."""
        factors = ops.softplus(self.scale) * (LOG2_E / math.sqrt(self.key_dim))
        return ops.cast(factors, self.compute_dtype)

    def get_config(self):
        config = {**super().get_config(), "theta": self.theta, "epsilon": self.epsilon}
        del config["causal"]  # it always is
        return config
