"""N-BEATS: a stack of residual blocks that each forecast a part (Oreshkin et al., 2020).

Paper: https://arxiv.org/abs/1905.10437
Code: https://github.com/cchallu/nbeatsx/tree/fe116d2
"""

from keras import initializers, layers, ops

from kerastrans.layers import BasisExpansion
from kerastrans.layers.initializers import FanInUniform
from kerastrans.models.parts.checks import checked, one_each
from kerastrans.models.parts.normalized_window import open_window
from kerastrans.models.parts.projections import add, concatenate, dense
from kerastrans.models.parts.regression import channel_features, covariate_columns
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_choice

ARCHITECTURE = {
    "summary": "residual blocks of curves",
    "license": "MIT",
    "tags": (
        "mlp",
        "channel independent",
        "past covariates",
        "future covariates",
        "static covariates",
        "takes heads",
    ),
    "paper": {"num_blocks": 15},
    "variants": {"interpretable": {"stacks": ("trend", "seasonality"), "hidden_dim": (256, 2048)}},
}

EXOGENOUS = ("exogenous", "exogenous_wavenet")
INTERPRETABLE = ("trend", "seasonality", "exogenous")
KINDS = ("generic", "trend", "seasonality", *EXOGENOUS)
DEGREE = 2  # of the polynomial of a trend
EXOGENOUS_DIM = 8  # features that the convolutions of a block compute from the covariates


