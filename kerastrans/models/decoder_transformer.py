"""Decoder-only Transformer: a GPT over patches, as large forecasting models are (Das et al., 2024).

Paper: https://arxiv.org/abs/2310.10688
"""

from keras import layers

from kerastrans.layers import Dropout, HistoryLoss, PromptedAttention
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.patch_tokens import patch_tokens
from kerastrans.models.parts.projections import dense
from kerastrans.models.parts.sublayers import EPSILON
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_non_negative

ARCHITECTURE = {
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

    A token is a patch of one channel's values; causal attention with rotary positions reads the
    tokens before it, and a linear map forecasts the next patch. All channels share the weights, and
    each window is normalised by its mean and standard deviation; counts are divided by their mean.
    With a head of parameters the model is autoregressive: it is trained by teacher forcing and
    forecasts by ancestral sampling, patch by patch (`kerastrans.generate_samples`). With a point
    head it is trained on its own forecasts and returns the whole horizon at once.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        patch_length: int, number of steps forecast at once; 24 by default, or the horizon or half
            of the context if they are shorter.
        d_model: int, width of a token, a multiple of `2 * num_heads`.
        num_heads: int, number of attention heads.
        ff_dim: int, width inside the feed-forward networks.
        num_blocks: int, number of blocks.
        dropout: float in [0, 1), dropout rate on attention weights and sublayers.
        history_loss: float, factor of the loss of forecasts inside the history, which trains the
            model on every position; 0 for none. Only training has it.
        head: None for point forecasts, or a head of `kerastrans.heads` that can be drawn from.
        covariates: Dict of "past", "future" and "static", see `kerastrans.zoo.build`. Each token
            has the future covariates of the patch that it forecasts, and its own past ones.
        name: str, name of the model.

    Returns:
        A functional Keras model. With a point head it maps `(batch, context_length,
        num_channels)`, or a dict with covariates, to `(batch, prediction_length, num_channels)`.
        With other heads it maps `[history, past_covariates, future_covariates, static_covariates,
        decoder_inputs]`, without the covariates that are not given, to `(batch, time, num_channels,
        size)`; the decoder inputs are `(batch, time, num_channels)`, the values `patch_length`
        steps before the targets.

    Raises:
        ValueError: If a size is below 1, or too large.
        ValueError: If `d_model` is not a multiple of `2 * num_heads`.
        ValueError: If `patch_length` is longer than the context.
        ValueError: If `dropout` is outside [0, 1), or `history_loss` is negative.
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_decoder_transformer_model(24, 12, 3, patch_length=4, head="normal")
        >>> model.output_shape
        (None, None, 3, 2)

    Source: Das et al. (2024), "A decoder-only foundation model for time-series forecasting",
    section 4; Rasul et al. (2023), "Lag-Llama", for rotary positions and a distribution as the
    head.
    """
    check_non_negative(history_loss=history_loss)
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
        self.attention = PromptedAttention(
            num_heads=num_heads, key_dim=d_model // num_heads, dropout=dropout
        )
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
    """Return the patch length, or one that fits in the context at least twice."""
    return patch_length or max(1, min(24, context_length // 2, prediction_length))
