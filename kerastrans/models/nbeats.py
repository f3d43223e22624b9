"""N-BEATS: blocks that explain away the past, one after the other (Oreshkin et al., 2020)."""

import keras
from keras import layers, ops

from kerastrans.layers import BasisExpansion
from kerastrans.models.builders import checked
from kerastrans.models.projections import add, dense
from kerastrans.models.window import open_window
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_choice

ARCHITECTURE = {
    "title": "N-BEATS",
    "source": "Oreshkin et al.",
    "year": 2020,
    "summary": "residual blocks of curves",
    "tags": ("mlp", "channel independent", "takes heads"),
}
SEARCH_SPACE = {
    "hidden_dim": (64, 256, 512),
    "num_blocks": (1, 3),
    "stacks": (("generic", "generic"), ("trend", "seasonality")),
}


@checked
def build_nbeats_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    stacks=("generic", "generic"),
    num_blocks=3,
    hidden_dim=512,
    num_layers=4,
    degree=2,
    from_last_value=False,
    head=None,
    name="nbeats",
):
    """Build N-BEATS; all channels share the weights.

    Each block sees what the blocks before it left unexplained of the past, and adds its part to the
    forecast. A "generic" block learns its curves; a "trend" block draws a polynomial and a
    "seasonality" block a Fourier series, and the blocks of such a stack share their weights:
    `("trend", "seasonality")` is the interpretable N-BEATS.

    Args:
        context_length: int, steps of history.
        prediction_length: int, steps to forecast.
        num_channels: int, values at each step.
        stacks: kinds of the stacks, in order: "generic", "trend", "seasonality".
        num_blocks: int, blocks in each stack.
        hidden_dim: int, width of each block's network.
        num_layers: int, depth of each block's network.
        degree: int, of a trend's polynomial.
        from_last_value: bool, whether the blocks draw the distance to the last known value of each
            channel, as in the reference code, or the forecast itself, as in the paper.
        head: None for points, or a head of `kerastrans.heads`, whose parameters are a last axis.
        name: str, name of the model.

    Returns:
        A functional Keras model `(batch, context_length, num_channels)` ->
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: A size is below 1, or too large.
        ValueError: There is no stack, or one of an unknown kind.
        ValueError: `head` is unknown.

    Example:
        >>> model = build_nbeats_model(24, 12, 3, stacks=("trend", "seasonality"), hidden_dim=8)
        >>> model.output_shape
        (None, 12, 3)

    Source: Oreshkin et al. (2020), figure 1 and sections 3.1-3.3.
    """
    if not stacks:
        raise ValueError("stacks must name at least one stack, got none.")
    for kind in stacks:
        check_choice("stacks", kind, ("generic", "trend", "seasonality"))

    dtype = full_precision()

    def curve(kind, length, size=1):
        """From a block's features to `size` curves of `length` steps."""
        if kind == "generic":
            return [dense(size * length, dtype=dtype), layers.Reshape((num_channels, size, length))]
        if kind == "trend":
            basis, count = "polynomial", degree + 1
        else:
            basis, count = "fourier", max(1, length - 1)
        return [
            dense(size * count, use_bias=False, dtype=dtype),
            layers.Reshape((num_channels, size, count)),
            BasisExpansion(basis, length, dtype=dtype),
        ]

    def make_block(kind):
        return (
            [dense(hidden_dim, activation="relu") for _ in range(num_layers)],
            curve(kind, context_length),
            curve(kind, prediction_length, head.size),
        )

    window = open_window(context_length, num_channels, head)
    residual = ops.transpose(window.values, (0, 2, 1))  # (batch, channels, context_length)
    forecasts = []
    for kind in stacks:
        block = make_block(kind)
        for i in range(num_blocks):
            if kind == "generic" and i > 0:
                block = make_block(kind)
            network, backcast, forecast = block
            features = _through(network, residual)
            backcast = _through(backcast, features)[:, :, 0]
            residual = layers.Subtract(dtype=dtype)([residual, backcast])
            forecasts.append(_through(forecast, features))
    # Nothing uses the last residual: the layers that would draw it are not part of the model.
    x = add(forecasts, dtype=dtype)
    x = ops.reshape(
        ops.transpose(x, (0, 3, 2, 1)), (-1, prediction_length * head.size, num_channels)
    )
    level = window.last_value(prediction_length) if from_last_value else None
    outputs = window.forecast(x, head, prediction_length, shift=level)
    return keras.Model(window.history, outputs, name=name)


def _through(sequence, x):
    for layer in sequence:
        x = layer(x)
    return x
