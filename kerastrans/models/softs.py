"""SOFTS: channels exchange information through a common core (Han et al., 2024, figure 1).

Paper: https://arxiv.org/abs/2404.14197
Code: https://github.com/Secilia-Cxy/SOFTS/tree/f5d35fd
"""

import keras
from keras import ops

from kerastrans.layers import Dropout
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.normalized_window import STANDARDIZED, open_window
from kerastrans.models.parts.projections import concatenate, dense
from kerastrans.models.parts.sublayers import torch_encoder
from kerastrans.utils.model_files import serializable
from kerastrans.utils.precision import full_precision
from kerastrans.utils.random import draw_seed
from kerastrans.utils.validation import check_choice

ARCHITECTURE = {
    "summary": "channels and their common core",
    "license": "MIT",
    "tags": ("mlp", "mixes channels", "affine", "takes heads"),
    "paper": {"d_model": 256, "core_dim": 256, "ff_dim": 512},
    "features": "head: b c f",
}


@checked
def build_softs_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    d_model=128,
    core_dim=64,
    ff_dim=128,
    num_blocks=2,
    activation="gelu",
    dropout=0.0,
    standardize=True,
    head=None,
    name="softs",
):
    """Build SOFTS: the history of each channel is one token; a core of all tokens mixes them.

    The cost grows linearly with the number of channels. In training the core is drawn from the
    channels, see `kerastrans.models.softs.StochasticPooling`.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        d_model: int, width of all blocks.
        core_dim: int, number of features of the core.
        ff_dim: int, hidden width of the feed-forward networks.
        num_blocks: int, number of blocks.
        activation: "gelu" or "relu", activation of the feed-forward networks.
        dropout: float in [0, 1), dropout rate.
        standardize: bool, whether each window is normalised by its mean and standard deviation.
        head: None for point forecasts, or a head of `kerastrans.heads`, whose parameters are the
            last axis of the output.
        name: str, name of the model.

    Returns:
        A functional Keras model that maps `(batch, context_length, num_channels)` to
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: If a size is below 1, or too large.
        ValueError: If `activation` is unknown.
        ValueError: If `dropout` is outside [0, 1).
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_softs_model(24, 12, 3, d_model=8, core_dim=4, ff_dim=16)
        >>> model.output_shape
        (None, 12, 3)

    Source: Han et al. (2024), "SOFTS: Efficient multivariate time series forecasting with
    series-core fusion", section 3. The published code adds calendar features as tokens.
    """
    check_choice("activation", activation, ("gelu", "relu"))

    def aggregate_redistribute(x):
        """Pool all channels to a core, and map each channel together with the core (STAR)."""
        core = dense(d_model, activation="gelu")(x)
        core = StochasticPooling()(dense(core_dim)(core))
        x = concatenate([x, ops.repeat(core, num_channels, axis=1)])
        x = dense(d_model, activation="gelu")(x)
        return dense(d_model)(x)

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
            self_attention=aggregate_redistribute,
            name=f"encoder_{i}",
        )
    x = dense(prediction_length * head.size, dtype=full_precision(), name="head")(x)
    x = ops.transpose(x, (0, 2, 1))  # (batch, time * size, channels)
    return window.model(x, head, prediction_length, name)


@serializable
class StochasticPooling(keras.layers.Layer):
    """Pools each feature over the channels: the mean with softmax weights, or a draw in training.

    The values of a feature are also the logits of its channels. In training each feature of each
    window is taken from one channel, which is drawn with these probabilities.

    Args:
        seed: int, seed of the draws; None draws a seed.

    Call arguments:
        inputs: `(batch, num_channels, features)`.

    Returns:
        `(batch, 1, features)`.

    Example:
        >>> from keras import ops
        >>> inputs = ops.convert_to_tensor([[[0.0], [0.0], [3.0]]])
        >>> round(float(StochasticPooling()(inputs)[0, 0, 0]), 2)
        2.73

    Source: Zeiler, Fergus (2013), "Stochastic pooling for regularization of deep convolutional
    neural networks"; Han et al. (2024), SOFTS, section 3.2.
    """

    def __init__(self, seed=None, **kwargs):
        super().__init__(**kwargs)
        self.seed = draw_seed() if seed is None else seed
        self.seed_generator = keras.random.SeedGenerator(self.seed)

    def call(self, inputs, training=False):
        logits = ops.cast(inputs, full_precision())
        if training:
            weights = ops.one_hot(self.draw(logits), inputs.shape[1], axis=1, dtype=inputs.dtype)
        else:
            weights = ops.cast(ops.softmax(logits, axis=1), inputs.dtype)
        return ops.sum(inputs * weights, axis=1, keepdims=True)

    def draw(self, logits):
        """Return the number of a channel for each feature, `(batch, features)`."""
        uniform = keras.random.uniform(
            ops.shape(logits), minval=1e-7, dtype=logits.dtype, seed=self.seed_generator
        )
        return ops.argmax(logits - ops.log(-ops.log(uniform)), axis=1)

    def compute_output_shape(self, inputs_shape):
        return (inputs_shape[0], 1, inputs_shape[2])
