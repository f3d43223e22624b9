"""iTransformer: a Transformer whose tokens are the channels (Liu et al., 2024, figure 2).

Paper: https://arxiv.org/abs/2310.06625
Code: https://github.com/thuml/iTransformer/tree/c2426e6
"""

from keras import layers, ops

from kerastrans.layers import Dropout
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.normalized_window import STANDARDIZED, open_window
from kerastrans.models.parts.projections import concatenate, dense, embed_columns
from kerastrans.models.parts.regression import covariate_inputs, regress
from kerastrans.models.parts.sublayers import TORCH_EPSILON, torch_encoder
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_choice

ARCHITECTURE = {
    "summary": "Transformer over channels",
    "license": "MIT",
    "tags": ("attention", "mixes channels", "affine", "takes heads"),
    "features": "head: b c f",
}


@checked
def build_itransformer_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    d_model=256,
    num_heads=8,
    ff_dim=256,
    num_blocks=2,
    activation="gelu",
    dropout=0.1,
    covariate_tokens=False,
    standardize=True,
    head=None,
    covariates=None,
    name="itransformer",
):
    """Build iTransformer: the history of each channel is one token; attention mixes channels.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        d_model: int, width of all blocks.
        num_heads: int, number of attention heads, a divisor of `d_model`.
        ff_dim: int, hidden width of the feed-forward networks.
        num_blocks: int, number of encoder blocks.
        activation: "gelu" or "relu", activation of the feed-forward networks.
        dropout: float in [0, 1), dropout rate.
        covariate_tokens: bool, whether each covariate is one more token, as the past of the
            calendar is in the authors' code; tokens of future covariates hold all their known
            steps. Otherwise covariates are added by `kerastrans.regress`.
        standardize: bool, whether each window is normalised by its mean and standard deviation.
        head: None for point forecasts, or a head of `kerastrans.heads`, whose parameters are the
            last axis of the output.
        covariates: Dict of "past", "future", "static", see `kerastrans.zoo.build`.
        name: str, name of the model.

    Returns:
        A functional Keras model that maps `(batch, context_length, num_channels)` to
        `(batch, prediction_length, num_channels)`; with covariates its input is a dict.

    Raises:
        ValueError: If a size is below 1, or too large.
        ValueError: If `num_heads` does not divide `d_model`.
        ValueError: If `activation` is unknown.
        ValueError: If `dropout` is outside [0, 1).
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_itransformer_model(24, 12, 3, d_model=8, num_heads=2, ff_dim=16)
        >>> model.output_shape
        (None, 12, 3)

    Source: Liu et al. (2024), section 3.
    """
    check_choice("activation", activation, ("gelu", "relu"))
    window = open_window(
        context_length, num_channels, head, **STANDARDIZED, standardize=standardize
    )
    series, extra, tokens = [window.values], {}, []
    if covariate_tokens and covariates:
        extra = covariate_inputs(context_length, prediction_length, covariates)
        for kind, sizes in covariates.items():
            columns = embed_columns(extra[f"{kind}_covariates"], sizes, kind)
            if kind == "past":
                series += columns
            elif kind == "future":  # each over the history and the horizon
                x = ops.transpose(concatenate(columns), (0, 2, 1))  # (batch, features, time)
                tokens.append(dense(d_model, name="future_embedding")(x))
            else:
                x = ops.expand_dims(concatenate(columns), axis=1)
                tokens.append(dense(d_model, name="static_embedding")(x))
    x = ops.transpose(concatenate(series), (0, 2, 1))  # (batch, channels, context_length)
    x = dense(d_model, name="embedding")(x)
    x = Dropout(dropout)(concatenate([x, *tokens], axis=1))
    for i in range(num_blocks):
        x = torch_encoder(
            x, ff_dim, dropout, num_heads=num_heads, activation=activation, name=f"encoder_{i}"
        )
    dtype = full_precision()
    x = layers.LayerNormalization(epsilon=TORCH_EPSILON, dtype=dtype)(x)
    x = dense(prediction_length * head.size, dtype=dtype, name="head")(x[:, :num_channels])
    x = ops.transpose(x, (0, 2, 1))  # (batch, time * size, channels)
    model = window.model(x, head, prediction_length, name, extra=extra)
    return regress(model, covariates) if covariates and not extra else model
