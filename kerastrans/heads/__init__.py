"""What a forecast is: a point, quantiles, or a distribution; and the losses that train it.

A head is the last layer of a model. It takes `size` raw numbers for each step and channel and makes
of them the parameters of a forecast, `(batch, prediction_length, num_channels, size)`, in the units
of the history: locations are shifted and scaled as the window was, spreads are scaled. The same
object reads these parameters later, as NumPy arrays: `point`, `quantile`, `cdf`, `sample`.

    model = zoo.build("patchtst", 336, 96, 7, head=QuantileHead([0.1, 0.5, 0.9]))
    model.compile("adam", heads.of(model).loss())
"""

import math

import keras
import numpy as np
from keras import ops
from scipy import special, stats

from kerastrans.utils.backend import log_gamma
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_choice, check_levels, check_positive_integers, suggest

FLOOR = 1e-4  # the least spread, in units of the normalised window: no likelihood is infinite
_ROOT_PI = math.sqrt(math.pi)


class Head(keras.layers.Layer):
    """The last layer of a model: from raw values to the parameters of a forecast.

    Attributes:
        size: int, parameters of each step and channel.
        num_locations: int, how many of them, the first, lie on the scale of the series.
        num_spreads: int, how many, the next, are distances on this scale: positive.
        point_is_median: bool, whether `point` is the 0.5 quantile.
        lower_bound: float, the least value that can be forecast, or None.

    Call arguments:
        inputs: raw values, `(batch, prediction_length * size, num_channels)`,
            `(batch, prediction_length, num_channels * size)`, or as the parameters.
        prediction_length: int, which says which of the first two.
        statistics: `(batch, 2, num_channels)`, centre and scale of the window, as
            `ReversibleInstanceNormalization` puts them out; None for a window as it is.
        shift: `(batch, prediction_length, num_channels)`, what the network forecast apart from
            the raw values, such as a trend; None for nothing.

    Returns:
        `(batch, prediction_length, num_channels, size)`.
    """

    num_locations = 1
    num_spreads = 0
    point_is_median = True
    lower_bound = None

    def __init__(self, **kwargs):
        super().__init__(**{"dtype": full_precision(), "name": "forecast", **kwargs})

    def forecast(self, x, prediction_length, normalization=None, statistics=None, shift=None):
        """The end of a model's graph: this head behind raw values, see the call arguments.

        A learnt scale of the `normalization` is undone for points alone: the other heads have
        spreads, which it must not turn round, and weights in front that can stand in for it.
        """
        return self(x, prediction_length=prediction_length, statistics=statistics, shift=shift)

    def call(self, inputs, prediction_length=None, statistics=None, shift=None):
        x = inputs if len(inputs.shape) == 4 else self._split(inputs, prediction_length)
        spreads_end = self.num_locations + self.num_spreads
        locations = x[..., : self.num_locations]
        spreads = ops.softplus(x[..., self.num_locations : spreads_end]) + FLOOR
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

    def _split(self, x, prediction_length):
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
        """Parameters `(..., size)` of a series times `scale` plus `center`.

        NumPy arrays or tensors; `center` and `scale`, positive, are as the parameters without the
        last axis, or broadcast.
        """
        moved = self._mask(self.num_locations)
        scaled = self._mask(self.num_locations + self.num_spreads)
        return parameters * (scale[..., None] * scaled + (1 - scaled)) + center[..., None] * moved

    def shift(self, parameters, amount):
        """Parameters, tensors `(..., size)`, of a forecast that is shifted by `amount` `(...)`."""
        return parameters + ops.expand_dims(amount, -1) * self._mask(self.num_locations)

    def _mask(self, count):
        """1 for the first `count` parameters, 0 for the others."""
        return (np.arange(self.size) < count).astype("float32")

    def loss(self):
        """The loss that trains this head: negative log-likelihood."""
        return NegativeLogLikelihood(self)

    def outputs(self, parameters):
        """What an exported model puts out, tensors: the point by name, and the parameters."""
        return {"forecast": parameters[..., 0], "parameters": parameters}

    def sample(self, parameters, num_samples, seed=None):
        """Draws `(num_samples, ...)` for parameters `(..., size)`; each number by itself."""
        check_positive_integers(num_samples=num_samples)
        uniform = np.random.default_rng(seed).uniform(size=(num_samples, *parameters.shape[:-1]))
        return self._inverse_cdf(parameters, uniform)

    def median(self, parameters):
        """The 0.5 quantile `(...)` of the forecast with these parameters `(..., size)`."""
        return self.quantile(parameters, (0.5,))[..., 0]

    def quantile(self, parameters, levels):
        """Quantiles `(..., len(levels))` of the forecast with these parameters `(..., size)`."""
        levels = check_levels(levels)
        return np.stack([self._inverse_cdf(parameters, level) for level in levels], axis=-1)


