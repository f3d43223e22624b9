"""Sublayers of the Transformer: feed-forward networks, residuals, normalisation."""

from typing import Any

import keras
from keras import layers, ops

from kerastrans.layers import Dropout
from kerastrans.layers.initializers import FanInUniform, fresh
from kerastrans.layers.transformer.blocks import EPSILON, prefix_name, transformer_encoder
from kerastrans.utils.types import Tensor
from kerastrans.utils.validation import check_dropout, check_positive_integers

TENSORFLOW_EPSILON = 1e-3  # that of Keras
TORCH_EPSILON = 1e-5  # that of PyTorch and of most reference code


def position_wise_ffn(
    inputs: Tensor,
    ff_dim: int,
    dropout: float = 0.0,
    *,
    output_dim: int | None = None,
    activation: str = "relu",
    kernel_initializer: Any = "glorot_uniform",
    name: str | None = None,
) -> Tensor:
    """Apply a two-layer network to every position: Dense, activation, dropout, Dense.

    Args:
        inputs: `(batch, time, d_model)`.
        ff_dim: int, width of the hidden layer.
        dropout: float in [0, 1), after the activation.
        output_dim: int, width of the result; the width of the inputs by default.
        activation: Activation of the hidden layer, as in `keras.layers.Dense`.
        kernel_initializer: Initializer of both layers, as in `keras.layers.Dense`.
        name: str, prefix of the layers' names.

    Returns:
        `(batch, time, output_dim)`.

    Raises:
        ValueError: If `ff_dim` or `output_dim` is below 1.
        ValueError: If `dropout` is outside [0, 1).

    Example:
        >>> import keras
        >>> position_wise_ffn(keras.Input((10, 8)), ff_dim=32).shape
        (None, 10, 8)

    Source: Vaswani et al. (2017), equation 2.
    """
    output_dim = inputs.shape[-1] if output_dim is None else output_dim
    check_positive_integers(ff_dim=ff_dim, output_dim=output_dim)
    check_dropout(dropout)
    name = f"{name or 'block_' + str(keras.backend.get_uid('block'))}_ffn"
    initial = {"kernel_initializer": kernel_initializer}
    x = layers.Dense(ff_dim, activation, name=f"{name}_expand", **fresh(initial))(inputs)
    x = Dropout(dropout, name=f"{name}_inner_dropout")(x)
    return layers.Dense(output_dim, name=f"{name}_contract", **fresh(initial))(x)


def swiglu(inputs, up, down):
    """Apply a gated feed-forward network: half of a wider projection gates the other half.

    Args:
        inputs: `(batch, time, d_model)`.
        up: Layer or function from the inputs to `(batch, time, 2 * ff_dim)`, the gate first.
        down: Layer or function from `(batch, time, ff_dim)` to `(batch, time, d_model)`.

    Returns:
        `(batch, time, d_model)`.

    Example:
        >>> import keras
        >>> up, down = keras.layers.Dense(64), keras.layers.Dense(8)
        >>> swiglu(keras.Input((10, 8)), up, down).shape
        (None, 10, 8)

    Source: Shazeer (2020), "GLU variants improve Transformer", equation 6.
    """
    gate, values = ops.split(up(inputs), 2, axis=-1)
    return down(ops.silu(gate) * values)


def add_norm(inputs, outputs, dropout=0.0, *, name=None):
    """Add the outputs of a sublayer, after dropout, to its inputs, and normalise the sum.

    Args:
        inputs: `(batch, time, d_model)`.
        outputs: `(batch, time, d_model)`, result of the sublayer.
        dropout: float in [0, 1).
        name: str, prefix of the layers' names.

    Returns:
        `(batch, time, d_model)`.

    Example:
        >>> import keras
        >>> x = keras.Input((10, 8))
        >>> add_norm(x, keras.layers.Dense(8)(x)).shape
        (None, 10, 8)

    Source: Vaswani et al. (2017), section 3.1.
    """
    x = Dropout(dropout, name=prefix_name(name, "dropout"))(outputs)
    x = layers.Add(name=prefix_name(name, "add"))([inputs, x])
    return layers.LayerNormalization(epsilon=TORCH_EPSILON, name=prefix_name(name, "norm"))(x)


def torch_encoder(x, ff_dim, dropout, *, num_heads=1, activation="gelu", norm="post", **options):
    """Apply `transformer_encoder` with the epsilon and the initial weights of most reference code.

    Args:
        x: `(batch, time, d_model)`.
        ff_dim: int, width of the hidden layer of the feed-forward network.
        dropout: float in [0, 1).
        num_heads: int, number of attention heads, which divides d_model.
        activation: Activation of the hidden layer.
        norm: "post" or "pre".
        **options: `self_attention` and `name` of `transformer_encoder`.

    Returns:
        `(batch, time, d_model)`.
    """
    return transformer_encoder(
        x,
        num_heads=num_heads,
        key_dim=x.shape[-1] // num_heads,
        ff_dim=ff_dim,
        dropout=dropout,
        norm=norm,
        activation=activation,
        layer_norm_epsilon=TORCH_EPSILON,
        kernel_initializer=FanInUniform,
        **options,
    )


def close_stack(inputs, norm, *, dtype=None, name=None):
    """End a stack of blocks: a pre-norm stack is normalised once more after its last block.

    Source: Xiong et al. (2020), figure 1b.
    """
    if norm == "post":
        return inputs
    return layers.LayerNormalization(epsilon=EPSILON, dtype=dtype, name=prefix_name(name, "norm"))(
        inputs
    )
