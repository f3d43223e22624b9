"""ModernTCN: large depthwise convolutions over patches (Luo, Wang, 2024, figures 2-3).

Paper: https://openreview.net/forum?id=vpJMJerXHU
Code: https://github.com/luodhhh/ModernTCN/tree/56a9a2c
"""

import functools

from keras import layers, ops

from kerastrans.layers import BatchNormalization, Dropout, Patching
from kerastrans.layers.initializers import FanInUniform
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.normalized_window import forecast_parts, open_window
from kerastrans.models.parts.projections import dense
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_at_most, check_choice, check_positive_integers

ARCHITECTURE = {
    "summary": "large depthwise convolutions over patches",
    "license": "MIT",
    "tags": ("convolution", "mixes channels", "affine", "takes heads"),
    "paper": {"widths": (64,)},
    "features": ".*head: b c f",
}


@checked
def build_moderntcn_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    patch_length=8,
    stride=4,
    widths=(32,),
    depths=(1,),
    kernel_sizes=(51,),
    small_kernel_sizes=(5,),
    expansion=1,
    dropout=0.1,
    center="mean",
    affine=True,
    moving_average=None,
    head=None,
    name="moderntcn",
):
    """Build ModernTCN: convolutions mix patches, then features, then channels, each separately.

    The model has one stage for each number in the tuples, which have the same length. From one
    stage to the next, two tokens become one; if their number is odd, the last one is repeated.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        patch_length: int, number of steps in a patch.
        stride: int, number of steps between the starts of two patches, at most `patch_length`.
        widths: Tuple of int, number of features of each channel in each stage.
        depths: Tuple of int, number of blocks of each stage.
        kernel_sizes: Tuple of int, number of patches of the large convolution in each stage.
        small_kernel_sizes: Tuple of int, the same of the small convolution that is added to it.
        expansion: int, factor of the hidden width of the feed-forward networks.
        dropout: float in [0, 1), dropout rate.
        center: "mean" or "last", the value that is subtracted from a window before it is divided by
            its standard deviation: its mean, or its last known value. None leaves windows as they
            are, without `affine`.
        affine: bool, whether the normalisation of windows has a learnt scale and offset.
        moving_average: int, number of steps in the average that is the trend, if trend and season
            have separate networks, whose forecasts are added, as the authors' code offers (with
            25). Each of the two is normalised, and its forecast restored, by its own statistics.
            None for one network.
        head: None for point forecasts, or a head of `kerastrans.heads`, whose parameters are the
            last axis of the output.
        name: str, name of the model.

    Returns:
        A functional Keras model that maps `(batch, context_length, num_channels)` to
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: If a size is below 1, or too large.
        ValueError: If `stride` is greater than `patch_length`, or the context shorter than a patch.
        ValueError: If `center` is unknown.
        ValueError: If the tuples do not have the same length.
        ValueError: If `dropout` is outside [0, 1).
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_moderntcn_model(24, 12, 3, widths=(8,), kernel_sizes=(7,))
        >>> model.output_shape
        (None, 12, 3)

    Source: Luo, Wang (2024), "ModernTCN: A modern pure convolution structure for general time
    series analysis", section 3.
    """
    check_at_most(stride=stride, patch_length=patch_length)
    check_at_most(patch_length=patch_length, context_length=context_length)
    check_choice("center", center, ("mean", "last", None))
    stages = _check_stages(
        widths=widths,
        depths=depths,
        kernel_sizes=kernel_sizes,
        small_kernel_sizes=small_kernel_sizes,
    )
    dtype = full_precision()

    def feed_forward(x):
        """Mix the last axis of each group."""
        width = x.shape[3]
        x = ops.gelu(Dropout(dropout)(_group_dense(x, expansion * width)), approximate=False)
        return Dropout(dropout)(_group_dense(x, width))

    def mix(x, kernel_size, small_kernel_size):
        """Return a block's output `(batch, patches, channels, features)`."""
        patches, features = x.shape[1], x.shape[3]
        # (batch, patches, channels * features)
        y = ops.reshape(x, (-1, patches, num_channels * features))
        sizes = (kernel_size, small_kernel_size)
        y = layers.Add()([_convolve_patches(y, size) for size in sizes])
        # (batch, patches, channels, features)
        y = _normalise(ops.reshape(y, (-1, patches, num_channels, features)))
        y = feed_forward(y)
        # Over channels, as (batch, patches, features, channels).
        y = ops.transpose(feed_forward(ops.transpose(y, (0, 1, 3, 2))), (0, 1, 3, 2))
        return layers.Add()([x, y])

    def forecast(x, prefix=""):
        """Map a window to raw values `(batch, prediction_length * head.size, channels)`."""
        x = ops.concatenate([x, ops.repeat(x[:, -1:], patch_length - stride, axis=1)], axis=1)
        x = Patching(patch_length, stride)(x)  # (batch, channels, patches, patch_length)
        for i, (width, count, *sizes) in enumerate(stages):
            if i == 0:
                # (batch, patches, channels, width)
                x = _normalise(ops.transpose(dense(width)(x), (0, 2, 1, 3)))
            else:
                x = _merge_tokens(x, width)
            for _ in range(count):
                x = mix(x, *sizes)
        x = ops.transpose(x, (0, 2, 1, 3))  # (batch, channels, patches, features)
        # (batch, channels, patches * features)
        x = ops.reshape(x, (-1, num_channels, x.shape[2] * x.shape[3]))
        predict = dense(prediction_length * head.size, dtype=dtype, name=f"{prefix}head")
        return ops.transpose(predict(x), (0, 2, 1))

    window = open_window(
        context_length,
        num_channels,
        head,
        center=center,
        scale="std",
        affine=affine and moving_average is None,
        standardize=center is not None,
    )
    if moving_average is None:
        x = forecast(window.values)
    else:
        x = forecast_parts(
            window,
            *(functools.partial(forecast, prefix=x) for x in ("season_", "trend_")),
            moving_average=moving_average,
            affine=affine and center is not None,
        )
    return window.model(x, head, prediction_length, name)


