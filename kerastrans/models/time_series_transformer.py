"""Time-series Transformer: an encoder-decoder, patch by patch (Vaswani et al., 2017).

Paper: https://arxiv.org/abs/1706.03762
"""

from kerastrans.layers import PositionalEncoding
from kerastrans.layers.transformer.blocks import transformer_decoder, transformer_encoder
from kerastrans.models.decoder_transformer import default_patch_length
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.patch_tokens import patch_tokens
from kerastrans.models.parts.projections import dense
from kerastrans.models.parts.sublayers import close_stack
from kerastrans.utils.precision import full_precision

ARCHITECTURE = {
    "summary": "encoder-decoder over patches, step by step",
    "tags": (
        "attention",
        "channel independent",
        "affine",
        "past covariates",
        "future covariates",
        "static covariates",
        "takes heads",
        "autoregressive",
    ),
}


@checked
def build_time_series_transformer_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    patch_length=None,
    lags=(),
    d_model=64,
    num_heads=4,
    ff_dim=128,
    num_encoder_blocks=2,
    num_decoder_blocks=1,
    dropout=0.1,
    head=None,
    covariates=None,
    name="time_series_transformer",
):
    """Build the Transformer of Vaswani et al., with pre-norm blocks, as a forecaster of patches.

    The encoder reads the patches of each channel's history. The decoder reads the last patch and
    then its own forecasts, each token next to earlier values at `lags`, attends to the encoder, and
    a linear map forecasts the next patch. All channels share the weights, and each window is
    normalised by its mean and standard deviation; counts are divided by their mean. With a head of
    parameters the model is autoregressive: it is trained by teacher forcing and forecasts by
    ancestral sampling, patch by patch (`kerastrans.generate_samples`). With a point head it is
    trained on its own forecasts and returns the whole horizon at once.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        patch_length: int, number of steps forecast at once; 24 by default, or the horizon or half
            of the context if they are shorter. 1 forecasts step by step.
        lags: Numbers of steps, each from `patch_length` to the context length. A token of the
            decoder also contains the values so many steps before the targets.
        d_model: int, width of a token, a multiple of `num_heads`.
        num_heads: int, number of attention heads.
        ff_dim: int, width inside the feed-forward networks.
        num_encoder_blocks: int, number of blocks of the encoder.
        num_decoder_blocks: int, number of blocks of the decoder.
        dropout: float in [0, 1), dropout rate on attention weights and sublayers.
        head: None for point forecasts, or a head of `kerastrans.heads` that can be drawn from.
        covariates: Dict of "past", "future" and "static", see `kerastrans.zoo.build`. Each token
            has the future covariates of the patch that it forecasts, and its own past ones.
        name: str, name of the model.

    Returns:
        A functional Keras model with the inputs and outputs of `build_decoder_transformer_model`.

    Raises:
        ValueError: If a size is below 1, or too large.
        ValueError: If `d_model` is not a multiple of `num_heads`.
        ValueError: If a lag is shorter than a patch, or a lag or a patch longer than the context.
        ValueError: If `dropout` is outside [0, 1).
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_time_series_transformer_model(24, 12, 3, lags=[24], head="student_t")
        >>> model.output_shape
        (None, None, 3, 3)

    Source: Vaswani et al. (2017), figure 1; Salinas et al. (2020), section 3, for training and
    sampling; Nie et al. (2023), section 3.1, for patches.
    """
    patch_length = default_patch_length(patch_length, context_length, prediction_length)
    sizes = context_length, prediction_length, num_channels, patch_length, d_model
    tokens = patch_tokens(*sizes, head, covariates, lags)
    block = {
        "num_heads": num_heads,
        "key_dim": d_model // num_heads,
        "ff_dim": ff_dim,
        "dropout": dropout,
        "activation": "gelu",
    }

    x = PositionalEncoding(None, d_model)(tokens.history)
    for i in range(num_encoder_blocks):
        x = transformer_encoder(x, **block, name=f"encoder_{i}")
    memory = close_stack(x, "pre", name="encoder")

    x = PositionalEncoding(None, d_model)(tokens.decoder)
    for i in range(num_decoder_blocks):
        x = transformer_decoder(x, memory, **block, name=f"decoder_{i}")
    x = close_stack(x, "pre", name="decoder")
    x = dense(patch_length * head.size, dtype=full_precision(), name="head")(x)
    return tokens.model(tokens.forecast(x, head), head, prediction_length, name)
