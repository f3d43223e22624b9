"""Attention over a graph of patches whose edges are filtered by kind."""

import keras
import numpy as np
from keras import ops

from kerastrans.layers.dropout import Dropout
from kerastrans.layers.gating import GateNoise, squared_variation
from kerastrans.layers.initializers import FanInUniform
from kerastrans.utils.model_files import serializable
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import (
    check_divides,
    check_dropout,
    check_non_negative,
    check_positive_integers,
)

NUM_KINDS = 3  # the same time in other channels, the same channel, all others
ENTROPY = 0.1  # share of the routing's entropy in the loss


@serializable
class GraphFilter(keras.layers.Layer):
    """Mixes the patches of all channels along edges that pass two filters.

    The strength of an edge is the GELU of a product of two maps of its patches. The weakest edges
    of a patch are removed. A gate then chooses, for each patch and head, the kinds of edges that
    it keeps: edges to other channels at the same time, to other times of the channel, and to all
    others. It keeps the most probable kinds until their probabilities exceed `top_p`, and none of
    them if that is 0: then only the edges from a patch to itself remain. The strength of a removed
    edge is 0, which the softmax turns into a small weight.

    The choice has no gradient: the gate learns from a loss only, which keeps the kinds balanced
    and the choice clear.

    Args:
        num_channels: int, number of channels; the patches of a channel follow each other.
        num_heads: int, number of heads, a divisor of the width of the inputs.
        removed: float in [0, 1), share of the edges of a patch that are removed.
        top_p: float of at least 0, probability that the kept kinds have to exceed: 0 to keep no
            kind, 1 or more to keep all.
        dropout: float in [0, 1), applied to the weights of the edges.
        balance: float of at least 0, factor of the loss.
        seed: int, seed of the gate's noise in training; None draws a seed.

    Call arguments:
        inputs: `(batch, num_channels * patches, d_model)`.

    Returns:
        `(batch, num_channels * patches, d_model)`.

    Raises:
        ValueError: If a size is below 1, or a number is outside its range.
        ValueError: If `num_heads` does not divide `d_model`.

    Example:
        >>> from keras import ops
        >>> ops.shape(GraphFilter(num_channels=3, num_heads=2)(ops.ones((4, 12, 16))))
        (4, 12, 16)

    Source: Hu et al. (2025), TimeFilter, section 3.
    """

    def __init__(
        self,
        num_channels,
        num_heads,
        removed=0.1,
        top_p=0.5,
        dropout=0.0,
        balance=0.0,
        seed=None,
        **kwargs,
    ):
        check_positive_integers(num_channels=num_channels, num_heads=num_heads)
        check_dropout(removed, "removed")
        check_dropout(dropout)
        check_non_negative(top_p=top_p, balance=balance)
        super().__init__(**kwargs)
        self.num_channels = num_channels
        self.num_heads = num_heads
        self.removed = removed
        self.top_p = top_p
        self.dropout = dropout
        self.balance = balance
        self.noise = GateNoise(seed, name="noise")
        self.seed = self.noise.seed
        self.weights_dropout = Dropout(dropout, dtype=self.dtype_policy)

    def build(self, inputs_shape):
        tokens, d_model = inputs_shape[1:]
        check_divides(num_channels=self.num_channels, number_of_patches=tokens)
        check_divides(num_heads=self.num_heads, d_model=d_model)
        width = d_model // self.num_heads

        def dense(inputs, units, name, **options):
            initial = FanInUniform()
            layer = keras.layers.Dense(units, kernel_initializer=initial, name=name, **options)
            layer.build((None, inputs))
            return layer

        policy = {"dtype": self.dtype_policy}
        full = {"dtype": full_precision(), "use_bias": False}
        self.source = dense(width, width, "source", **policy)
        self.target = dense(width, width, "target", **policy)
        self.gate = dense(tokens, NUM_KINDS, "gate", **full)
        self.gate_noise = dense(tokens, NUM_KINDS, "gate_noise", **full)
        self.values = dense(d_model, d_model, "values", **policy)
        self.kinds = _kinds(self.num_channels, tokens // self.num_channels)

    def call(self, inputs, training=False):
        tokens = inputs.shape[1]
        x = self._split_heads(inputs)
        # Their product would overflow in float16.
        source, target = (ops.cast(y, full_precision()) for y in (self.source(x), self.target(x)))
        edges = ops.gelu(ops.matmul(source, ops.transpose(target, (0, 1, 3, 2))), approximate=False)
        num_removed = int(self.removed * tokens)
        if num_removed:
            weakest = -ops.top_k(-edges, num_removed)[0][..., -1:]
            edges = ops.where(edges > weakest, edges, 0.0)
        mask = ops.eye(tokens, dtype=edges.dtype)
        if self.top_p:
            kept = self._route(edges, training)  # (batch, heads, tokens, kinds)
            kinds = ops.convert_to_tensor(self.kinds, edges.dtype)
            mask = ops.einsum("bhtk,kts->bhts", kept, kinds) + mask
        weights = self.weights_dropout(ops.softmax(edges * mask))
        weights = weights / ops.maximum(ops.sum(weights, axis=-1, keepdims=True), 1e-12)
        values = self._split_heads(self.values(inputs))
        x = ops.matmul(ops.cast(weights, values.dtype), values)
        return ops.reshape(ops.transpose(x, (0, 2, 1, 3)), (-1, *inputs.shape[1:]))

    def _route(self, edges, training):
        """Return 1 for each kind of edges that a patch keeps, otherwise 0."""
        logits = self.noise(self.gate(edges), self.gate_noise(edges), training=training)
        probabilities = ops.softmax(logits)
        better = probabilities[..., None, :] > probabilities[..., :, None]
        before = ops.sum(ops.where(better, probabilities[..., None, :], 0.0), axis=-1)
        kept = ops.cast(before <= self.top_p, edges.dtype)
        if training and self.balance:
            shares = ops.mean(probabilities * kept, axis=(0, 1, 2))
            entropy = -ops.sum(probabilities * ops.log(probabilities + 1e-10), axis=-1)
            loss = squared_variation(shares) + ENTROPY * ops.mean(entropy)
            self.add_loss(self.balance * loss)
        return kept

    def _split_heads(self, x):
        tokens, d_model = x.shape[1:]
        x = ops.reshape(x, (-1, tokens, self.num_heads, d_model // self.num_heads))
        return ops.transpose(x, (0, 2, 1, 3))  # (batch, heads, tokens, width)

    def compute_output_shape(self, inputs_shape):
        return inputs_shape


def _kinds(num_channels, num_patches):
    """Return the kind of each edge, `(kinds, tokens, tokens)`; an edge to itself has none."""
    channel, patch = np.divmod(np.arange(num_channels * num_patches), num_patches)
    same_channel, same_patch = channel[:, None] == channel, patch[:, None] == patch
    kinds = [same_patch & ~same_channel, same_channel & ~same_patch, ~same_channel & ~same_patch]
    return np.stack(kinds).astype("float32")
