"""The gated networks of the Temporal Fusion Transformer, and its selection of variables."""

from dataclasses import dataclass

from keras import layers, ops

from kerastrans.layers import Dropout
from kerastrans.layers.initializers import FanInUniform
from kerastrans.models.parts.projections import concatenate, dense
from kerastrans.utils.precision import full_precision


def _dense_of_each(units, **options):
    """Return a dense layer of `(variables, rows, features)` with separate weights per variable."""
    options = {"bias_axes": "ve", "kernel_initializer": FanInUniform(), **options}
    return layers.EinsumDense("vrd,vde->vre", (None, units), **options)


@dataclass(frozen=True)
class GatedNetworks:
    """Gates and gated residual networks with the same options.

    Attributes:
        dropout: float in [0, 1), dropout rate before the gates.
        epsilon: float, number that layer normalisation adds to the variance.
        context_bias: bool, whether the map of a context has a bias, as in the
            Time-Series-Library.
        narrow_last: bool, whether the network of the selection is gated at the width of the
            variables and mapped to their number afterwards, as in the Time-Series-Library.
        of_each: bool, whether tensors are `(variables, rows, features)`, with separate weights for
            each variable.

    Example:
        >>> import keras
        >>> networks = GatedNetworks(dropout=0.1, epsilon=1e-3)
        >>> variables = [keras.Input((24, 8)) for _ in range(3)]
        >>> networks.select(variables, "past").shape
        (None, 24, 8)

    Source: Lim et al. (2021), equations 2-8.
    """

    dropout: float
    epsilon: float
    context_bias: bool = False
    narrow_last: bool = False
    of_each: bool = False

    def gate(self, x, residual, dropout=None, units=None):
        """Apply a gated linear unit, add the residual and normalise; `units` is the last width."""
        dense = self._dense
        width = residual.shape[-1]
        x = Dropout(self.dropout if dropout is None else dropout)(x)
        x = layers.Multiply()([dense(width)(x), dense(width, activation="sigmoid")(x)])
        x = layers.Add()([x, residual])
        return self._normalize(x if units in (None, width) else dense(units)(x))

    def residual_network(self, x, units, context=None, hidden=None):
        """Apply two layers and a gate; a context `(batch, units)` is the same at every step."""
        dense, hidden = self._dense, hidden or units
        width = hidden if self.narrow_last else units
        residual = x if x.shape[-1] == width else dense(width)(x)
        x = dense(hidden)(x)
        if context is not None:
            added = dense(hidden, use_bias=self.context_bias)(context)
            x = x + (added if len(x.shape) == 2 else ops.expand_dims(added, 1))
        x = dense(hidden)(layers.Activation("elu")(x))
        return self.gate(x, residual, units=units)

    def select(self, variables, name, context=None):
        """Return the weighted sum of variables `(batch, ..., d_model)`, a list, at each step."""
        *steps, d_model = variables[0].shape[1:]
        if len(variables) == 1:
            return self.residual_network(variables[0], d_model)
        count = len(variables)
        weights = self.residual_network(concatenate(variables), count, context, hidden=d_model)
        weights = layers.Softmax(dtype=full_precision(), name=f"{name}_variables")(weights)
        # (variables, batch * steps, d_model)
        x = ops.stack([ops.reshape(x, (-1, d_model)) for x in variables])
        x = GatedNetworks(self.dropout, self.epsilon, of_each=True).residual_network(x, d_model)
        weights = ops.transpose(ops.reshape(weights, (-1, count)))  # (variables, batch * steps)
        x = ops.sum(x * ops.expand_dims(ops.cast(weights, x.dtype), -1), axis=0)
        return ops.reshape(x, (-1, *steps, d_model))  # (batch, ..., d_model)

    def _dense(self, units, **options):
        return (_dense_of_each if self.of_each else dense)(units, **options)

    def _normalize(self, x):
        if not self.of_each:
            return layers.LayerNormalization(epsilon=self.epsilon)(x)
        x = layers.LayerNormalization(epsilon=self.epsilon, center=False, scale=False)(x)
        options = {"bias_axes": "vd", "kernel_initializer": "ones"}
        return layers.EinsumDense("vrd,vd->vrd", (None, x.shape[-1]), **options)(x)
