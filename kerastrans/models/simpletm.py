"""SimpleTM: wavelets of channel tokens, attention by areas (Chen et al., 2025, figure 1).

Paper: https://openreview.net/forum?id=oANkBaVci5
Code: https://github.com/vsingh-group/SimpleTM/tree/5b9e5fd
"""

import functools

import keras
from keras import layers, ops

from kerastrans.layers import Dropout, InverseStationaryWavelets, StationaryWavelets
from kerastrans.layers.frequency.wavelets import check_wavelet
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.normalized_window import STANDARDIZED, open_window
from kerastrans.models.parts.projections import dense
from kerastrans.models.parts.sublayers import TORCH_EPSILON, torch_encoder
from kerastrans.utils.model_files import serializable
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_choice, check_dropout, check_non_negative, check_share

ARCHITECTURE = {
    "summary": "learnt wavelets, attention by areas",
    "tags": ("attention", "mixes channels", "affine", "takes heads"),
    "features": "head: b c f",
}


@checked
def build_simpletm_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    d_model=32,
    ff_dim=32,
    num_blocks=1,
    wavelet="db1",
    num_levels=3,
    wedge_share=0.3,
    attention_penalty=0.0005,
    activation="gelu",
    dropout=0.1,
    projection_dropout=0.5,
    standardize=True,
    head=None,
    name="simpletm",
):
    """Build SimpleTM: tokens of channels are split into wavelet levels, which attention mixes.

    A level is a head of the attention, and the features of the tokens are its positions: queries
    and keys have one number per channel.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        d_model: int, width of the tokens.
        ff_dim: int, hidden width of the feed-forward networks.
        num_blocks: int, number of blocks.
        wavelet: Name of the wavelet whose filters the training starts with: "haar", "db1" to "db38"
            (Daubechies), "sym2" to "sym20" (symlets) or "bior1.1" to "bior3.9" (biorthogonal
            splines).
        num_levels: int, number of levels of the wavelet transform.
        wedge_share: float in [0, 1], share of the wedge product in the scores, see
            `kerastrans.models.simpletm.GeometricAttention`; the inner product has the rest.
        attention_penalty: float of at least 0, weight of the loss that keeps the scores of the
            first block small.
        activation: "gelu" or "relu", activation of the feed-forward networks.
        dropout: float in [0, 1), dropout rate.
        projection_dropout: float in [0, 1), dropout rate of queries, keys and values.
        standardize: bool, whether each window is normalised by its mean and standard deviation.
        head: None for point forecasts, or a head of `kerastrans.heads`, whose parameters are the
            last axis of the output.
        name: str, name of the model.

    Returns:
        A functional Keras model that maps `(batch, context_length, num_channels)` to
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: If a size is below 1, or too large.
        ValueError: If `wavelet` or `activation` is unknown.
        ValueError: If `wedge_share` is outside [0, 1], or `attention_penalty` is negative.
        ValueError: If a dropout rate is outside [0, 1).
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_simpletm_model(24, 12, 3, d_model=8, num_levels=2)
        >>> model.output_shape
        (None, 12, 3)

    Source: Chen et al. (2025), "SimpleTM: A simple baseline for multivariate time series
    forecasting", sections 3 to 5.
    """
    check_wavelet(wavelet)
    check_share(wedge_share=wedge_share)
    check_choice("activation", activation, ("gelu", "relu"))

    def attend(x, penalty, name):
        """Mix the features of each level: `(batch, channels, d_model)` to the same shape."""
        x = StationaryWavelets(wavelet, num_levels, name=f"{name}_wavelets")(x)

        def project(role):
            y = dense(d_model, name=f"{name}_{role}")(x)
            y = Dropout(projection_dropout, name=f"{name}_{role}_dropout")(y)
            return ops.transpose(y, (0, 2, 3, 1))  # (batch, levels, d_model, channels)

        query, key, value = map(project, ("query", "key", "value"))
        attention = GeometricAttention(wedge_share, dropout, penalty, name=f"{name}_attention")
        y = attention(query, key=key, value=value)  # this order of the layers is that of files
        # (batch, channels, levels, d_model)
        y = dense(d_model, name=f"{name}_output")(ops.transpose(y, (0, 3, 1, 2)))
        return InverseStationaryWavelets(wavelet, name=f"{name}_inverse")(y)

    window = open_window(
        context_length, num_channels, head, **STANDARDIZED, standardize=standardize
    )
    x = ops.transpose(window.values, (0, 2, 1))  # (batch, channels, context_length)
    x = Dropout(dropout)(dense(d_model, name="embedding")(x))
    for i in range(num_blocks):
        x = torch_encoder(
            x,
            ff_dim,
            dropout,
            activation=activation,
            self_attention=functools.partial(
                attend, penalty=attention_penalty if i == 0 else 0.0, name=f"encoder_{i}"
            ),
            name=f"encoder_{i}",
        )
    dtype = full_precision()
    x = layers.LayerNormalization(epsilon=TORCH_EPSILON, dtype=dtype, name="encoder_norm")(x)
    x = dense(prediction_length * head.size, dtype=dtype, name="head")(x)
    x = ops.transpose(x, (0, 2, 1))  # (batch, time * size, channels)
    return window.model(x, head, prediction_length, name)


