"""Published weights that `auto` uses if series are too short to train on, or training is worse."""

import math
from dataclasses import replace

from kerastrans import heads
from kerastrans.decoding.rollout import quantile_model
from kerastrans.forecasting.inference.config import AUTO
from kerastrans.forecasting.inference.state import FittedState
from kerastrans.forecasting.training.fine_tuning import count_trainable
from kerastrans.models.parts.ensemble import Member, at_levels, build_ensemble

# Arguments of `Forecaster` with which published weights forecast as well.
_ARGUMENTS = {"model", "prediction_length", "short", "num_samples", "seed", "alias", "bounds"}
_ARGUMENTS |= {"past", "future", "training"}


def may_replace(config, data):
    """Return whether `fit` may use published weights instead of a model that it trains.

    It may if the model is "auto", unless there are static covariates, or an argument requires what
    these weights do not have.

    Args:
        config: `Config` that was given.
        data: `TrainingData`.
    """
    if config.model != AUTO or len(data.panels) > 1 or data.reader.covariates.static:
        return False
    default = type(config)(model=AUTO, context_length=None, prediction_length=1).arguments()
    given = {name for name, value in config.arguments().items() if value != default[name]}
    if config.calendar is False:
        given.discard("calendar")
    return given <= _ARGUMENTS


def published_state(config, data, channels=None):
    """Return the `FittedState` of the published weights for these data, which train nothing.

    Args:
        config: `Config` that was given.
        data: `TrainingData`.
        channels: Tuple of the columns of a wide frame, to forecast these only; None to forecast any
            frame series by series.
    """
    covariates, freq = data.reader.covariates, data.reader.clock.freq
    count = len(channels or "1")
    model, card = build_published(config.prediction_length, covariates, freq, num_channels=count)
    config = config.with_published(model, card["name"])
    return FittedState(config, model, data.reader.clock, covariates, channels, card=card)


def quantiles_of(state, levels):
    """Return the model of a state, whose forecasts are points or quantiles at these levels."""
    if not isinstance(state.head, heads.Samples):
        return state.model
    config = state.config
    options = config.prediction_length, levels, config.num_samples, config.seed
    return quantile_model(state.model, *options)


def average_state(trained, baseline, longest):
    """Return the `FittedState` that forecasts the mean of the quantiles of two others.

    Args:
        trained: `FittedState` of a trained model.
        baseline: `FittedState` of published weights.
        longest: int, number of steps of the longest series, of which the published weights read as
            many last ones.

    Source: Bates, Granger (1969); Lichtendahl, Grushka-Cockayne, Winkler (2013), for quantiles.
    """
    name = f"{trained.config.architecture}_{baseline.card['name']}"
    levels = baseline.head.levels if trained.decodes else heads.of(trained.model).levels
    sizes = trained.config.prediction_length, trained.covariates, trained.freq
    steps, num_channels = baseline.pretrained.padded_length(longest), len(baseline.channels or "1")
    published, _ = build_published(*sizes, steps, num_channels)
    pairs = (quantiles_of(trained, levels), trained), (at_levels(published, levels), baseline)
    members = [Member(x, y.config.scaler, 0.5, y.config.fill) for x, y in pairs]
    model = build_ensemble(members, levels, name)
    config = trained.config.with_published(model, name, trained.config.calendar)
    return replace(trained, config=config, model=model)


def build_published(prediction_length, covariates, freq, max_context=math.inf, num_channels=1):
    """Return the model of the published weights, and its card.

    Args:
        prediction_length: int, number of steps to forecast.
        covariates: `Covariates` of the frames, past and future, whose effects the model takes from
            each window.
        freq: str, pandas frequency of the frames.
        max_context: int, number of steps that it reads at most.
        num_channels: int, number of columns of a wide frame.
    """
    # Only here: most trainings need none of it.
    from kerastrans.models import pretrained
    from kerastrans.models.pretrained.shipped import DEFAULT, options_for, resolve_checkpoint

    folder, card = resolve_checkpoint(DEFAULT)
    options = options_for(DEFAULT, freq)
    weights = pretrained.load(folder).with_options(**options)
    if options:
        card["options"] = options
    context_length = min(weights.default_context, max_context)
    model = weights.build(context_length, prediction_length, num_channels, covariates.sizes())
    card["parameters"] = card["trainable_parameters"] = count_trainable(model)
    return model, card
