"""TiDE: a dense encoder and decoder with a linear residual connection (Das et al., 2023).

Paper: https://arxiv.org/abs/2304.08424
Code: https://github.com/thuml/Time-Series-Library/tree/4e938a1
"""

from keras import layers, ops

from kerastrans.layers import Dropout
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.normalized_window import STANDARDIZED, open_window
from kerastrans.models.parts.projections import concatenate, embed_columns
from kerastrans.models.parts.regression import covariate_inputs, regress
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_choice

ARCHITECTURE = {
    "summary": "dense encoder and decoder",
    "license": "MIT",
    "tags": ("mlp", "channel independent", "affine", "takes heads"),
    "features": "head: b c t f",
}


@checked
def build_tide_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    hidden_dim=256,
    num_encoder_layers=2,
    num_decoder_layers=2,
    decoder_output_dim=8,
    temporal_hidden_dim=32,
    dropout=0.3,
    last_layer_norm=False,
    variant="paper",
    covariate_dim=None,
    head=None,
    covariates=None,
    name="tide",
):
    """Build TiDE; all channels share the weights.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        hidden_dim: int, width of encoder and decoder.
        num_encoder_layers: int, number of residual blocks of the encoder.
        num_decoder_layers: int, number of residual blocks of the decoder.
        decoder_output_dim: int, number of features of each future step.
        temporal_hidden_dim: int, hidden width of the network from these features to a value.
        dropout: float in [0, 1), dropout rate.
        last_layer_norm: bool, whether the last block ends in layer normalisation like all others,
            as in the reference code. Its single value becomes a constant, and the forecast a linear
            map of the window.
        variant: "paper", or "time_series_library" for the copy of the code in that library: all
            blocks of the encoder after the first, and all of the decoder before the last, are one
            block, and layer normalisation adds 1e-5 to the variance, not 1e-3.
        covariate_dim: int, width of the projection of each step's covariates, as in the paper; None
            to add covariates by `kerastrans.regress`, which was more accurate.
        head: None for point forecasts, or a head of `kerastrans.heads`, whose parameters are the
            last axis of the output.
        covariates: Dict of "past", "future", "static", see `kerastrans.zoo.build`.
        name: str, name of the model.

    Returns:
        A functional Keras model that maps `(batch, context_length, num_channels)` to
        `(batch, prediction_length, num_channels)`; with covariates its input is a dict.

    Raises:
        ValueError: If a size is below 1, or too large.
        ValueError: If `variant` is unknown.
        ValueError: If `dropout` is outside [0, 1).
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_tide_model(24, 12, 3, hidden_dim=8, temporal_hidden_dim=4)
        >>> model.output_shape
        (None, 12, 3)

    Source: Das et al. (2023), figure 1 and section 4, with the reversible normalisation of its
    appendix B. Like the authors' code, it uses the default initializers of Keras.
    """
    check_choice("variant", variant, ("paper", "time_series_library"))
    library = variant == "time_series_library"
    epsilon = 1e-5 if library else 1e-3

    def block(units, hidden=hidden_dim, normalize=True, name=None, **options):
        """Return a residual block as a function; all its calls have the same weights."""
        expand = layers.Dense(hidden, activation="relu", name=name)
        contract, bypass = (layers.Dense(units, **options) for _ in range(2))
        drop, add = Dropout(dropout, **options), layers.Add(**options)
        norm = layers.LayerNormalization(epsilon=epsilon, **options) if normalize else None

        def apply(x):
            x = add([drop(contract(expand(x))), bypass(x)])
            if norm is None:
                return x
            # Subtracted here, because the norm of a single value would be rounded.
            return norm(x - ops.mean(x, axis=-1, keepdims=True) if units == 1 else x)

        return apply

    def stack(x, count):
        """Apply blocks of the hidden width."""
        shared = block(hidden_dim) if library and count else None
        for _ in range(count):
            x = (shared or block(hidden_dim))(x)
        return x

    def repeat(x):
        """Repeat covariates for each channel: `(batch, ...)` -> `(batch, channels, ...)`."""
        return ops.repeat(ops.expand_dims(x, 1), num_channels, axis=1)

    window = open_window(context_length, num_channels, head, **STANDARDIZED)
    x = channels = ops.transpose(window.values, (0, 2, 1))  # (batch, channels, context_length)
    extra, ahead = {}, []
    if covariates and covariate_dim is not None:
        extra = covariate_inputs(context_length, prediction_length, covariates)
        columns = {
            kind: concatenate(embed_columns(extra[f"{kind}_covariates"], covariates[kind], kind))
            for kind in covariates
        }
        steps = {kind: block(covariate_dim)(columns[kind]) for kind in columns if kind != "static"}
        # (batch, steps * features)
        known = [layers.Flatten()(steps.get(kind, columns[kind])) for kind in columns]
        x = concatenate([x, *map(repeat, known)])
        if "future" in steps:
            ahead = [repeat(steps["future"][:, context_length:])]

    x = block(hidden_dim)(x)
    x = stack(x, num_encoder_layers - 1)
    x = stack(x, num_decoder_layers - 1)
    x = block(prediction_length * decoder_output_dim)(x)
    # (batch, channels, time, decoder_output_dim)
    x = layers.Reshape((num_channels, prediction_length, decoder_output_dim))(x)

    # The temporal decoder. By default its last layer is not normalised: layer normalisation of a
    # single value is constant.
    exact = {"dtype": full_precision()}
    size = head.size
    decode = block(size, temporal_hidden_dim, last_layer_norm, "head", **exact)
    y = decode(concatenate([*ahead, x]))
    # (batch, channels, time * size)
    y = ops.reshape(y, (-1, num_channels, prediction_length * size))
    bypass = layers.Dense(prediction_length * size, **exact)(channels)
    y = layers.Add(**exact)([y, bypass])
    x = ops.transpose(y, (0, 2, 1))  # (batch, time * size, channels)
    model = window.model(x, head, prediction_length, name, extra=extra)
    return regress(model, covariates) if covariates and not extra else model
