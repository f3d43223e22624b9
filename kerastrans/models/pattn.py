"""PAttn: patches and a single attention block (Tan et al., 2024, figure 4).

Paper: https://arxiv.org/abs/2406.16964
Code: https://github.com/thuml/Time-Series-Library/tree/4e938a1
"""

from keras import layers, ops

from kerastrans.layers import Patching
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.normalized_window import STANDARDIZED, open_window
from kerastrans.models.parts.projections import dense
from kerastrans.models.parts.sublayers import TORCH_EPSILON, torch_encoder
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_at_most, check_choice

ARCHITECTURE = {
    "summary": "one attention block over patches",
    "license": "MIT",
    "tags": ("attention", "channel independent", "affine", "takes heads"),
    "paper": {"d_model": 768, "ff_dim": 2048},
    "features": "head: b c f",
}


@checked
def build_pattn_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    patch_length=16,
    stride=8,
    d_model=64,
    num_heads=4,
    ff_dim=128,
    num_blocks=1,
    activation="gelu",
    dropout=0.1,
    head=None,
    name="pattn",
):
    """Build PAttn: the tokens are patches without positions; one block of attention reads them.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        patch_length: int, number of steps in a patch, at most `context_length`.
        stride: int, number of steps between the starts of two patches.
        d_model: int, width of all blocks.
        num_heads: int, number of attention heads, a divisor of `d_model`.
        ff_dim: int, hidden width of the feed-forward networks.
        num_blocks: int, number of encoder blocks; 1 in the paper.
        activation: "gelu" or "relu", activation of the feed-forward networks.
        dropout: float in [0, 1), dropout rate.
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
        ValueError: If `activation` is unknown.
        ValueError: If `dropout` is outside [0, 1).
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_pattn_model(24, 12, 3, patch_length=6, stride=3, d_model=8)
        >>> model.output_shape
        (None, 12, 3)

    Source: Tan et al. (2024), "Are language models actually useful for time series forecasting?",
    section 5.
    """
    check_at_most(patch_length=patch_length, context_length=context_length)
    check_choice("activation", activation, ("gelu", "relu"))

    window = open_window(context_length, num_channels, head, **STANDARDIZED)
    x = Patching(patch_length, stride, pad_end=True)(window.values)
    num_patches = x.shape[2]
    x = dense(d_model, name="embedding")(x)  # (batch, channels, patches, d_model)
    x = ops.reshape(x, (-1, num_patches, d_model))  # (batch * channels, patches, d_model)
    for i in range(num_blocks):
        x = torch_encoder(
            x, ff_dim, dropout, num_heads=num_heads, activation=activation, name=f"encoder_{i}"
        )
    dtype = full_precision()
    x = layers.LayerNormalization(epsilon=TORCH_EPSILON, dtype=dtype)(x)
    # (batch, channels, patches * d_model)
    x = ops.reshape(x, (-1, num_channels, num_patches * d_model))
    x = dense(prediction_length * head.size, dtype=dtype, name="head")(x)
    x = ops.transpose(x, (0, 2, 1))  # (batch, time * size, channels)
    return window.model(x, head, prediction_length, name)
