"""What all heads share: from raw numbers to the parameters of a forecast, and how to read them."""

import keras
import numpy as np
from keras import ops

from kerastrans.heads.losses import NegativeLogLikelihood
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_levels, check_positive_integers

FLOOR = 1e-4  # the least spread, in units of the normalised window: no likelihood is infinite


class Head(keras.layers.Layer):
    """The last layer of a model: from raw values to the parameters of a forecast.

    Inside a model it works on tensors. Afterwards the same object reads the model's output, as
    NumPy arrays: `point`, `median`, `quantile`, `cdf`, `sample`. A subclass sets the attributes
    that differ, and defines `log_prob`, `cdf` and `_inverse_cdf`; `crps` and `draw` where there
    are a `CRPS` loss and ancestral sampling.

    Attributes:
        size: int, parameters of each step and channel.
        num_locations: int, how many of them, the first, are on the scale of the series.
        num_spreads: int, how many, the next, are distances on this scale: positive.
        has_parameter_axis: bool, whether the parameters are the last axis of the forecast.
        point_is_median: bool, whether `point` is the median; otherwise it is the mean.
        takes_scaled_windows: bool, whether the model may be trained on scaled series.
        num_uniforms: int, uniform numbers that `draw` makes one draw of.
        lower_bound: float, the least value that the series can have; None for any number.
        interval_levels: tuple of float, percents of the central intervals that the forecast
            holds; None for a distribution, which has one for every percent.

    Call arguments:
        inputs: raw values, `(batch, prediction_length * size, num_channels)`,
            `(batch, prediction_length, num_channels * size)`, or as the parameters.
        prediction_length: int, which tells the first two layouts apart.
        statistics: `(batch, 2, num_channels)`, centre and scale of the window, as
            `ReversibleInstanceNormalization` returns them; None for a window as it is.
        shift: `(batch, prediction_length, num_channels)`, what the network forecast apart from
            the raw values, such as a trend; None for nothing.

    Args:
        sees_missing: bool, whether its models are told which steps of the history are missing, so
            that a forecast made from little can have a larger spread, see
            `kerastrans.layers.MissingHistory`.
        spread: float, by which all spreads are multiplied; `kerastrans.Forecaster.fit` measures it.
        equivariance: "affine" or "scale" if the whole model does to its forecast what is done to
            its history; "" if that is not known.
        **kwargs: arguments of `keras.layers.Layer`.

    Returns:
        `(batch, prediction_length, num_channels, size)`.

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
    num_uniforms = 2
    lower_bound = None
    interval_levels = None

    def __init__(self, sees_missing=False, spread=1.0, equivariance="", **kwargs):
        super().__init__(**{"dtype": full_precision(), "name": "forecast", **kwargs})
        self.sees_missing = sees_missing
        self.spread = spread
        self.equivariance = equivariance

    def forecast(self, x, prediction_length, normalization=None, statistics=None, shift=None):
        """The end of a model's graph: this head applied to raw values, see the call arguments.

        A learnt scale of the `normalization` is undone for points alone: the other heads have
        spreads, whose sign it must not change, and weights before them that can take its place.
        """
        return self(x, prediction_length=prediction_length, statistics=statistics, shift=shift)

    def call(self, inputs, prediction_length=None, statistics=None, shift=None):
        """The parameters in the units of the history, from raw values."""
        x = inputs if len(inputs.shape) == 4 else self.split(inputs, prediction_length)
        spreads_end = self.num_locations + self.num_spreads
        locations = x[..., : self.num_locations]
        spreads = self.spread * (ops.softplus(x[..., self.num_locations : spreads_end]) + FLOOR)
        if shift is not None:
            locations = locations + ops.expand_dims(shift, -1)
        center, scale = 0.0, 1.0
        if statistics is not None:
            center, scale = statistics[:, :1, :, None], statistics[:, 1:, :, None]
        return self.assemble(
            locations * scale + center, spreads * scale, x[..., spreads_end:], scale
        )

    def decode(self, inputs, *, index, **options):
        """The newest step of a model that decodes step by step: every step is like the others."""
        return self(inputs, **options)

    def split(self, x, prediction_length):
        """Raw values as `(batch, prediction_length, num_channels, size)`, in either layout."""
        steps, width = x.shape[1:]
        if steps == prediction_length:
            return ops.reshape(x, (-1, steps, width // self.size, self.size))
        x = ops.reshape(x, (-1, prediction_length, self.size, width))
        return ops.transpose(x, (0, 1, 3, 2))

    def assemble(self, locations, spreads, rest, scale):
        """The parameters from locations, spreads and raw rest; `scale` is the window's."""
        return ops.concatenate([locations, spreads, rest], axis=-1)

    def rescale(self, parameters, center, scale):
        """Parameters `(..., size)` of the series times `scale` plus `center`.

        NumPy arrays or tensors; `center` and `scale`, positive, are as the parameters without the
        last axis, or broadcast.
        """
        moved = self._mask(self.num_locations)
        scaled = self._mask(self.num_locations + self.num_spreads)
        return parameters * (scale[..., None] * scaled + (1 - scaled)) + center[..., None] * moved

    def shift(self, parameters, amount):
        """Parameters, tensors `(..., size)`, of the forecast shifted by `amount` `(...)`."""
        return parameters + ops.expand_dims(amount, -1) * self._mask(self.num_locations)

    def _mask(self, count):
        """1 for the first `count` parameters, 0 for the others."""
        return (np.arange(self.size) < count).astype("float32")

    def loss(self):
        """The loss that trains this head: negative log-likelihood."""
        return NegativeLogLikelihood(self)

    def check_loss(self, loss):
        """Refuse a loss that does not read this head's forecast.

        Args:
            loss: a loss of `kerastrans.heads`, a Keras loss or its name, or a function of one's
                own, which is taken on trust; None for `loss()`.

        Raises:
            ValueError: a loss of `kerastrans.heads` for another head.
            ValueError: a Keras loss, which compares points, for a head with parameters.
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
        """Refuse values of a series that this head cannot forecast; here there are none.

        Args:
            values: NumPy array `(..., num_channels)`, NaN where missing.
            names: of the channels, for the message.
        """

    def outputs(self, parameters):
        """What an exported model returns, tensors by name: the point, and the parameters."""
        return {"forecast": parameters[..., 0], "parameters": parameters}

    def point(self, parameters):
        """One number `(...)` for each forecast with parameters `(..., size)`."""
        return parameters[..., 0]

    def median(self, parameters):
        """The medians `(...)` of the forecasts with parameters `(..., size)`."""
        return self.quantile(parameters, 0.5)[..., 0]

    def quantile(self, parameters, levels):
        """Quantiles `(..., len(levels))` of the forecasts with parameters `(..., size)`."""
        levels = check_levels(levels)
        return np.stack([self._inverse_cdf(parameters, level) for level in levels], axis=-1)

    def sample(self, parameters, num_samples, seed=None):
        """Draws `(num_samples, ...)` for parameters `(..., size)`, independent of each other."""
        check_positive_integers(num_samples=num_samples)
        shape = num_samples, *parameters.shape[:-1]
        least = np.finfo("float64").tiny  # 0 would be drawn as minus infinity
        uniform = np.random.default_rng(seed).uniform(least, 1.0, shape)
        return self._inverse_cdf(parameters, uniform)

    def get_config(self):
        """The arguments of the constructor."""
        own = {name: getattr(self, name) for name in ("sees_missing", "spread", "equivariance")}
        return {**super().get_config(), **own}