@keras.saving.register_keras_serializable(package="kerastrans")
class PointHead(Head):
    """One number a step and channel, `(batch, prediction_length, num_channels)`: no layer at all.

    Args:
        loss: name of a Keras loss that trains it: "mae", "mse", "huber"; NaN targets are left
            out.
    """

    size = 1

    def __init__(self, loss="mae", **kwargs):
        check_choice("loss", loss, tuple(_POINT_ERRORS))
        super().__init__(**kwargs)
        self.point_loss = loss

    def forecast(self, x, prediction_length, normalization=None, statistics=None, shift=None):
        if shift is not None:
            x = keras.layers.Add(dtype=full_precision())([x, shift])
        return x if normalization is None else normalization(x, statistics)

    def loss(self):
        return PointError(self.point_loss)

    def rescale(self, parameters, center, scale):
        return parameters * scale + center

    def shift(self, parameters, amount):
        return parameters + amount

    def outputs(self, parameters):
        return {"forecast": parameters}

    def point(self, parameters):
        """The forecast itself."""
        return parameters

    def quantile(self, parameters, levels):
        raise ValueError(
            "a point forecast has no quantiles: build the model with a head, such as "
            "QuantileHead, or put conformal intervals around it."
        )

    cdf = sample = quantile

    def get_config(self):
        return {**super().get_config(), "loss": self.point_loss}


@keras.saving.register_keras_serializable(package="kerastrans")
class QuantileHead(Head):
    """Quantiles that never cross: the middle one, and the distances from one to the next.

    Args:
        levels: increasing probabilities, each in (0, 1).

    Raises:
        ValueError: levels outside (0, 1), or not increasing.

    Source: Park et al. (2022), "Learning quantile functions without quantile crossing", section 4.
    """

    def __init__(self, levels=(0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975), **kwargs):
        super().__init__(**kwargs)
        self.levels = check_levels(levels)
        self.size = len(self.levels)
        self.num_spreads = self.size - 1
        self.middle = int(np.argmin(np.abs(np.asarray(self.levels) - 0.5)))

    def assemble(self, locations, spreads, rest, scale):
        gaps = spreads * (2 / self.size)
        below = ops.flip(ops.cumsum(ops.flip(gaps[..., : self.middle], -1), axis=-1), -1)
        above = ops.cumsum(gaps[..., self.middle :], axis=-1)
        return ops.concatenate([locations - below, locations, locations + above], axis=-1)

    def _mask(self, count):
        return np.ones(self.size, "float32")  # all quantiles are locations

    def loss(self):
        """The pinball loss, mean over the levels."""
        return Pinball(self.levels)

    def outputs(self, parameters):
        return {"forecast": parameters[..., self.middle], "quantiles": parameters}

    def point(self, parameters):
        """The middle quantile."""
        return parameters[..., self.middle]

    def quantile(self, parameters, levels):
        """Its own levels as they are, levels between two of them by a straight line.

        Raises:
            ValueError: a level outside those of the head.
        """
        levels = check_levels(levels)
        known = np.asarray(self.levels)
        for level in levels:
            if not known[0] - 1e-9 <= level <= known[-1] + 1e-9:
                raise ValueError(
                    f"this model knows quantiles from {known[0]} to {known[-1]}, asked for {level}."
                )
        right = np.clip(np.searchsorted(known, np.asarray(levels) - 1e-9), 1, max(1, self.size - 1))
        if self.size == 1:
            return parameters
        share = np.clip((np.asarray(levels) - known[right - 1]) / np.diff(known)[right - 1], 0, 1)
        left = parameters[..., right - 1]
        return left + share * (parameters[..., right] - left)

    def cdf(self, parameters, values):
        """Probability of at most `values`, linear between the levels, 0 and 1 outside them.

        Parameters `(..., size)`, values `(...)`.
        """
        values = np.asarray(values)[..., None]
        count = (parameters <= values).sum(axis=-1)
        right = np.clip(count, 1, self.size - 1)[..., None]
        low, high = (np.take_along_axis(parameters, i, -1)[..., 0] for i in (right - 1, right))
        known = np.asarray(self.levels)
        left = known[right[..., 0] - 1]
        share = (values[..., 0] - low) / np.maximum(high - low, np.finfo("float64").tiny)
        inside = left + np.clip(share, 0, 1) * (known[right[..., 0]] - left)
        return np.where(count == 0, 0.0, np.where(count == self.size, 1.0, inside))

    def _inverse_cdf(self, parameters, probability):
        """By straight lines, level with the outermost quantiles beyond them."""
        known = np.asarray(self.levels)
        clipped = np.clip(probability, known[0], known[-1])
        right = np.clip(np.searchsorted(known, clipped), 1, self.size - 1)
        share = (clipped - known[right - 1]) / np.diff(known)[right - 1]
        parameters = np.broadcast_to(parameters, (*right.shape, self.size))
        low, high = (
            np.take_along_axis(parameters, i[..., None], -1)[..., 0] for i in (right - 1, right)
        )
        return low + share * (high - low)

    def get_config(self):
        return {**super().get_config(), "levels": list(self.levels)}


