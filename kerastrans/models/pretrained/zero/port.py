"""kerastrans-zero: the small zero-shot forecaster of this package, trained on synthetic series."""

from numbers import Integral

import keras
from keras import layers, ops

from kerastrans import heads
from kerastrans.layers import CovariateEffects
from kerastrans.models.parts.regression import covariate_inputs
from kerastrans.models.pretrained.base import PretrainedModel
from kerastrans.models.pretrained.checkpoint import (
    assign,
    read_quantiles,
    read_sizes,
    refuse_others,
)
from kerastrans.models.pretrained.scaling import deviation_between, place_of
from kerastrans.models.pretrained.zero.network import LONGEST, build_network, shorten
from kerastrans.models.pretrained.zero.windows import (
    LEAST_CYCLES,
    PhaseForecasts,
    forecast_windows,
    since_window,
)
from kerastrans.utils.validation import check_at_most, check_positive_integers

ARCHITECTURE, NAME = "KerastransZero", "kerastrans_zero"
SHORTEST = 256  # smallest window, in steps
MOST_STEPS = 6144  # longest history, in steps, for the series of each phase
LONG_SEASON = 24  # fewest steps of a season whose phases are forecast
SIZES = ("context_length", "octaves", "cycles", "width", "hidden")


def reads(config):
    """Return whether a configuration is one of kerastrans-zero."""
    return ARCHITECTURE in (config.get("architectures") or ())


def load(config, tensors):
    """Load the model of a checkpoint, see `kerastrans.models.pretrained.load`."""
    read_sizes(config, *SIZES)
    refuse_others(config, paired_lags=(False, True))
    check_at_most(**{"the longest window": LONGEST, "context_length": config["context_length"]})
    levels = read_quantiles(config)
    network = build_network(config)
    dense = [layer for layer in network.layers if isinstance(layer, layers.Dense)]
    layout = {f"{x.name}.{part}": getattr(x, part) for x in dense for part in ("kernel", "bias")}
    assign(tensors, layout)
    return KerastransZero(network, levels, config["context_length"])


