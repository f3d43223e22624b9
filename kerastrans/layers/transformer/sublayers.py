"""Layers of the Transformer's sublayers, created once and called in order.

The objects here are not layers themselves: called on KerasTensors they add their layers to a
functional model.
"""

import keras
from keras import layers

from kerastrans.layers.dropout import Dropout
from kerastrans.layers.initializers import copy_initializer
from kerastrans.utils.validation import check_choice, check_dropout, check_positive_integers

EPSILON = 1e-6  # epsilon of the layer normalisations, as in the lesson


class FeedForward:
    """Two dense layers that are applied to every position, with dropout between them.

    Args:
        shape: Shape of the inputs, `(batch, time, d_model)`.
        ff_dim: int, width of the hidden layer.
        dropout: float in [0, 1), after the activation.
        output_dim: int, width of the result; the width of the inputs by default.
        activation: Activation of the hidden layer.
        kernel_initializer, bias_initializer: Initializers of both layers.
        dtype: Data type or policy of the layers.
        name: Prefix of the layers' names.
    """

    def __init__(
        self,
        shape,
        ff_dim,
        dropout=0.0,
        *,
        output_dim=None,
        activation="relu",
        kernel_initializer="glorot_uniform",
        bias_initializer="zeros",
        dtype=None,
        name=None,
    ):
        output_dim = shape[-1] if output_dim is None else output_dim
        check_positive_integers(ff_dim=ff_dim, output_dim=output_dim)
        check_dropout(dropout)
        name = name or f"block_{keras.backend.get_uid('block')}"

        def dense(units, part, **options):
            return layers.Dense(
                units,
                kernel_initializer=copy_initializer(kernel_initializer),
                bias_initializer=copy_initializer(bias_initializer),
                dtype=dtype,
                name=f"{name}_ffn_{part}",
                **options,
            )

        self.expand = dense(ff_dim, "expand", activation=activation)
        self.dropout = Dropout(dropout, dtype=dtype, name=f"{name}_ffn_inner_dropout")
        self.contract = dense(output_dim, "contract")
        self.expand.build(shape)
        self.contract.build((*shape[:-1], ff_dim))

    def __call__(self, x):
        return self.contract(self.dropout(self.expand(x)))

    @property
    def layers(self):
        """The layers, in the order of their calls."""
        return [self.expand, self.dropout, self.contract]


class Residual:
    """Residual connection with normalisation around a sublayer.

    Args:
        norm: "pre" normalises the input of the sublayer, "post" the sum.
        normalization: "layer" or "batch", see `kerastrans.models.parts.sublayers.add_norm`.
        epsilon: float, added to the variance in layer normalisation.
        dtype: Data type or policy of the layers.
        name: Prefix of the layers' names.
    """

    def __init__(self, norm="pre", normalization="layer", epsilon=EPSILON, dtype=None, name=None):
        check_choice("norm", norm, ("pre", "post"))
        check_choice("normalization", normalization, ("layer", "batch"))
        self.norm = norm
        options = {"dtype": dtype, "name": prefix_name(name, "norm")}
        if normalization == "layer":
            self.normalise = layers.LayerNormalization(epsilon=epsilon, **options)
        else:
            self.normalise = layers.BatchNormalization(momentum=0.9, epsilon=1e-5, **options)
        self.add = layers.Add(dtype=dtype, name=prefix_name(name, "add"))

    def __call__(self, inputs, sublayer):
        x = sublayer(self.normalise(inputs) if self.norm == "pre" else inputs)
        x = self.add([inputs, x])
        return self.normalise(x) if self.norm == "post" else x

    @property
    def layers(self):
        """The layers, normalisation first."""
        return [self.normalise, self.add]


def check_width(shape, normalization="layer"):
    """Raise ValueError for inputs whose layer normalisation is a constant, those of one feature."""
    if normalization == "layer" and shape[-1] == 1:
        raise ValueError(
            f"the inputs {tuple(shape)} have one feature, which layer normalisation replaces by a "
            "constant: project the series first, keras.layers.Dense(d_model)."
        )


def prefix_name(prefix, name):
    """Return the name of a layer with a prefix; None without a prefix."""
    return prefix and f"{prefix}_{name}"