def _normalise(x):
    return BatchNormalization(momentum=0.9, epsilon=1e-5)(x)


def _convolve_patches(x, size):
    """Apply one filter to each feature of each channel."""
    initial = FanInUniform(input_axes=(0,), output_axes=(1,))
    options = {"padding": "same", "use_bias": False, "depthwise_initializer": initial}
    return _normalise(layers.DepthwiseConv1D(size, **options)(x))


def _group_dense(x, units):
    """Map `(batch, patches, groups, n)` to `(..., groups, units)`, each group by itself."""
    return layers.EinsumDense(
        "bpgn,gnu->bpgu",
        (x.shape[1], x.shape[2], units),
        bias_axes="gu",
        kernel_initializer=FanInUniform(input_axes=(1,), output_axes=(2,)),
    )(x)


def _merge_tokens(x, width):
    """Map two neighbouring tokens `(batch, patches, channels, features)` to one."""
    if x.shape[1] % 2:
        x = ops.concatenate([x, x[:, -1:]], axis=1)
    x = ops.transpose(_normalise(x), (0, 2, 1, 3))  # (batch, channels, patches, features)
    # (batch, channels, merged patches, 2 * features)
    x = ops.reshape(x, (-1, x.shape[1], x.shape[2] // 2, 2 * x.shape[3]))
    return ops.transpose(dense(width)(x), (0, 2, 1, 3))  # (batch, patches, channels, width)


def _check_stages(**sizes):
    """Return a tuple for each stage, from tuples of the same length."""
    first, *others = sizes
    for name in others:
        if len(sizes[name]) != len(sizes[first]) or not sizes[name]:
            raise ValueError(
                f"{first} and {name} must have one number for each stage, got {sizes[first]} and "
                f"{sizes[name]}."
            )
    for name, values in sizes.items():
        check_positive_integers(**{f"{name}[{i}]": value for i, value in enumerate(values)})
    return list(zip(*sizes.values(), strict=True))
