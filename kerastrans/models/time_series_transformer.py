"""The encoder-decoder Transformer as a forecaster, patch by patch."""

import keras

from kerastrans.layers import PositionalEncoding
from kerastrans.models.decoder_transformer import default_patch_length
from kerastrans.models.parts.blocks import transformer_decoder, transformer_encoder
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.patch_tokens import patch_tokens
from kerastrans.models.parts.projections import dense
from kerastrans.models.parts.sublayers import close_stack
from kerastrans.utils.precision import full_precision

ARCHITECTURE = {
    "title": "Time-series Transformer",
    "source": "Vaswani et al.",
    "year": 2017,
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
SEARCH_SPACE = {
    "d_model": (32, 64, 128),
    "num_encoder_blocks": (1, 2),
    "num_decoder_blocks": (1, 2),
    "patch_length": (8, 16, 24),
    "dropout": (0.0, 0.1, 0.2),
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
    """Build it."""
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