class KerastransZero(PretrainedModel):
    """kerastrans-zero, which forecasts any horizon at once; see `PretrainedModel`.

    Each series is forecast separately. In each octave of lags the model finds the lag with the
    highest autocorrelation of the window. For each future step a small network then computes a
    weighted mean of the last values of the same phase at all of these lags, and adds slopes and
    quantiles in units of the naive errors at these lags.

    With covariates, the network forecasts the history without their effects, which
    `kerastrans.layers.CovariateEffects` estimates in the same window, and the effects ahead are
    added to its forecast. Distances from the median are multiplied by the square root of `1 + v`,
    where `v` is the variance of the effects over that of the forecast, plus the relative excess of
    the error of left-out parts of the window over that of the fit.

    With the option `season`, other forecasts have a share in that of the network. If a season has
    at least 24 steps, these are `kerastrans.models.pretrained.zero.windows.PhaseForecasts` and
    `kerastrans.models.pretrained.zero.cycles.CycleRegression`, which reads covariates, too; for
    fewer, such as 12 months, or 1 for values without a season, they are
    `kerastrans.models.pretrained.zero.drift.DriftForecasts`.

    Args:
        network: Keras model, see `kerastrans.models.pretrained.zero.network.build_network`.
        levels: Tuple of float, the trained quantile levels.
        max_context: int, number of steps that the network reads.
        season: int, option; number of steps of a season, such as 24 for hourly values and 12 for
            months. With at least 24, up to 6,144 steps are read. None forecasts the window only.
        head: Head of a model that has been built, which further models then share; None for a new
            head in each model.
    """

    usual_context = 1024
    option_names = ("season",)
    equivariance = "affine"

    def __init__(self, network, levels, max_context, season=None, head=None):
        super().__init__(network, levels, max_context)
        self.season, self._head = season, head
        self.networks, self._phases = {max_context: network}, {}  # by the length of the window
        if self._has_phases:
            self.max_context = self.usual_context = min(MOST_STEPS, season * max_context)

    def _with(self, season):
        if season is not None:
            if isinstance(season, bool) or not isinstance(season, Integral) or season < 1:
                raise ValueError(
                    f"season must be an integer of at least 1, or None, got {season!r}."
                )
            check_at_most(season=season, **{"the longest season": MOST_STEPS // LEAST_CYCLES})
        return type(self)(self.network, self.levels, self._window, season, self._head)

    @property
    def _has_phases(self):
        """True if the series of each phase of a season is forecast, too."""
        return self.season is not None and self.season >= LONG_SEASON

    @property
    def _window(self):
        """Number of steps that the network reads."""
        return self.network.inputs[0].shape[1]

    def padded_length(self, length):
        window = SHORTEST
        while window < length:
            window *= 2
        return min(window, self.max_context)

    def head(self):
        return self._head or super().head()

    def quantiles(self, history, prediction_length):
        x = self._forecast(history, prediction_length)
        move = self._move(history.shape[1], prediction_length)
        return x if move is None else move(history, x)

    def _forecast(self, history, prediction_length):
        """Return the quantiles of the network, with a season also of the series of each phase."""
        length = min(self.padded_length(history.shape[1]), self._window)
        if length not in self.networks:
            self.networks[length] = shorten(self.network, length)
        network = self.networks[length]
        if not self._has_phases:
            return forecast_windows(network, history, prediction_length)
        sizes = length, history.shape[1], prediction_length
        if sizes not in self._phases:  # the channels of a model share them, and their weights
            self._phases[sizes] = PhaseForecasts(network, self.season, prediction_length)
        return self._phases[sizes](history)

    def _move(self, history_length, prediction_length, **covariates):
        """Return the `Move` of a forecast with a season, or None."""
        if self.season is None:
            return None
        if not self._has_phases:
            from kerastrans.models.pretrained.zero.drift import DriftForecasts

            return DriftForecasts(self.season, self.levels)
        from kerastrans.models.pretrained.zero.cycles import CycleRegression, has_rows

        if not has_rows(history_length, self.season, prediction_length):
            return None
        return CycleRegression(self.season, self.levels, **covariates)

    def build(self, context_length, prediction_length, num_channels=1, covariates=None):
        """Build a functional Keras model, see `PretrainedModel.build`.

        Args:
            context_length: int, number of steps of the history.
            prediction_length: int, number of steps to forecast.
            num_channels: int, number of channels; each is forecast separately.
            covariates: Dict of "past" and "future": sizes of the columns, as in
                `kerastrans.models.parts.regression.covariate_inputs`. The model then takes a dict
                of "history", "past_covariates" and "future_covariates".

        Raises:
            ValueError: If a size is below 1, or covariates are static.
        """
        covariates = {kind: tuple(sizes) for kind, sizes in (covariates or {}).items() if sizes}
        if not covariates:
            return super().build(context_length, prediction_length, num_channels)
        if "static" in covariates:
            raise ValueError(
                f"{self.network.name} takes no static covariates: it learns from each series "
                "separately, in which they never change."
            )
        sizes = {"context_length": context_length, "prediction_length": prediction_length}
        check_positive_integers(**sizes, num_channels=num_channels)
        history = keras.Input((context_length, num_channels), name="history")
        known = covariate_inputs(*sizes.values(), covariates)
        inputs = {"history": history, **known}
        effects = CovariateEffects(prediction_length, **covariates, trend_length=self.max_context)
        move = self._move(context_length, prediction_length, **covariates)
        channels = []
        for i in range(num_channels):
            series = history[..., i]
            recent = since_window(self.network, {"history": series, **known})
            rest, *found = effects(recent.pop("history"), **recent)
            x = self._forecast(rest, prediction_length)
            if move is not None and not move.reads_covariates:
                x = move(rest, x)
            x = add_effects(x, self.levels, *found)
            if move is not None and move.reads_covariates:
                x = move(series, x, **known)
            channels.append(x)
        forecast = self.head()(ops.stack(channels, axis=2))
        return keras.Model(inputs, forecast, name=self.network.name)

    def shorten(self, model, context_length):
        """Return a model of `build` like another one, with another context."""
        prediction_length, num_channels = model.output_shape[1:3]
        layer = effects_of(model)
        covariates = {"past": layer.past, "future": layer.future} if layer else None
        return self.build(context_length, prediction_length, num_channels, covariates)


def network_of(model):
    """Return the network of kerastrans-zero in a model that was built from it, or None."""
    phases = phases_of(model)
    parts = model.layers if phases is None else [phases.network]
    inner = [x for x in parts if isinstance(x, keras.Model) and x.name == NAME]
    return inner[0] if model.name == NAME and len(inner) == 1 else None


def phases_of(model):
    """Return the `PhaseForecasts` of a model that was built with a season, or None."""
    return next((x for x in model.layers if isinstance(x, PhaseForecasts)), None)


def effects_of(model):
    """Return the `CovariateEffects` of a model that was built with covariates, or None."""
    return next((x for x in model.layers if isinstance(x, CovariateEffects)), None)


def pretrained_of(model):
    """Return the `KerastransZero` that a model was built from, with its weights, or None.

    Args:
        model: Keras model, also one that was trained or read from a file.
    """
    network = network_of(model)
    if network is None:
        return None
    window, head = network.inputs[0].shape[1], heads.of(model)
    # Of `PhaseForecasts` or of a `Move`.
    season = next((x.season for x in model.layers if hasattr(x, "season")), None)
    return KerastransZero(network, head.levels, window, season, head)


def add_effects(quantiles, levels, ahead, variance, ratio):
    """Return quantiles plus effects, as far from the median as their uncertainty requires.

    Args:
        quantiles: Tensor `(batch, prediction_length, levels)` of the history without the effects.
        levels: Probabilities of the quantiles.
        ahead: `(batch, prediction_length, covariates)`, the effects.
        variance: `(batch, prediction_length)`, variance of the effects.
        ratio: `(batch, 1)`, squared error of left-out parts over that of the fit.
    """
    median = quantiles[..., place_of(levels, 0.5)][..., None]
    distances = quantiles - median
    deviation = deviation_between(quantiles, levels, 0.16, 0.84)
    # The fit is too good, and left-out parts are too hard, by about the same factor.
    excess = ops.sqrt(ops.maximum(ratio, 1)) - 1
    excess = excess + variance / (ops.square(deviation) + 1e-12)
    # What has one column is the first summand, see `rescaled`.
    median = ops.sum(ahead, axis=2)[..., None] + median
    return median + distances * ops.sqrt(1 + excess)[..., None]
