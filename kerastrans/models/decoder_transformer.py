"""A decoder-only Transformer over patches, as large forecasting models are built."""

import keras
from keras import layers, ops

from kerastrans.layers import Dropout, HistoryLoss, PromptedAttention
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.patch_tokens import patch_tokens
from kerastrans.models.parts.projections import dense
from kerastrans.models.parts.sublayers import EPSILON
from kerastrans.utils.precision import full_precision

ARCHITECTURE = {
    "title": "Decoder-only Transformer",
    "source": "Das et al.",
    "year": 2024,
    "summary": "GPT over patches, step by step",
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
    "num_blocks": (2, 3),
    "patch_length": (8, 16, 24),
    "dropout": (0.0, 0.1, 0.2),
}


@checked
def build_decoder_transformer_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    patch_length=None,
    d_model=64,
    num_heads=4,
    ff_dim=128,
    num_blocks=2,
    dropout=0.1,
    history_loss=1.0,
    head=None,
    covariates=None,
    name="decoder_transformer",
):
    """Build a decoder-only Transformer, which continues the patches of its history.

    Returns:
        A functional Keras model.

    Example:
        >>> model = build_decoder_transformer_model(24, 12, 3, patch_length=4, head="normal")
        >>> model.output_shape
        (None, None, 3, 2)

    Source: Das et al. (2024).
    """
    patch_length = default_patch_length(patch_length, context_length, prediction_length)
    sizes = context_length, prediction_length, num_channels, patch_length, d_model
    tokens = patch_tokens(*sizes, head, covariates)

    prompt, x = tokens.history[:, :-1], tokens.decoder
    for i in range(num_blocks):
        block = _Block(num_heads, d_model, ff_dim, dropout, f"decoder_{i}")
        prompt, x = block(prompt), block(x, prompt)
    norm = layers.LayerNormalization(epsilon=EPSILON, name="norm")
    project = dense(patch_length * head.size, dtype=full_precision(), name="head")
    statistics = tokens.window.statistics
    if history_loss:
        inside = tokens.history_forecast(project(norm(prompt)), head)
        statistics = HistoryLoss(head, history_loss)(statistics, inside, tokens.window.history)
    outputs = tokens.forecast(project(norm(x)), head, statistics)
    return tokens.model(outputs, head, prediction_length, name)


class _Block:
    """Pre-norm block of causal attention and a feed-forward network, called on several sequences.

    Source: Xiong et al. (2020), figure 1b.
    """

    def __init__(self, num_heads, d_model, ff_dim, dropout, name):
        self.norms = [layers.LayerNormalization(epsilon=EPSILON) for _ in range(2)]
        self.attention = PromptedAttention(num_heads, d_model // num_heads, dropout)
        self.feed_forward = [dense(ff_dim, activation="gelu"), Dropout(dropout), dense(d_model)]
        self.dropout = Dropout(dropout)

    def __call__(self, x, prompt=None):
        norm, last_norm = self.norms
        prompt = () if prompt is None else (norm(prompt),)
        x = x + self.dropout(self.attention(norm(x), *prompt))
        y = last_norm(x)
        for layer in self.feed_forward:
            y = layer(y)
        return x + self.dropout(y)


def default_patch_length(patch_length, context_length, prediction_length):
    return patch_length or max(1, min(16, context_length // 2, prediction_length))
