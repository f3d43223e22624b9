"""TimeFilter: a filtered graph of the patches of all channels (Hu et al., 2025, figure 3).

Paper: https://arxiv.org/abs/2501.13041
Code: https://github.com/thuml/Time-Series-Library/tree/4e938a1
"""

from keras import layers, ops

from kerastrans.layers import GraphFilter, PositionalEncoding
from kerastrans.layers.initializers import FanInUniform
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.normalized_window import STANDARDIZED, open_window
from kerastrans.models.parts.projections import dense
from kerastrans.models.parts.sublayers import TORCH_EPSILON, position_wise_ffn
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_at_most, check_dropout

ARCHITECTURE = {
    "summary": "filtered graph of the patches of all channels",
    "license": "MIT",
    "tags": ("attention", "mixes channels", "affine", "takes heads"),
    "paper": {"d_model": 512, "ff_dim": 2048},
    "features": "head: b c f",
}


@checked
def build_timefilter_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    patch_length=24,
    positional_encoding=True,
    d_model=64,
    num_heads=4,
    ff_dim=128,
    num_blocks=2,
    removed=0.1,
    top_p=0.5,
    balance=0.05,
    dropout=0.1,
    head=None,
    name="timefilter",
):
    """Build TimeFilter: the patches of all channels are one sequence; a gate filters its edges.

    The oldest steps of the context that do not fill a patch are left out. See
    `kerastrans.layers.GraphFilter` for the filters.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        patch_length: int, number of steps in a patch, at most `context_length`.
        positional_encoding: bool, whether the patches know their place.
        d_model: int, width of all blocks.
        num_heads: int, number of heads of the graph, a divisor of `d_model`.
        ff_dim: int, hidden width of the feed-forward networks.
        num_blocks: int, number of blocks.
        removed: float in [0, 1), share of the weakest edges of a patch that are removed.
        top_p: float of at least 0, probability that the kept kinds of edges have to exceed; 0 for
            edges from a patch to itself only.
        balance: float of at least 0, factor of the loss of the gates, which learn from it alone.
        dropout: float in [0, 1), dropout rate of the weights of edges and of the hidden layers of
            the feed-forward networks.
        head: None for point forecasts, or a head of `kerastrans.heads`, whose parameters are the
            last axis of the output.
        name: str, name of the model.

    Returns:
        A functional Keras model that maps `(batch, context_length, num_channels)` to
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: If a size is below 1, or too large.
        ValueError: If the context is shorter than a patch.
        ValueError: If `num_heads` does not divide `d_model`.
        ValueError: If `removed` or `dropout` is outside [0, 1), or `balance` is negative.
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_timefilter_model(24, 12, 3, patch_length=6, d_model=8, num_heads=2)
        >>> model.output_shape
        (None, 12, 3)

    Source: Hu et al. (2025), "TimeFilter: Patch-specific spatial-temporal graph filtration for
    time series forecasting", section 3.
    """
    check_at_most(patch_length=patch_length, context_length=context_length)
    check_dropout(removed, "removed")
    count = context_length // patch_length

    window = open_window(context_length, num_channels, head, **STANDARDIZED)
    x = ops.transpose(window.values[:, -count * patch_length :], (0, 2, 1))
    # (batch, channels * patches, patch_length)
    x = ops.reshape(x, (-1, num_channels * count, patch_length))
    x = dense(d_model, name="embedding")(x)  # (batch, channels * patches, d_model), as all below
    if positional_encoding:
        x = PositionalEncoding(None, d_model)(x)

    def normalise(x, name):
        return layers.LayerNormalization(epsilon=TORCH_EPSILON, name=name)(x)

    options = {"activation": "gelu", "kernel_initializer": FanInUniform}
    for i in range(num_blocks):
        graph = GraphFilter(
            num_channels, num_heads, removed, top_p, dropout, balance, name=f"filter_{i}"
        )
        x = x + graph(normalise(x, f"encoder_{i}_self_attention_norm"))
        y = normalise(x, f"encoder_{i}_ffn_norm")
        x = x + position_wise_ffn(y, ff_dim, dropout, **options, name=f"encoder_{i}")
    x = ops.reshape(x, (-1, num_channels, count * d_model))  # (batch, channels, patches * d_model)
    # (batch, channels, time * size)
    x = dense(prediction_length * head.size, dtype=full_precision(), name="head")(x)
    return window.model(ops.transpose(x, (0, 2, 1)), head, prediction_length, name)