@checked(may_be_tuple=("hidden_dim",))
def build_nbeats_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    stacks=("generic", "generic"),
    num_blocks=3,
    shared_blocks="interpretable",
    hidden_dim=512,
    num_layers=4,
    harmonics=1,
    from_last_value=False,
    reference_curves=False,
    head=None,
    covariates=None,
    name="nbeats",
):
    """Build N-BEATS; all channels share the weights.

    The input of each block is the past minus the backcasts of the previous blocks, and the forecast
    is the sum of the forecasts of all blocks. The curves of a "generic" block are learnt. A "trend"
    block outputs a parabola and a "seasonality" block a Fourier series, and by default the blocks
    of such a stack share their weights. `("trend", "seasonality")` is the interpretable N-BEATS.

    With covariates the model is N-BEATSx: the covariates are additional inputs of every block. The
    output of an "exogenous" block is a weighted sum of the future covariates, and the blocks of its
    stack share their weights; the output of an "exogenous_wavenet" block is a weighted sum of
    features that causal convolutions compute from these covariates.
    `("trend", "seasonality", "exogenous")` is the interpretable N-BEATSx.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        stacks: Kinds of the stacks, in order: "generic", "trend", "seasonality", and with future
            covariates "exogenous", "exogenous_wavenet".
        num_blocks: int, number of blocks in each stack.
        shared_blocks: Stacks whose blocks share their weights: "interpretable" for those of trends,
            seasons and covariates ("exogenous"), "all" or "none".
        hidden_dim: int, width of the network of each block, or a tuple of one int per stack, such
            as `(256, 2048)` for the trend and the season of the paper.
        num_layers: int, number of layers of the network of each block.
        harmonics: int, number of waves of a season from one number of periods to the next, as in
            the reference code: with 2 there are waves of 1, 1.5, 2, ... periods.
        from_last_value: bool, whether the blocks forecast the difference from the last known value
            of each channel, as in the reference code, or the value itself, as in the paper.
        reference_curves: bool, whether the curves are those of the reference code instead of those
            of the paper: their coefficients have biases, the time of the backcast of a trend or a
            season runs backwards, and its waves have the periods of the horizon. The convolutions
            of "exogenous_wavenet" read the past backwards, then the future, and multiply each
            covariate by a weight first.
        head: None for point forecasts, or a head of `kerastrans.heads`, whose parameters are the
            last axis of the output.
        covariates: Dict of "past", "future", "static", see `kerastrans.zoo.build`.
        name: str, name of the model.

    Returns:
        A functional Keras model that maps `(batch, context_length, num_channels)` to
        `(batch, prediction_length, num_channels)`; with covariates its input is a dict.

    Raises:
        ValueError: If a size is below 1, or too large.
        ValueError: If `stacks` is empty, or contains an unknown kind.
        ValueError: If `hidden_dim` does not have one number per stack.
        ValueError: If `shared_blocks` is unknown.
        ValueError: If a stack is exogenous and future covariates are not given.
        ValueError: If a kind of covariates is unknown.
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_nbeats_model(24, 12, 3, stacks=("trend", "seasonality"), hidden_dim=8)
        >>> model.output_shape
        (None, 12, 3)

    Source: Oreshkin et al. (2020), figure 1 and sections 3.1-3.3; Olivares et al. (2023), sections
    3.2-3.4.
    """
    _check_stacks(stacks, covariates)
    widths = one_each("hidden_dim", hidden_dim, len(stacks), "stacks")
    check_choice("shared_blocks", shared_blocks, ("interpretable", "all", "none"))
    dtype = full_precision()

    def polynomials(length, is_backcast):
        """Return the number of curves of a trend, and the layer that draws them."""
        backwards = {"start": length - 1, "step": -1} if is_backcast and reference_curves else {}
        return DEGREE + 1, BasisExpansion("polynomial", length, **backwards, dtype=dtype)

    def waves(length, is_backcast):
        """Return the number of curves of a season, and the layer that draws them."""
        options = {"harmonics": harmonics, "dtype": dtype}
        if not reference_curves:
            count = 1 + harmonics * (length - 2)
            return max(1, count), BasisExpansion("fourier", length, **options)
        options |= {"period": prediction_length, "curve_dtype": "float32"}
        start = 1 - length if is_backcast else 0
        count = 1 + 2 * ((harmonics * (prediction_length - 2) + 1) // 2)
        return max(1, count), BasisExpansion("fourier", length, start, **options)

    def curve(kind, length, size, basis, is_backcast=False):
        """Return the layers from the features of a block to `size` curves of `length` steps."""
        if kind == "generic":
            # (batch, channels, size, length)
            return [dense(size * length, dtype=dtype), layers.Reshape((num_channels, size, length))]
        if kind in EXOGENOUS:
            count, draw = basis.shape[2], lambda x: ops.matmul(x, basis)
        else:
            count, draw = {"trend": polynomials, "seasonality": waves}[kind](length, is_backcast)
        return [
            dense(size * count, use_bias=reference_curves, dtype=dtype),
            layers.Reshape((num_channels, size, count)),  # (batch, channels, size, curves)
            draw,
        ]

    def make_block(kind, width):
        past, ahead = _exogenous_basis(kind, columns, context_length, reference_curves)
        return (
            [dense(width, activation="relu") for _ in range(num_layers)],
            curve(kind, context_length, 1, past, is_backcast=True),
            curve(kind, prediction_length, head.size, ahead),
        )

    window = open_window(context_length, num_channels, head)
    extra, columns = covariate_columns(window, prediction_length, covariates)
    # (batch, steps * features)
    flat = [layers.Flatten()(x) for kind in columns for x in columns[kind]]
    known = [channel_features(flat, num_channels)] if extra else []
    residual = ops.transpose(window.values, (0, 2, 1))  # (batch, channels, context_length)
    shared_kinds = {"interpretable": INTERPRETABLE, "all": KINDS, "none": ()}[shared_blocks]
    forecasts = []
    for kind, width in zip(stacks, widths, strict=True):
        block = make_block(kind, width)
        for i in range(num_blocks):
            if i > 0 and kind not in shared_kinds:
                block = make_block(kind, width)
            network, backcast, forecast = block
            features = _apply_layers(network, concatenate([residual, *known]))
            backcast = _apply_layers(backcast, features)[:, :, 0]
            residual = layers.Subtract(dtype=dtype)([residual, backcast])
            forecasts.append(_apply_layers(forecast, features))
    # The last residual is not used, so its layers are not part of the model.
    x = add(forecasts, dtype=dtype)
    # (batch, time * size, channels)
    x = ops.reshape(
        ops.transpose(x, (0, 3, 2, 1)), (-1, prediction_length * head.size, num_channels)
    )
    level = window.last_value(prediction_length) if from_last_value else None
    return window.model(x, head, prediction_length, name, shift=level, extra=extra)


def _check_stacks(stacks, covariates):
    if not stacks:
        raise ValueError("stacks must name at least one stack, got none.")
    for kind in stacks:
        check_choice("stacks", kind, KINDS)
        if kind in EXOGENOUS and "future" not in (covariates or {}):
            raise ValueError(f"a stack of kind {kind!r} requires future covariates, got none.")


def _exogenous_basis(kind, columns, context_length, reference_curves):
    """Return the past and future curves `(batch, 1, curves, steps)` of an exogenous stack."""
    if kind not in EXOGENOUS:
        return None, None
    x = concatenate(columns["future"])  # (batch, steps, columns)
    convolve = kind == "exogenous_wavenet"
    if convolve and reference_curves:
        x = _reverse_past(x, context_length)
        bound = 2 / x.shape[2] ** 0.5
        initial = initializers.RandomUniform(-bound, bound)
        x = layers.EinsumDense("btc,c->btc", x.shape[1:], kernel_initializer=initial)(x)
    for level in range(4) if convolve else ():
        options = {"padding": "causal", "dilation_rate": 2**level, "activation": "relu"}
        x = layers.Conv1D(EXOGENOUS_DIM, 3, kernel_initializer=FanInUniform(), **options)(x)
    if convolve and reference_curves:
        x = _reverse_past(x, context_length)
    x = ops.expand_dims(ops.transpose(x, (0, 2, 1)), 1)  # (batch, 1, curves, steps)
    return x[..., :context_length], x[..., context_length:]


def _reverse_past(x, context_length):
    past, ahead = x[:, :context_length], x[:, context_length:]
    return ops.concatenate([ops.flip(past, axis=1), ahead], axis=1)


def _apply_layers(sequence, x):
    for layer in sequence:
        x = layer(x)
    return x
