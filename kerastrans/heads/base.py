"""Base class of heads: conversion of raw numbers to a forecast's parameters, and their readers."""

import keras
import numpy as np
from keras import ops

from kerastrans.heads.losses import NegativeLogLikelihood
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_levels, check_positive_integers

FLOOR = 1e-4  # smallest spread of a normalised window, so that the likelihood stays finite


class Head(keras.layers.Layer):
    """Base class of the last layer of a model, which returns the parameters of a forecast.

    Inside a model the layer works on tensors. Afterwards the same object reads the model's output
    as NumPy arrays, with `point`, `median`, `quantile`, `cdf` and `sample`. A subclass sets the
    attributes that differ, and defines `log_prob`, `cdf` and `_inverse_cdf`. It also defines `crps`
    to support the `CRPS` loss, and `draw` to support ancestral sampling.

    Attributes:
        size: int, number of parameters of each step and channel.
        num_locations: int, number of leading parameters that are on the scale of the series.
        num_spreads: int, number of the following parameters that are distances on this scale and
            therefore positive.
        has_parameter_axis: bool, whether the parameters are the last axis of the forecast.
        point_is_median: bool, whether `point` is the median; otherwise it is the mean.
        takes_scaled_windows: bool, whether the model may be trained on scaled series.
        is_discrete: bool, whether all values are whole numbers.
        num_normals: int, number of standard normal numbers that `draw` uses for one draw.
        lower_bound: float, smallest value that the series can have; None if it is unbounded.
        interval_levels: tuple of float, percents of the central intervals contained in the
            forecast; None for a distribution, which has an interval for every percent.
        spread: Weight that is not trained, the factor of all spreads, 1 in a new head.
            `kerastrans.Forecaster.fit` measures it. A head without spreads does not have it.
        spread_growth: Weight that is not trained, the power of the forecast step that also
            multiplies the spreads, with a geometric mean of 1 over the steps. It is 0 in a new
            head, and above 0 where `fit` measured that spreads grow faster with the step. It stays
            0 in autoregressive models.

    Call arguments:
        inputs: Tensor of raw values: `(batch, prediction_length * size, num_channels)`,
            `(batch, prediction_length, num_channels * size)`, or in the shape of the output.
        prediction_length: int, number of steps, which distinguishes the first two layouts.
        statistics: Tensor `(batch, 2, num_channels)` with the centre and scale of the window, as
            returned by `ReversibleInstanceNormalization`; None if the window is not normalised.
        shift: Tensor `(batch, prediction_length, num_channels)`, a part of the forecast that is
            added to the locations, such as a trend; None to add nothing.

    Args:
        sees_missing: bool, whether models with this head receive which steps of the history are
            missing, so that a forecast from few known values can have a larger spread, see
            `kerastrans.models.parts.normalized_window.MissingHistory`.
        equivariance: str, "affine" or "scale" if the model does to its forecast what is done to its
            history; "" if that is not known.
        **kwargs: Arguments of `keras.layers.Layer`.

    Returns:
        Tensor `(batch, prediction_length, num_channels, size)`.

    Example:
        >>> from kerastrans import heads
        >>> head = heads.get("negative_binomial")
        >>> head.size, head.point_is_median, head.lower_bound
        (2, False, 0.0)
    """

    num_locations = 1
    num_spreads = 0
    has_parameter_axis = True
    point_is_median = False
    takes_scaled_windows = True
    is_discrete = False
    num_normals = 1
    lower_bound = None
    interval_levels = None

    def __init__(self, sees_missing=False, equivariance="", **kwargs):
        super().__init__(**{"dtype": full_precision(), "name": "forecast", **kwargs})
        self.supports_masking = True  # steps that are hidden in the inputs are in the loss too
        self.sees_missing = sees_missing
        self.equivariance = equivariance

    def build(self, inputs_shape):
        if self.num_spreads:
            options = {"shape": (), "trainable": False}
            self.spread = self.add_weight(name="spread", initializer="ones", **options)
            growth = self.add_weight(name="spread_growth", initializer="zeros", **options)
            self.spread_growth = growth

    def forecast(self, x, prediction_length, normalization=None, statistics=None, shift=None):
        """Apply this head to raw values at the end of a model's graph.

        Only point heads undo a learnt scale of the `normalization`. For other heads it must not
        change the sign of the spreads, and the weights before the head can take its place.

        Args:
            x: Tensor of raw values, as in the call arguments.
            prediction_length: int, as in the call arguments.
            normalization: `ReversibleInstanceNormalization` of the model, or None.
            statistics: As in the call arguments.
            shift: As in the call arguments.
        """
        return self(x, prediction_length=prediction_length, statistics=statistics, shift=shift)

    def call(self, inputs, prediction_length=None, statistics=None, shift=None):
        """Return the parameters in the units of the history, from raw values."""
        x = inputs if len(inputs.shape) == 4 else self.split(inputs, prediction_length)
        # x: (batch, prediction_length, num_channels, size)
        spreads_end = self.num_locations + self.num_spreads
        # Locations are shifted and scaled as the window was, spreads are positive and scaled.
        locations = x[..., : self.num_locations]
        spreads = ops.softplus(x[..., self.num_locations : spreads_end]) + FLOOR
        if self.num_spreads:
            spreads = spreads * self.spread_factors(x.shape[1])
        if shift is not None:
            locations = locations + ops.expand_dims(shift, -1)
        center, scale = 0.0, 1.0
        if statistics is not None:
            center, scale = statistics[:, :1, :, None], statistics[:, 1:, :, None]
        return self.assemble(
            locations * scale + center, spreads * scale, x[..., spreads_end:], scale
        )

    def spread_factors(self, prediction_length):
        """Return the factors of the spreads at each step.

        Args:
            prediction_length: int; not an int in an autoregressive model with a free number of
                steps, whose spread has no growth.

        Returns:
            Tensor `(prediction_length, 1, 1)`, or a scalar without a growth.
        """
        if not isinstance(prediction_length, int):  # None, or a symbol on JAX
            return self.spread
        growth = ops.convert_to_tensor(self.spread_growth)
        steps = ops.cast(centered_log_steps(prediction_length)[:, None, None], growth.dtype)
        return self.spread * ops.exp(growth * steps)

    def decode(self, inputs, *, positions, **options):
        """Return the newest steps of a model that decodes step by step.

        The positions are ignored because a head treats every step alike.
        """
        return self(inputs, **options)

    def split(self, x, prediction_length):
        """Reshape raw values in either layout to `(batch, steps, num_channels, size)`."""
        steps, width = x.shape[1:]
        if steps == prediction_length:
            return ops.reshape(x, (-1, steps, width // self.size, self.size))
        x = ops.reshape(x, (-1, prediction_length, self.size, width))
        return ops.transpose(x, (0, 1, 3, 2))

    def assemble(self, locations, spreads, rest, scale):
        """Join locations, spreads and the raw remaining values to parameters.

        Args:
            locations: Tensor `(..., num_locations)` in the units of the history.
            spreads: Tensor `(..., num_spreads)`, positive, in the units of the history.
            rest: Tensor of the raw values of the remaining parameters.
            scale: Scale of the window.
        """
        return ops.concatenate([locations, spreads, rest], axis=-1)

    def rescale(self, parameters, center, scale):
        """Return the parameters for the series times `scale` plus `center`.

        Args:
            parameters: NumPy array or tensor `(..., size)`.
            center: Array or tensor that broadcasts to `parameters` without the last axis.
            scale: Array or tensor like `center`, positive.
        """
        is_shifted = self._mask(self.num_locations)
        is_scaled = self._mask(self.num_locations + self.num_spreads)
        if not isinstance(parameters, np.ndarray):  # PyTorch cannot trace arrays
            is_shifted, is_scaled = (
                ops.convert_to_tensor(x, parameters.dtype) for x in (is_shifted, is_scaled)
            )
        factor = scale[..., None] * is_scaled + (1 - is_scaled)
        return parameters * factor + center[..., None] * is_shifted

    def shift(self, parameters, amount):
        """Return the parameters of the forecast shifted by `amount`, a tensor `(...)`."""
        shifts = ops.multiply(ops.expand_dims(amount, -1), self._mask(self.num_locations))
        return parameters + shifts

    def _mask(self, count):
        """Return an array with 1 for the first `count` parameters and 0 for the others."""
        return (np.arange(self.size) < count).astype("float32")

    def loss(self):
        """Return the loss that trains this head, here the negative log-likelihood."""
        return NegativeLogLikelihood(self)

    def check_loss(self, loss):
        """Raise ValueError if a loss cannot be computed from this head's forecast.

        Args:
            loss: Loss of `kerastrans.heads`, Keras loss or its name, or custom function, which is
                accepted without a check; None for `loss()`.

        Raises:
            ValueError: If the loss belongs to another head of `kerastrans.heads`.
            ValueError: If a Keras loss, which compares points, is given for a head with parameters.
        """
        if hasattr(loss, "fits"):
            fits = loss.fits(self)
        else:
            module = str(getattr(loss, "__module__", ""))
            is_plain = isinstance(loss, str) or module.startswith("keras.")
            fits = not (is_plain and self.has_parameter_axis)
        if not fits:
            name = repr(loss) if isinstance(loss, str) else getattr(loss, "name", loss)
            raise ValueError(
                f"loss {name} does not fit a {type(self).__name__}, which is trained by "
                f"{type(self.loss()).__name__}: leave loss out, or choose another head."
            )

    def check_targets(self, values, names=None):
        """Raise ValueError for values of a series that this head cannot forecast.

        The base class accepts all values.

        Args:
            values: NumPy array `(..., num_channels)`, NaN for missing values.
            names: Names of the channels, used in the message.
        """

    def check_zeros(self, zeros):
        """Raise ValueError if a head cannot be trained on data with this number of zeros.

        The base class accepts any number.

        Args:
            zeros: int, number of values of the training data that are 0.
        """

    def outputs(self, parameters):
        """Return the outputs of an exported model, a dict of tensors: point and parameters."""
        return {"forecast": parameters[..., 0], "parameters": parameters}

    def point(self, parameters):
        """Return the point forecasts `(...)` for parameters `(..., size)`."""
        return parameters[..., 0]

    def median(self, parameters):
        """Return the medians `(...)` of the forecasts with parameters `(..., size)`."""
        return self.quantile(parameters, 0.5)[..., 0]

    def quantile(self, parameters, levels):
        """Return the quantiles `(..., len(levels))` of the forecasts with these parameters."""
        levels = check_levels(levels)
        return np.stack([self._inverse_cdf(parameters, level) for level in levels], axis=-1)

    def inverse_cdf(self, parameters, probabilities):
        """Return the quantiles of an array of probabilities, one for each forecast.

        Args:
            parameters: NumPy array `(..., size)`.
            probabilities: Array `(n, ...)` in (0, 1), with a first axis.

        Returns:
            Array with the shape of `probabilities`.
        """
        return self._inverse_cdf(parameters, np.asarray(probabilities))

    def sample(self, parameters, num_samples, seed=None):
        """Return independent draws `(num_samples, ...)` for parameters `(..., size)`."""
        check_positive_integers(num_samples=num_samples)
        shape = num_samples, *parameters.shape[:-1]
        smallest = np.finfo("float64").tiny  # 0 would be drawn as minus infinity
        uniform = np.random.default_rng(seed).uniform(smallest, 1.0, shape)
        return self.inverse_cdf(parameters, uniform)

    def get_config(self):
        """Return the constructor arguments."""
        config = {"sees_missing": self.sees_missing, "equivariance": self.equivariance}
        return {**super().get_config(), **config}


def centered_log_steps(prediction_length):
    """Return the logarithms of the steps 1, 2, ... less their mean, `(prediction_length,)`."""
    steps = np.log(np.arange(1, prediction_length + 1))
    return steps - steps.mean()