@keras.saving.register_keras_serializable(package="kerastrans")
class NormalHead(Head):
    """Normal distribution; parameters: mean, standard deviation."""

    size = 2
    num_spreads = 1

    def log_prob(self, parameters, targets):
        """Logarithm of the density of `targets`, tensors `(...)`."""
        mean, std = parameters[..., 0], parameters[..., 1]
        return -0.5 * ops.square((targets - mean) / std) - ops.log(std) - math.log(2 * math.pi) / 2

    def crps(self, parameters, targets):
        """Continuous ranked probability score, closed form (Gneiting, Raftery, 2007, eq. 21)."""
        mean, std = parameters[..., 0], parameters[..., 1]
        z = (targets - mean) / std
        return std * (z * ops.erf(z / math.sqrt(2)) + 2 * _density(z) - 1 / _ROOT_PI)

    def draw(self, parameters, uniform):
        """One draw, tensors: from uniform numbers `(..., 2)`."""
        return parameters[..., 0] + parameters[..., 1] * _standard_normal(uniform[..., 0])

    def point(self, parameters):
        """The mean."""
        return parameters[..., 0]

    def cdf(self, parameters, values):
        """Probability of at most `values` `(...)`."""
        return special.ndtr((values - parameters[..., 0]) / parameters[..., 1])

    def _inverse_cdf(self, parameters, probability):
        return parameters[..., 0] + parameters[..., 1] * special.ndtri(probability)


@keras.saving.register_keras_serializable(package="kerastrans")
class StudentTHead(Head):
    """Student's t distribution; parameters: location, scale, degrees of freedom (above 2)."""

    size = 3
    num_spreads = 1

    def assemble(self, locations, spreads, rest, scale):
        return ops.concatenate([locations, spreads, 2 + ops.softplus(rest)], axis=-1)

    def log_prob(self, parameters, targets):
        """Logarithm of the density of `targets`, tensors `(...)`."""
        location, scale, freedom = (parameters[..., i] for i in range(3))
        z = (targets - location) / scale
        normalizer = log_gamma((freedom + 1) / 2) - log_gamma(freedom / 2)
        normalizer = normalizer - 0.5 * ops.log(freedom * math.pi) - ops.log(scale)
        return normalizer - (freedom + 1) / 2 * ops.log1p(ops.square(z) / freedom)

    def draw(self, parameters, uniform):
        """One draw, tensors: from uniform numbers `(..., 2)` (Bailey, 1994, the polar method)."""
        location, scale, freedom = (parameters[..., i] for i in range(3))
        radius = ops.sqrt(freedom * ops.expm1(-2 / freedom * ops.log(uniform[..., 0])))
        return location + scale * radius * ops.cos(2 * math.pi * uniform[..., 1])

    def point(self, parameters):
        """The mean, which is the location."""
        return parameters[..., 0]

    def cdf(self, parameters, values):
        """Probability of at most `values` `(...)`."""
        return special.stdtr(parameters[..., 2], (values - parameters[..., 0]) / parameters[..., 1])

    def _inverse_cdf(self, parameters, probability):
        z = special.stdtrit(parameters[..., 2], probability)
        return parameters[..., 0] + parameters[..., 1] * z


