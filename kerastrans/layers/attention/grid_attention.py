"""Attention along one axis of a grid of tokens, series by time."""

import keras
from keras import ops

from kerastrans.layers.attention.rotary import rotate
from kerastrans.layers.attention.unscaled_attention import UnscaledAttention
from kerastrans.utils.deprecation import positional_until
from kerastrans.utils.validation import check_choice, check_divides

AXES = ("time", "series")


@keras.saving.register_keras_serializable(package="kerastrans")
class GridAttention(UnscaledAttention):
    """Self-attention of a grid of tokens along time, or at each time along the series.

    Along time the tokens of a series attend to each other, and queries and keys have rotary
    positions. Along the series tokens of the same time attend to each other, without positions:
    the order of the series does not matter.

    Args:
        num_heads: int, number of heads.
        key_dim: int, width of each head; even for attention along time.
        dropout: float in [0, 1), applied to the attention weights.
        axis: "time" or "series".
        theta: float, base of the rotary positions, see `kerastrans.layers.attention.rotary.rotate`.
        **kwargs: Other arguments of `UnscaledAttention`.

    Call arguments:
        inputs: `(batch, series, time, d_model)`.
        mask: boolean `(batch, series, time)`, True = may be attended to.

    Returns:
        `(batch, series, time, d_model)`.

    Raises:
        ValueError: If `axis` is unknown, or `key_dim` is odd for attention along time.

    Example:
        >>> from keras import ops
        >>> layer = GridAttention(num_heads=2, key_dim=8, axis="series")
        >>> ops.shape(layer(ops.ones((4, 3, 10, 16)), ops.ones((4, 3, 10), "bool")))
        (4, 3, 10, 16)

    Source: Ansari et al. (2025), "Chronos-2: From univariate to universal forecasting", section
    3.2; rotary positions: Su et al. (2021).
    """

    @positional_until("0.5", "num_heads", "key_dim", "dropout", "axis", "theta")
    def __init__(self, *, key_dim, axis="time", theta=10000.0, **kwargs):
        check_choice("axis", axis, AXES)
        if axis == "time":
            check_divides(two=2, key_dim=key_dim)
        super().__init__(key_dim=key_dim, **kwargs)
        check_choice("causal", self.causal, (False,))  # the mask says what is seen
        self.axis = axis
        self.theta = theta

    def build(self, inputs_shape, mask_shape=None):
        super().build(inputs_shape)

    def call(self, inputs, mask):
        x = inputs
        if self.axis == "series":
            x, mask = ops.transpose(x, (0, 2, 1, 3)), ops.transpose(mask, (0, 2, 1))
        shape = ops.shape(x)
        rows, row_mask = ops.reshape(x, (-1, *shape[2:])), ops.reshape(mask, (-1, shape[2]))
        keys, values = self.project(rows)
        queries = self._queries(rows)
        if self.axis == "time":
            positions = ops.expand_dims(ops.arange(shape[2], dtype="int32"), 0)
            queries = rotate(queries, positions, self.theta)
            keys = rotate(keys, positions, self.theta)
        weights = self._normalise(self._scores(queries, keys), row_mask[:, None])
        x = self._merge_heads(ops.matmul(self.weights_dropout(weights), values))
        x = ops.reshape(x, (*shape[:3], x.shape[-1]))
        return ops.transpose(x, (0, 2, 1, 3)) if self.axis == "series" else x

    def compute_output_shape(self, inputs_shape, mask_shape=None):
        return self.output_shape_of(inputs_shape)

    def get_config(self):
        return {**super().get_config(), "axis": self.axis, "theta": self.theta}
