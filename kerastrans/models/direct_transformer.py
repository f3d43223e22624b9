"""Transformer: encoder and decoder, for the whole horizon at once (Vaswani et al., 2017).

Paper: https://arxiv.org/abs/1706.03762
Code: https://github.com/thuml/Time-Series-Library/tree/4e938a1
"""

from keras import layers

from kerastrans.layers.initializers import FanInUniform
from kerastrans.layers.transformer.blocks import transformer_decoder, transformer_encoder
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.encoder_decoders import embed_values, label_input, resolve_label_length
from kerastrans.models.parts.normalized_window import open_window
from kerastrans.models.parts.projections import dense
from kerastrans.models.parts.sublayers import TORCH_EPSILON
from kerastrans.utils.precision import full_precision

ARCHITECTURE = {
    "summary": "encoder-decoder, whole horizon at once",
    "license": "MIT",
    "tags": ("attention", "mixes channels", "takes heads"),
    "paper": {"d_model": 512, "num_heads": 8, "ff_dim": 2048},
    "features": "head: b t f",
}


@checked(may_be_zero=("label_length",))
def build_direct_transformer_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    label_length=None,
    d_model=64,
    num_heads=4,
    ff_dim=256,
    num_encoder_blocks=2,
    num_decoder_blocks=1,
    dropout=0.05,
    head=None,
    name="direct_transformer",
):
    """Build the direct Transformer, which papers on long horizons call "Transformer".

    The decoder takes the last `label_length` steps and zeros in place of the future, and forecasts
    all steps in one pass. `build_transformer_model`, in contrast, decodes step by step.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        label_length: int, number of known steps at the start of the decoder's input, from 0
            to `context_length`; half the context by default.
        d_model: int, width of all blocks.
        num_heads: int, number of attention heads, a divisor of `d_model`.
        ff_dim: int, hidden width of the feed-forward networks.
        num_encoder_blocks: int, number of encoder blocks.
        num_decoder_blocks: int, number of decoder blocks.
        dropout: float in [0, 1), dropout rate.
        head: None for point forecasts, or a head of `kerastrans.heads`, whose parameters are the
            last axis of the output.
        name: str, name of the model.

    Returns:
        A functional Keras model that maps `(batch, context_length, num_channels)` to
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: If a size is below 1, or too large.
        ValueError: If the label is longer than the context.
        ValueError: If `num_heads` does not divide `d_model`.
        ValueError: If `dropout` is outside [0, 1).
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_direct_transformer_model(24, 12, 3, d_model=8, num_heads=2, ff_dim=16)
        >>> model.output_shape
        (None, 12, 3)

    Source: Vaswani et al. (2017), figure 1; Zhou et al. (2021), equation 5, for the input of the
    decoder.
    """
    label_length = resolve_label_length(label_length, context_length)
    block = {
        "num_heads": num_heads,
        "key_dim": d_model // num_heads,
        "ff_dim": ff_dim,
        "dropout": dropout,
        "norm": "post",
        "activation": "gelu",
        "kernel_initializer": FanInUniform,
        "layer_norm_epsilon": TORCH_EPSILON,
    }

    def close(x):
        """Normalise the last block, as the code of papers on long horizons does."""
        return layers.LayerNormalization(epsilon=TORCH_EPSILON)(x)

    window = open_window(context_length, num_channels, head)
    x = embed_values(window.values, d_model, dropout)
    for i in range(num_encoder_blocks):
        x = transformer_encoder(x, **block, name=f"encoder_{i}")
    memory = close(x)
    x = embed_values(label_input(window.values, label_length, prediction_length), d_model, dropout)
    for i in range(num_decoder_blocks):
        x = transformer_decoder(x, memory, **block, name=f"decoder_{i}")
    x = close(x[:, -prediction_length:])
    x = dense(num_channels * head.size, dtype=full_precision(), name="head")(x)
    return window.model(x, head, prediction_length, name)
