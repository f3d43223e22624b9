"""MultiPatchFormer: patches of several lengths, then channels (Naghashi et al., 2025).

Paper: https://doi.org/10.1038/s41598-024-82417-4
Code: https://github.com/thuml/Time-Series-Library/tree/4e938a1
"""

import itertools

from keras import ops

from kerastrans.layers import CachedMultiHeadAttention, Patching, PositionalEncoding
from kerastrans.layers.initializers import FanInUniform
from kerastrans.layers.masks import create_look_ahead_mask
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.normalized_window import STANDARDIZED, open_window
from kerastrans.models.parts.projections import concatenate, dense
from kerastrans.models.parts.sublayers import add_norm, position_wise_ffn
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_at_most, check_divides, check_positive_integers

ARCHITECTURE = {
    "summary": "attention over patches of several lengths, then channels",
    "license": "MIT",
    "tags": ("attention", "mixes channels", "affine", "takes heads"),
    "paper": {"d_model": 256, "ff_dim": 512, "num_heads": 8},
    "features": "head: b c f",
}
MAX_WAVELENGTH = 1e8  # of the positions; the published table doubles the exponent of 10,000


@checked
def build_multipatchformer_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    patch_lengths=(8, 16, 24, 32),
    strides=(),
    d_model=64,
    num_heads=4,
    ff_dim=128,
    num_blocks=1,
    num_pieces=8,
    dropout=0.1,
    attention_dropout=0.1,
    causal=False,
    head=None,
    name="multipatchformer",
):
    """Build MultiPatchFormer: tokens hold patches of several lengths; the forecast grows in pieces.

    The number of tokens is the number of whole patches of the first length. Unless they are given,
    the strides of the other lengths follow from it, and their patches cover the newest steps.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        patch_lengths: Tuple of int, number of steps in a patch at each scale; their number divides
            `d_model`. No length is given twice.
        strides: Tuple of int, number of steps between the starts of two patches at each scale;
            empty for strides that follow from the context. Those of the Time-Series-Library are
            (8, 8, 7, 6), at any context.
        d_model: int, width of all blocks.
        num_heads: int, number of attention heads, a divisor of `d_model`.
        ff_dim: int, hidden width of the feed-forward networks.
        num_blocks: int, number of encoder blocks over the tokens of a channel.
        num_pieces: int, number of pieces of the forecast; a piece depends on earlier ones.
        dropout: float in [0, 1), dropout rate on the results of attention and of the feed-forward
            networks.
        attention_dropout: float in [0, 1), dropout rate on the attention weights.
        causal: bool, whether a token attends only to earlier tokens, and a channel only to earlier
            channels, as in the Time-Series-Library.
        head: None for point forecasts, or a head of `kerastrans.heads`, whose parameters are the
            last axis of the output.
        name: str, name of the model.

    Returns:
        A functional Keras model that maps `(batch, context_length, num_channels)` to
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: If a size is below 1, or too large.
        ValueError: If the context is shorter than a patch, or a patch length is given twice.
        ValueError: If there is not one stride for each patch length.
        ValueError: If `num_heads` or the number of scales does not divide `d_model`.
        ValueError: If a dropout is outside [0, 1).
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_multipatchformer_model(24, 12, 3, patch_lengths=(4, 8), d_model=8)
        >>> model.output_shape
        (None, 12, 3)

    Source: Naghashi et al. (2025), "A multiscale model for multivariate time series forecasting",
    section 3, as published in the Time-Series-Library of Wu et al.
    """
    check_positive_integers(number_of_patch_lengths=len(patch_lengths))
    check_divides(number_of_patch_lengths=len(patch_lengths), d_model=d_model)
    check_positive_integers(**{f"patch_lengths[{i}]": x for i, x in enumerate(patch_lengths)})
    for i, patch_length in enumerate(patch_lengths):
        check_at_most(**{f"patch_lengths[{i}]": patch_length, "context_length": context_length})
    if len(set(patch_lengths)) < len(patch_lengths):
        raise ValueError(f"patch_lengths must differ from each other, got {patch_lengths}.")
    strides = strides or _default_strides(patch_lengths, context_length)
    if len(strides) != len(patch_lengths):
        raise ValueError(
            f"strides must have one number for each of {patch_lengths}, got {strides}."
        )
    check_positive_integers(**{f"strides[{i}]": stride for i, stride in enumerate(strides)})
    num_tokens = (context_length - patch_lengths[0]) // strides[0] + 1
    options = {"num_heads": num_heads, "key_dim": d_model // num_heads}
    options |= {"dropout": attention_dropout, "kernel_initializer": FanInUniform}

    def embed_patches(x, patch_length, stride, is_first):
        """Return the newest tokens of a scale, `(batch, channels, tokens, features)`."""
        if not is_first:
            missing = patch_length + (num_tokens - 1) * stride - context_length
            repeated = ops.repeat(x[:, -1:], max(stride, missing), axis=1)
            x = ops.concatenate([x, repeated], axis=1)
        x = Patching(patch_length, stride)(x)[:, :, -num_tokens:]
        return dense(d_model // len(patch_lengths), name=f"embedding_{patch_length}")(x)

    def encode(x, attended, name):
        """Add attention, and a feed-forward network without dropout between its layers."""
        x = add_norm(x, attended, dropout, name=f"{name}_self_attention")
        network = {"activation": "gelu", "kernel_initializer": FanInUniform, "name": name}
        return add_norm(x, position_wise_ffn(x, ff_dim, **network), dropout, name=f"{name}_ffn")

    window = open_window(context_length, num_channels, head, **STANDARDIZED)
    x = concatenate(
        [
            embed_patches(window.values, *sizes, is_first=i == 0)
            for i, sizes in enumerate(zip(patch_lengths, strides, strict=True))
        ]
    )
    # (batch * channels, tokens, d_model)
    x = PositionalEncoding(None, d_model, MAX_WAVELENGTH)(ops.reshape(x, (-1, num_tokens, d_model)))
    for i in range(num_blocks):
        block = f"encoder_{i}"
        attention = CachedMultiHeadAttention(
            **options, causal=causal, name=f"{block}_self_attention"
        )
        x = encode(x, attention(x), block)
    # (batch, channels, tokens * d_model)
    x = ops.reshape(x, (-1, num_channels, num_tokens * d_model))
    x = dense(d_model, name="channel_embedding")(x)
    keys = dense(d_model, name="keys")(x)
    earlier = create_look_ahead_mask(num_channels) if causal else None
    attention = CachedMultiHeadAttention(**options, name="channels_self_attention")
    x = encode(x, attention(x, keys, attention_mask=earlier), "channels")

    ends = [i * prediction_length // num_pieces for i in range(num_pieces + 1)]
    for i, (start, end) in enumerate(itertools.pairwise(ends)):
        if end > start:  # each piece reads the token and all pieces before
            options = {"dtype": full_precision(), "name": f"head_{i}" if start else "head"}
            piece = dense((end - start) * head.size, **options)(x)
            x = concatenate([x, piece])
    x = ops.transpose(x[..., d_model:], (0, 2, 1))  # (batch, time * size, channels)
    return window.model(x, head, prediction_length, name)


def _default_strides(patch_lengths, context_length):
    """Return strides whose tokens, as many as whole patches of the first length, end together."""
    first = patch_lengths[0]
    tokens_between = max(1, context_length // first - 2)
    others = [(context_length - length) // tokens_between for length in patch_lengths[1:]]
    return (first, *(max(1, stride) for stride in others))
