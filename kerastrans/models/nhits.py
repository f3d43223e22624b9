"""N-HiTS: N-BEATS at several rates (Challu et al., 2023, figure 2).

Paper: https://arxiv.org/abs/2201.12886
Code: https://github.com/Nixtla/neuralforecast/tree/5ffa0d0
"""

from keras import layers, ops

from kerastrans.layers import BasisExpansion, Dropout
from kerastrans.models.parts.checks import checked, one_each
from kerastrans.models.parts.normalized_window import open_window
from kerastrans.models.parts.projections import add, concatenate, dense
from kerastrans.models.parts.regression import channel_features, covariate_columns
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_at_most, check_positive_integers

ARCHITECTURE = {
    "summary": "N-BEATS at several rates",
    "license": "Apache-2.0",
    "tags": (
        "mlp",
        "channel independent",
        "past covariates",
        "future covariates",
        "static covariates",
        "takes heads",
    ),
}


@checked(may_be_tuple=("hidden_dim",))
def build_nhits_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    pool_sizes=(2, 2, 1),
    downsampling=(24, 12, 1),
    num_blocks=1,
    hidden_dim=512,
    num_layers=2,
    input_dim=None,
    dropout=0.0,
    from_last_value=True,
    head=None,
    covariates=None,
    name="nhits",
):
    """Build N-HiTS; all channels share the weights.

    Each stack pools the past at its own rate, forecasts a few values of the future and interpolates
    between them. With the default rates the first stacks forecast slow changes, the last stack fast
    ones. Past and future covariates enter each block pooled at the same rate. If a pool does not
    divide a length, the oldest pool of the history is smaller, and the newest one of a covariate.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        pool_sizes: Number of past steps that are pooled to their maximum, one int per stack.
        downsampling: Number of future steps per value that a stack forecasts, one int per stack.
        num_blocks: int, number of blocks in each stack.
        hidden_dim: int, width of the network of each block, or a tuple of one int per layer.
        num_layers: int, number of layers of the network of each block.
        input_dim: int, width of a linear map without activation before the network of each block,
            as in neuralforecast; None for none, as in the paper.
        dropout: float in [0, 1), dropout rate.
        from_last_value: bool, whether the stacks forecast the difference from the last known value
            of each channel, as in the reference code, or the value itself.
        head: None for point forecasts, or a head of `kerastrans.heads`, whose parameters are the
            last axis of the output.
        covariates: Dict of "past", "future", "static", see `kerastrans.zoo.build`.
        name: str, name of the model.

    Returns:
        A functional Keras model that maps `(batch, context_length, num_channels)` to
        `(batch, prediction_length, num_channels)`; with covariates its input is a dict.

    Raises:
        ValueError: If a size is below 1, or too large.
        ValueError: If `pool_sizes` and `downsampling` differ in length, or are empty.
        ValueError: If `hidden_dim` does not have one number per layer.
        ValueError: If a pool is longer than the context.
        ValueError: If a kind of covariates is unknown.
        ValueError: If `dropout` is outside [0, 1).
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_nhits_model(24, 12, 3, downsampling=(6, 2, 1), hidden_dim=8)
        >>> model.output_shape
        (None, 12, 3)

    Source: Challu et al. (2023), sections 3.2-3.4; the authors' code for the last value.
    """
    if len(pool_sizes) != len(downsampling) or not pool_sizes:
        raise ValueError(
            "pool_sizes and downsampling must have one value per stack, got "
            f"{len(pool_sizes)} and {len(downsampling)}."
        )
    for pool_size, rate in zip(pool_sizes, downsampling, strict=True):
        check_positive_integers(pool_sizes=pool_size, downsampling=rate)
        check_at_most(pool_sizes=pool_size, context_length=context_length)
    widths = one_each("hidden_dim", hidden_dim, num_layers, "layers")

    dtype = full_precision()
    window = open_window(context_length, num_channels, head)
    residual = ops.transpose(window.values, (0, 2, 1))  # (batch, channels, context_length)
    extra, columns = covariate_columns(window, prediction_length, covariates)
    forecasts = []
    for pool_size, rate in zip(pool_sizes, downsampling, strict=True):
        known = [channel_features(_pool_columns(columns, pool_size), num_channels)] if extra else []
        for _ in range(num_blocks):
            x = concatenate([_max_pool(residual, pool_size), *known])
            if input_dim is not None:
                x = dense(input_dim)(x)
            for width in widths:
                x = Dropout(dropout)(dense(width, activation="relu")(x))
            backcast = dense(context_length, dtype=dtype)(x)
            residual = layers.Subtract(dtype=dtype)([residual, backcast])
            count = max(1, prediction_length // rate)
            knots = dense(head.size * count, dtype=dtype)(x)
            # (batch, channels, size, knots)
            knots = ops.reshape(knots, (-1, num_channels, head.size, count))
            forecasts.append(BasisExpansion("linear", prediction_length, dtype=dtype)(knots))
    # The last residual is not used, so its layers are not part of the model.
    x = add(forecasts, dtype=dtype)
    # (batch, time * size, channels)
    x = ops.reshape(
        ops.transpose(x, (0, 3, 2, 1)), (-1, prediction_length * head.size, num_channels)
    )
    level = window.last_value(prediction_length) if from_last_value else None
    return window.model(x, head, prediction_length, name, shift=level, extra=extra)


def _pool_columns(columns, pool_size):
    """Return covariates as a list of `(batch, features)`; all but static ones are pooled."""
    steps = [x for kind in columns if kind != "static" for x in columns[kind]]
    # (batch, features, pools)
    pooled = [_max_pool(ops.transpose(x, (0, 2, 1)), pool_size, oldest_first=True) for x in steps]
    return [layers.Flatten()(x) for x in pooled] + columns.get("static", [])


def _max_pool(x, pool_size, oldest_first=False):
    """Return the maximum of each `pool_size` values, counted from the newest or the oldest one.

    The pool that is counted last may have fewer values.
    """
    count = -(-x.shape[-1] // pool_size)
    padding = count * pool_size - x.shape[-1]
    if padding:  # repeating a value at the end does not change the maximum of its pool
        end = ops.repeat(x[..., -1:] if oldest_first else x[..., :1], padding, axis=-1)
        x = ops.concatenate([x, end] if oldest_first else [end, x], axis=-1)
    # (batch, channels, pools, pool_size) before the maximum
    return ops.max(ops.reshape(x, (-1, x.shape[1], count, pool_size)), axis=-1)
