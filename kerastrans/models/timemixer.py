"""TimeMixer: mixing of seasons and trends at several resolutions (Wang et al., 2024).

Paper: https://arxiv.org/abs/2405.14616
Code: https://github.com/kwuking/TimeMixer/tree/8d230b7
"""

from keras import layers, ops

from kerastrans.layers import Dropout, SeriesDecomposition, ValueEmbedding
from kerastrans.models.parts.checks import check_scales, checked
from kerastrans.models.parts.normalized_window import POOLS, STANDARDIZED, open_window, pool_window
from kerastrans.models.parts.projections import (
    add,
    dense,
    fold_channels,
    time_dense,
    unfold_channels,
)
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_choice

ARCHITECTURE = {
    "summary": "mixed resolutions",
    "license": "Apache-2.0",
    "tags": ("mlp", "channel independent", "affine", "takes heads"),
    "features": "head: bc t f",
}


@checked
def build_timemixer_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    d_model=16,
    ff_dim=32,
    num_blocks=2,
    num_scales=4,
    scale_pooling="average",
    moving_average=25,
    mix_channels=False,
    dropout=0.1,
    standardize=True,
    head=None,
    name="timemixer",
):
    """Build TimeMixer; by default all channels share the weights and do not mix.

    Each block mixes seasons from fine to coarse resolutions and trends from coarse to fine ones.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        d_model: int, number of features of each step.
        ff_dim: int, hidden width between blocks.
        num_blocks: int, number of blocks that mix the past.
        num_scales: int, number of resolutions, including the given one.
        scale_pooling: "average" or "max", the value of two steps at the next resolution.
        moving_average: int, number of steps in the moving average that estimates the trend.
        mix_channels: bool, whether a step of all channels is embedded together, as in the authors'
            scripts for many channels: the seasons pass the blocks, and the trend of each channel
            and resolution is mapped to the forecast.
        dropout: float in [0, 1), dropout rate on the embedding.
        standardize: bool, whether each window is normalised by its mean and standard deviation,
            with a learnt scale and offset per channel.
        head: None for point forecasts, or a head of `kerastrans.heads`, whose parameters are the
            last axis of the output.
        name: str, name of the model.

    Returns:
        A functional Keras model that maps `(batch, context_length, num_channels)` to
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: If a size is below 1, or too large.
        ValueError: If the context is too short for the coarsest resolution.
        ValueError: If `scale_pooling` is unknown.
        ValueError: If `dropout` is outside [0, 1).
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_timemixer_model(24, 12, 3, num_scales=3, d_model=8)
        >>> model.output_shape
        (None, 12, 3)

    Source: Wang et al. (2024), figure 2 and equations 2-6, with independent channels.
    """
    check_scales(num_scales, context_length)
    check_choice("scale_pooling", scale_pooling, tuple(POOLS))

    def map_time(x, length):
        """Apply two dense layers over time, both of width `length`."""
        return time_dense(time_dense(x, length, activation="gelu"), length)

    def mix_past(scales):
        expand, contract = dense(ff_dim, activation="gelu"), dense(d_model)
        parts = [SeriesDecomposition(moving_average)(x) for x in scales]
        if mix_channels:
            parts = [[contract(expand(part)) for part in pair] for pair in parts]
        seasons, trends = [list(part) for part in zip(*parts, strict=True)]
        for i in range(1, num_scales):  # seasons: fine to coarse
            finer = map_time(seasons[i - 1], seasons[i].shape[1])
            seasons[i] = layers.Add()([seasons[i], finer])
        for i in reversed(range(num_scales - 1)):  # trends: coarse to fine
            coarser = map_time(trends[i + 1], trends[i].shape[1])
            trends[i] = layers.Add()([trends[i], coarser])
        if mix_channels:
            return [layers.Add()(pair) for pair in zip(seasons, trends, strict=True)]
        return [
            layers.Add()([x, contract(expand(layers.Add()([season, trend])))])
            for x, season, trend in zip(scales, seasons, trends, strict=True)
        ]

    dtype = full_precision()
    window = open_window(
        context_length, num_channels, head, **STANDARDIZED, affine=True, standardize=standardize
    )
    embed = ValueEmbedding(d_model)
    scales, trends = pool_window(window, num_scales, standardize, scale_pooling), []
    if mix_channels:
        pairs = [SeriesDecomposition(moving_average, dtype=dtype)(x) for x in scales]
        scales, trends = zip(*pairs, strict=True)
    else:
        scales = [fold_channels(x) for x in scales]
    # Each (batch * channels, time, d_model), or (batch, time, d_model) if channels are mixed.
    scales = [Dropout(dropout)(embed(x)) for x in scales]
    for _ in range(num_blocks):
        scales = mix_past(scales)
    units, last = (num_channels, None) if mix_channels else (1, "head")
    predict = dense(head.size * units, dtype=dtype, name=last)
    futures = [predict(time_dense(x, prediction_length)) for x in scales]
    x, trend = add(futures, dtype=dtype), None
    if mix_channels:
        mapped = [time_dense(x, x.shape[1], dtype=dtype) for x in trends]
        mapped = [time_dense(x, prediction_length, dtype=dtype) for x in mapped]
        trend = add(mapped, dtype=dtype)
    else:
        # (batch, time * size, channels)
        x = unfold_channels(ops.reshape(x, (-1, prediction_length * head.size, 1)), num_channels)
    # At the given resolution.
    return window.model(x, head, prediction_length, name, shift=trend)