EPSILON = 1e-8  # added to the squared area, because the root of 0 has no gradient


@serializable
class GeometricAttention(keras.layers.Layer):
    """Attention whose scores mix inner products with areas between queries and keys.

    A query q and a key k have the score `(1 - wedge_share) q·k + wedge_share |q ∧ k|`, divided by
    the root of the number of features. `|q ∧ k|`, the root of `|q|² |k|² - (q·k)²`, is the area of
    the parallelogram of q and k: 0 for parallel vectors, largest for orthogonal ones.

    The layer has no weights. It computes the scores in float32.

    Args:
        wedge_share: float in [0, 1], share of the area in the scores.
        dropout: float in [0, 1), dropout rate of the attention weights.
        penalty: float of at least 0, factor of a loss in training, the mean of the absolute scores.
        key_first: bool, whether the inputs are query, key, value, as in files of version 0.3.

    Call arguments:
        query, value, key: `(batch, num_heads, tokens, features)`.

    Returns:
        `(batch, num_heads, tokens, features)`.

    Raises:
        ValueError: If `wedge_share` is outside [0, 1].
        ValueError: If `dropout` is outside [0, 1).
        ValueError: If `penalty` is negative.

    Example:
        >>> from keras import ops
        >>> x = ops.ones((4, 2, 10, 3))
        >>> ops.shape(GeometricAttention(wedge_share=0.5)(x, x, x))
        (4, 2, 10, 3)

    Source: Chen et al. (2025), SimpleTM, section 4.
    """

    def __init__(self, wedge_share=0.5, dropout=0.0, penalty=0.0, key_first=False, **kwargs):
        check_share(wedge_share=wedge_share)
        check_dropout(dropout)
        check_non_negative(penalty=penalty)
        super().__init__(**kwargs)
        self.wedge_share = wedge_share
        self.dropout = dropout
        self.penalty = penalty
        self.key_first = key_first
        self.weights_dropout = Dropout(dropout, dtype=self.dtype_policy)

    def call(self, query, value, key, training=False):
        if self.key_first:
            key, value = value, key
        scores = self._scores(*(ops.cast(x, full_precision()) for x in (query, key)))
        if training and self.penalty:
            self.add_loss(self.penalty * ops.mean(ops.abs(scores)))
        weights = self.weights_dropout(ops.cast(ops.softmax(scores), value.dtype))
        return ops.matmul(weights, value)

    def _scores(self, query, key):
        """Return `(batch, num_heads, tokens, tokens)`."""
        features = query.shape[-1]
        inner = ops.matmul(query, ops.transpose(key, (0, 1, 3, 2)))
        scores = (1 - self.wedge_share) * inner
        if self.wedge_share and features > 1:  # two numbers are parallel
            squares = [ops.sum(ops.square(x), axis=-1) for x in (query, key)]
            area = squares[0][..., :, None] * squares[1][..., None, :] - ops.square(inner)
            # Rounding makes the square of a small area negative.
            scores = scores + self.wedge_share * ops.sqrt(ops.relu(area) + EPSILON)
        return scores * features**-0.5

    def compute_output_shape(self, query_shape, value_shape, key_shape):
        return key_shape if self.key_first else value_shape

    @classmethod
    def from_config(cls, config):
        return cls(**{"key_first": True, **config})