@keras.saving.register_keras_serializable(package="kerastrans")
class NegativeBinomialHead(Head):
    """Negative binomial distribution of counts; parameters: mean, dispersion alpha.

    The variance is `mean + alpha * mean ** 2`. The series must be given as they are, not scaled.

    Source: Salinas et al. (2020), section 3.1.
    """

    size = 2
    point_is_median = False
    lower_bound = 0.0

    def assemble(self, locations, spreads, rest, scale):
        mean = scale * ops.softplus(locations / scale) + FLOOR
        return ops.concatenate([mean, ops.softplus(rest) + FLOOR], axis=-1)

    def log_prob(self, parameters, targets):
        """Logarithm of the probability of `targets`, whole numbers, tensors `(...)`."""
        mean, alpha = parameters[..., 0], parameters[..., 1]
        count = 1 / alpha
        product = alpha * mean
        choose = log_gamma(targets + count) - log_gamma(targets + 1) - log_gamma(count)
        grow = targets * (ops.log(product) - ops.log1p(product))
        return choose + grow - count * ops.log1p(product)

    def draw(self, parameters, uniform):
        """One draw, tensors: from uniform numbers `(..., 2)`.

        The cumulated probabilities of 256 counts are searched, from 0 to 12 standard deviations
        above the mean: every count where these are fewer, evenly spaced ones otherwise.
        """
        mean, alpha = parameters[..., 0], parameters[..., 1]
        highest = mean + 12 * ops.sqrt(mean + alpha * ops.square(mean))
        stride = ops.maximum(1.0, ops.ceil(highest / 256))
        counts = ops.arange(256, dtype=mean.dtype) * stride[..., None]
        density = ops.exp(self.log_prob(parameters[..., None, :], counts))
        cumulated = ops.cumsum(density, axis=-1)
        below = cumulated < uniform[..., :1] * cumulated[..., -1:]
        return ops.sum(ops.cast(below, mean.dtype), axis=-1) * stride

    def rescale(self, parameters, center, scale):
        raise ValueError("counts are forecast as they are: train this head with scaler=None.")

    def shift(self, parameters, amount):
        """The mean stays positive: it is multiplied by exp(amount)."""
        mean = parameters[..., :1] * ops.exp(ops.expand_dims(amount, -1))
        return ops.concatenate([mean, parameters[..., 1:]], axis=-1)

    def point(self, parameters):
        """The mean."""
        return parameters[..., 0]

    def cdf(self, parameters, values):
        """Probability of at most `values` `(...)`."""
        return stats.nbinom.cdf(values, *self._shape(parameters))

    def _inverse_cdf(self, parameters, probability):
        return stats.nbinom.ppf(probability, *self._shape(parameters))

    def _shape(self, parameters):
        mean, alpha = np.asarray(parameters[..., 0], "float64"), parameters[..., 1]
        return 1 / alpha, 1 / (1 + alpha * mean)


