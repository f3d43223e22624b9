"""TSMixer: alternating dense layers over time and channels (Chen et al., 2023, figure 1).

Paper: https://arxiv.org/abs/2303.06053
Code: https://github.com/Nixtla/neuralforecast/tree/5ffa0d0
"""

from keras import layers

from kerastrans.layers import Dropout
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.normalized_window import STANDARDIZED, open_window
from kerastrans.models.parts.projections import concatenate, time_dense
from kerastrans.models.parts.regression import covariate_columns
from kerastrans.utils.precision import full_precision

ARCHITECTURE = {
    "summary": "dense over time, then channels",
    "license": "Apache-2.0",
    "tags": (
        "mlp",
        "mixes channels",
        "affine",
        "past covariates",
        "future covariates",
        "static covariates",
        "takes heads",
    ),
    "features": "head: b f c",
}


@checked
def build_tsmixer_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    ff_dim=64,
    num_blocks=2,
    dropout=0.9,
    standardize=True,
    head=None,
    covariates=None,
    name="tsmixer",
):
    """Build TSMixer: alternating dense layers over time and over channels.

    With covariates the model is TSMixer-Ext: the history and the past of the covariates are mapped
    to the steps of the horizon, concatenated with the future covariates of these steps and mixed at
    a width of `ff_dim` features, together with the static covariates.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        ff_dim: int, hidden width of the layers over channels.
        num_blocks: int, number of mixing blocks.
        dropout: float in [0, 1), dropout rate.
        standardize: bool, whether each window is normalised by its mean and standard deviation,
            with a learnt scale and offset per channel.
        head: None for point forecasts, or a head of `kerastrans.heads`, whose parameters are the
            last axis of the output.
        covariates: Dict of "past", "future", "static", see `kerastrans.zoo.build`.
        name: str, name of the model.

    Returns:
        A functional Keras model that maps `(batch, context_length, num_channels)` to
        `(batch, prediction_length, num_channels)`; with covariates its input is a dict.

    Raises:
        ValueError: If a size is below 1, or too large.
        ValueError: If a kind of covariates is unknown.
        ValueError: If `dropout` is outside [0, 1).
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_tsmixer_model(24, 12, 3, ff_dim=8)
        >>> model.output_shape
        (None, 12, 3)

    Source: Chen et al. (2023), "TSMixer: An all-MLP architecture", section 4; batch normalisation
    of each step and channel. Like the authors' code, it uses the default initializers and batch
    normalisation of Keras.
    """
    exact = {"dtype": full_precision()}

    def normalise(x):
        flat = layers.BatchNormalization()(layers.Flatten()(x))  # (batch, time * features)
        return layers.Reshape(x.shape[1:])(flat)  # (batch, time, features)

    def map_time(x, units, **options):
        return time_dense(x, units, kernel_initializer="glorot_uniform", **options)

    def mix_time(x):
        y = map_time(normalise(x), x.shape[1], activation="relu")
        return layers.Add()([x, Dropout(dropout)(y)])

    def mix_features(x, units):
        y = layers.Dense(ff_dim, activation="relu")(normalise(x))
        y = layers.Dense(units)(Dropout(dropout)(y))
        x = x if x.shape[-1] == units else layers.Dense(units)(x)
        return layers.Add()([x, Dropout(dropout)(y)])

    def align(values, past=(), future=(), static=()):
        """Map history and covariates to the steps of the horizon; repeat the static ones there."""
        past = [values, *past, *(x[:, :context_length] for x in future)]
        aligned = [mix_features(map_time(concatenate(past), prediction_length), ff_dim)]
        if future:
            ahead = concatenate([x[:, context_length:] for x in future])
            aligned.append(mix_features(ahead, ff_dim))
        repeat = layers.RepeatVector(prediction_length)
        fixed = [repeat(layers.Dense(ff_dim)(concatenate(static)))] if static else []
        return concatenate(aligned), fixed

    window = open_window(
        context_length, num_channels, head, **STANDARDIZED, affine=True, standardize=standardize
    )
    extra, columns = covariate_columns(window, prediction_length, covariates)
    x, fixed = align(window.values, **columns) if extra else (window.values, [])
    for _ in range(num_blocks):
        x = mix_features(concatenate([mix_time(x), *fixed]), ff_dim if extra else num_channels)
    if extra:
        x = layers.Dense(num_channels * head.size, **exact)(x)
    else:
        x = map_time(x, prediction_length * head.size, **exact, name="head")
    return window.model(x, head, prediction_length, name, extra=extra)
