"""Sublayers of the Transformer: feed-forward networks, residuals, normalisation."""

from typing import Any

from keras import layers, ops

from kerastrans.layers import Dropout
from kerastrans.layers.transformer.sublayers import EPSILON, FeedForward, Residual, prefix_name
from kerastrans.utils.types import Tensor

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
    network = FeedForward(
        inputs.shape,
        ff_dim,
        dropout,
        output_dim=output_dim,
        activation=activation,
        kernel_initializer=kernel_initializer,
        name=name,
    )
    return network(inputs)


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


def add_norm(
    inputs,
    sublayer,
    dropout=0.0,
    *,
    norm="pre",
    normalization="layer",
    epsilon=EPSILON,
    name=None,
):
    """Apply a sublayer with dropout, a residual connection and normalisation around it.

    Args:
        inputs: `(batch, time, d_model)`.
        sublayer: Layer or function from a tensor to a tensor of the same shape.
        dropout: float in [0, 1), applied to the sublayer's result.
        norm: "pre" normalises the input of the sublayer, "post" the sum.
        normalization: "layer" normalises each position separately, "batch" each feature over all
            positions of the batch (Zerveas et al., 2021).
        epsilon: float, number that layer normalisation adds to the variance.
        name: str, prefix of the layers' names.

    Returns:
        `(batch, time, d_model)`.

    Raises:
        ValueError: If `norm` or `normalization` is unknown.

    Example:
        >>> import keras
        >>> add_norm(keras.Input((10, 8)), keras.layers.Dense(8), norm="post").shape
        (None, 10, 8)

    Source: Vaswani et al. (2017), section 3.1; "pre": Xiong et al. (2020).
    """

    def dropped(x):
        return Dropout(dropout, name=prefix_name(name, "dropout"))(sublayer(x))

    return Residual(norm, normalization, epsilon, name=name)(inputs, dropped)


def close_stack(inputs, norm, *, dtype=None, name=None):
    """End a stack of blocks: a pre-norm stack is normalised once more after its last block.

    Source: Xiong et al. (2020), figure 1b.
    """
    if norm == "post":
        return inputs
    return layers.LayerNormalization(epsilon=EPSILON, dtype=dtype, name=prefix_name(name, "norm"))(
        inputs
    )