@keras.saving.register_keras_serializable(package="kerastrans")
class MixtureHead(Head):
    """Mixture of normal distributions; parameters: means, standard deviations, log-weights.

    Args:
        components: int, normal distributions in the mixture.
    """

    point_is_median = False

    def __init__(self, components=3, **kwargs):
        check_positive_integers(components=components)
        super().__init__(**kwargs)
        self.components = self.num_locations = self.num_spreads = components
        self.size = 3 * components

    def assemble(self, locations, spreads, rest, scale):
        # Means start apart, or all components would stay one.
        apart = np.linspace(-1, 1, self.components) if self.components > 1 else [0.0]
        locations = locations + ops.cast(apart, locations.dtype) * scale
        log_weights = rest - ops.logsumexp(rest, axis=-1, keepdims=True)
        return ops.concatenate([locations, spreads, log_weights], axis=-1)

    def _parts(self, parameters):
        k = self.components
        return parameters[..., :k], parameters[..., k : 2 * k], parameters[..., 2 * k :]

    def log_prob(self, parameters, targets):
        """Logarithm of the density of `targets`, tensors `(...)`."""
        means, stds, log_weights = self._parts(parameters)
        z = (ops.expand_dims(targets, -1) - means) / stds
        each = -0.5 * ops.square(z) - ops.log(stds) - math.log(2 * math.pi) / 2
        return ops.logsumexp(log_weights + each, axis=-1)

    def crps(self, parameters, targets):
        """Closed form of a mixture of normal distributions (Grimit et al., 2006, equation 5)."""
        means, stds, log_weights = self._parts(parameters)
        weights = ops.exp(log_weights)

        def expected_distance(mean, std):
            """E|X| of a normal distribution."""
            z = mean / std
            return std * 2 * _density(z) + mean * ops.erf(z / math.sqrt(2))

        to_target = expected_distance(ops.expand_dims(targets, -1) - means, stds)
        between = expected_distance(
            ops.expand_dims(means, -1) - ops.expand_dims(means, -2),
            ops.sqrt(ops.square(ops.expand_dims(stds, -1)) + ops.square(ops.expand_dims(stds, -2))),
        )
        pairs = ops.expand_dims(weights, -1) * ops.expand_dims(weights, -2)
        inner = ops.sum(pairs * between, axis=(-2, -1))
        return ops.sum(weights * to_target, axis=-1) - 0.5 * inner

    def draw(self, parameters, uniform):
        """One draw, tensors: from uniform numbers `(..., 2)`."""
        means, stds, log_weights = self._parts(parameters)
        above = ops.cumsum(ops.exp(log_weights), axis=-1)[..., :-1] < uniform[..., 1:]
        chosen = ops.one_hot(ops.sum(ops.cast(above, "int32"), axis=-1), self.components)
        draws = means + stds * _standard_normal(uniform[..., :1])
        return ops.sum(ops.cast(chosen, draws.dtype) * draws, axis=-1)

    def outputs(self, parameters):
        means, _, log_weights = self._parts(parameters)
        point = ops.sum(ops.exp(log_weights) * means, axis=-1)
        return {"forecast": point, "parameters": parameters}

    def point(self, parameters):
        """The mean."""
        means, _, log_weights = self._parts(parameters)
        return (np.exp(log_weights) * means).sum(axis=-1)

    def cdf(self, parameters, values):
        """Probability of at most `values` `(...)`."""
        means, stds, log_weights = self._parts(parameters)
        each = special.ndtr((np.asarray(values)[..., None] - means) / stds)
        return (np.exp(log_weights) * each).sum(axis=-1)

    def _inverse_cdf(self, parameters, probability):
        """By bisection: there is no closed form."""
        means, stds, _ = self._parts(np.asarray(parameters, "float64"))
        shape = np.broadcast_shapes(np.shape(probability), means.shape[:-1])
        reach = 40 * stds
        low = np.broadcast_to((means - reach).min(axis=-1), shape).copy()
        high = np.broadcast_to((means + reach).max(axis=-1), shape).copy()
        for _ in range(60):
            middle = (low + high) / 2
            below = self.cdf(parameters, middle) < probability
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return (low + high) / 2

    def get_config(self):
        return {**super().get_config(), "components": self.components}


class Samples:
    """What stands for a head where a forecast is samples, `(..., num_samples)`, as DeepAR's are."""

    point_is_median = False
    lower_bound = None

    def rescale(self, parameters, center, scale):
        return parameters * scale[..., None] + center[..., None]

    def point(self, parameters):
        """The mean of the samples."""
        return parameters.mean(axis=-1)

    def median(self, parameters):
        """The median of the samples."""
        return np.median(parameters, axis=-1)

    def quantile(self, parameters, levels):
        """Their quantiles, `(..., len(levels))`."""
        return np.moveaxis(np.quantile(parameters, check_levels(levels), axis=-1), 0, -1)

    def outputs(self, parameters):
        """Dict of the point forecast and the samples themselves."""
        return {"forecast": self.point(parameters), "samples": parameters}

    def cdf(self, parameters, values):
        """Share of the samples that are at most `values` `(...)`."""
        return (parameters <= np.asarray(values)[..., None]).mean(axis=-1)


_HEADS = {
    "point": PointHead,
    "quantiles": QuantileHead,
    "normal": NormalHead,
    "student_t": StudentTHead,
    "negative_binomial": NegativeBinomialHead,
    "mixture": MixtureHead,
}


def get(head):
    """A head of its own for one model: from None (a point), a name, or a `Head`.

    Names are "point", "quantiles", "normal", "student_t", "negative_binomial", "mixture".

    Raises:
        ValueError: an unknown name, or something else.
    """
    if head is None:
        return PointHead()
    if isinstance(head, str) and head in _HEADS:
        return _HEADS[head]()
    if isinstance(head, Head):
        return type(head).from_config({**head.get_config(), "name": "forecast"})
    raise ValueError(f"unknown head {head!r}: {suggest(head, _HEADS)}")


def of(model):
    """The head that a model ends in; a `PointHead` where it ends in no other."""
    for layer in reversed(model.layers):
        if isinstance(layer, Head):
            return layer
        if isinstance(layer, keras.Model):
            return of(layer)
    return PointHead()


class _MaskedLoss(keras.losses.Loss):
    """Mean of `errors` over the targets that are not NaN: a missing target has no error."""

    def call(self, y_true, y_pred):
        known = ops.isfinite(y_true)
        weights = ops.cast(known, y_pred.dtype)
        errors = self.errors(ops.where(known, y_true, ops.zeros_like(y_true)), y_pred)
        errors = ops.where(known, errors, ops.zeros_like(errors))
        return errors / ops.maximum(ops.mean(weights), 1e-6)


_POINT_ERRORS = {
    "mae": ops.abs,
    "mse": ops.square,
    "huber": lambda x: ops.where(ops.abs(x) < 1, 0.5 * ops.square(x), ops.abs(x) - 0.5),
}


@keras.saving.register_keras_serializable(package="kerastrans")
class PointError(_MaskedLoss):
    """Mean absolute ("mae"), squared ("mse") or Huber error (delta 1) of the known targets.

    Targets and forecasts are `(batch, prediction_length, num_channels)`; NaN targets are left out.
    """

    def __init__(self, error="mae", name="point_error", **kwargs):
        check_choice("error", error, tuple(_POINT_ERRORS))
        super().__init__(name=name, **kwargs)
        self.error = error

    def errors(self, y_true, y_pred):
        return _POINT_ERRORS[self.error](y_true - y_pred)

    def get_config(self):
        return {**super().get_config(), "error": self.error}


@keras.saving.register_keras_serializable(package="kerastrans")
class Pinball(_MaskedLoss):
    """Pinball loss, mean over the levels, of the known targets; twice it approximates the CRPS.

    Args:
        levels: probabilities of the quantiles in the last axis of the forecast.

    Source: Koenker, Bassett (1978); Gneiting, Raftery (2007), section 6.
    """

    def __init__(self, levels, name="pinball", **kwargs):
        super().__init__(name=name, **kwargs)
        self.levels = check_levels(levels)

    def errors(self, y_true, y_pred):
        levels = ops.cast(self.levels, y_pred.dtype)
        difference = ops.expand_dims(y_true, -1) - y_pred
        return ops.mean(ops.maximum(levels * difference, (levels - 1) * difference), axis=-1)

    def get_config(self):
        return {**super().get_config(), "levels": list(self.levels)}


class _HeadLoss(_MaskedLoss):
    def __init__(self, head, **kwargs):
        super().__init__(**kwargs)
        self.head = keras.saving.deserialize_keras_object(head) if isinstance(head, dict) else head

    def get_config(self):
        return {**super().get_config(), "head": keras.saving.serialize_keras_object(self.head)}


@keras.saving.register_keras_serializable(package="kerastrans")
class NegativeLogLikelihood(_HeadLoss):
    """Minus the log-likelihood of the known targets.

    Args:
        head: a head that is a distribution.

    Raises:
        ValueError: a head without a likelihood: points and quantiles.
    """

    def __init__(self, head, name="nll", **kwargs):
        super().__init__(head, name=name, **kwargs)
        _check_can(self.head, "log_prob", "likelihood")

    def errors(self, y_true, y_pred):
        return -self.head.log_prob(y_pred, y_true)


@keras.saving.register_keras_serializable(package="kerastrans")
class CRPS(_HeadLoss):
    """Continuous ranked probability score of the known targets, in their units, closed form.

    Args:
        head: `NormalHead` or `MixtureHead`. Of quantiles the `Pinball` loss is half of it, up to
            the distance between the levels.

    Raises:
        ValueError: a head without a closed form.
    """

    def __init__(self, head, name="crps", **kwargs):
        super().__init__(head, name=name, **kwargs)
        _check_can(self.head, "crps", "closed form of the CRPS")

    def errors(self, y_true, y_pred):
        return self.head.crps(y_pred, y_true)


def _check_can(head, method, what):
    if not hasattr(head, method):
        able = [name for name, kind in _HEADS.items() if hasattr(kind, method)]
        raise ValueError(f"{type(head).__name__} has no {what}; known are {', '.join(able)}.")


def _standard_normal(uniform):
    return math.sqrt(2) * ops.erfinv(2 * uniform - 1)


def _density(z):
    """Density of the standard normal distribution."""
    return ops.exp(-0.5 * ops.square(z)) / math.sqrt(2 * math.pi)
