"""Published weights that `auto` uses if series are too short to train on, or training is worse."""

import numpy as np

from kerastrans.data.time.seasons import season_of
from kerastrans.decoding.graph import is_autoregressive
from kerastrans.forecasting.inference.config import AUTO
from kerastrans.forecasting.inference.state import FittedState
from kerastrans.forecasting.training.defaults import (
    LONG_CONTEXT,
    MIN_TRAINING_FORECASTS,
    can_measure_spread,
    choose_hold_out,
)
from kerastrans.forecasting.training.fine_tuning import count_trainable

MIN_SEASONS = 3  # of the median series, which published weights forecast from it only
# Arguments of `Forecaster` with which published weights forecast as well.
_ARGUMENTS = {"model", "prediction_length", "short", "num_samples", "seed", "alias", "bounds"}
_ARGUMENTS |= {"past", "future", "training"}


def is_possible(config, data):
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


def is_needed(config, data):
    """Return whether the series are too few or too short for `fit` to train a model.

    They are if they hold fewer than 100 forecasts that do not overlap, or too few of them can be
    held out to measure the spread of intervals. They also are if whole series would be held out
    instead of their ends, see `choose_hold_out`: these have the dates of the others, so that the
    loss of a trained model there is lower than that of later forecasts. Covariates, and a season
    that the median series shows less than three times, are reasons to train all the same: a model
    learns them from all series together.
    `fit` uses published weights if they are needed, and possible.

    Args:
        config: `Config` that was given.
        data: `TrainingData`.
    """
    lengths, steps = data.panels[0].lengths, config.prediction_length
    is_short = np.sum(lengths) < MIN_TRAINING_FORECASTS * steps
    if is_short or not can_measure_spread(lengths, steps):
        return True
    covariates, season = data.reader.covariates, season_of(data.reader.clock.freq)
    shows_seasons = np.median(lengths) >= MIN_SEASONS * season
    is_own = shows_seasons and not (covariates.past or covariates.future)
    return bool(is_own and choose_hold_out(lengths, steps).share < 1)


def rival_state(config, data, model):
    """Return the `FittedState` of the published weights that a trained model is compared with.

    None if the model decodes step by step, or forecasts several channels.

    Args:
        config: `Config` that was given.
        data: `TrainingData`.
        model: Keras model that is to be trained.
    """
    if is_autoregressive(model) or data.panels[0].num_channels > 1:
        return None
    return published_state(config, data)


def published_state(config, data):
    """Return the `FittedState` of the published weights for these data, which train nothing.

    Args:
        config: `Config` that was given.
        data: `TrainingData`.
    """
    covariates, freq = data.reader.covariates, data.reader.clock.freq
    model, card = build_published(config.prediction_length, covariates, freq)
    config = config.with_published(model, card["name"])
    return FittedState(config, model, data.reader.clock, covariates, card=card)


def build_published(prediction_length, covariates, freq, longest=None):
    """Return the model of the published weights, and its card.

    Args:
        prediction_length: int, number of steps to forecast.
        covariates: `Covariates` of the frames, past and future, whose effects the model takes from
            each window.
        freq: str, pandas frequency of the frames.
        longest: int, number of rows of the longest series; the model then reads up to four times as
            many steps, so that longer series can follow. None for the default of the weights.
    """
    # Only here: most trainings need none of it.
    from kerastrans.models import pretrained
    from kerastrans.models.pretrained.shipped import DEFAULT, options_for, resolve_checkpoint

    folder, card = resolve_checkpoint(DEFAULT)
    options = options_for(DEFAULT, freq)
    weights = pretrained.load(folder).with_options(**options)
    if options:
        card["options"] = options
    context_length = weights.default_context
    if longest is not None:
        context_length = min(context_length, LONG_CONTEXT * longest)
    model = weights.build(context_length, prediction_length, 1, covariates.sizes())
    card["parameters"] = card["trainable_parameters"] = count_trainable(model)
    return model, card


def description(data, name):
    """Return one line that says why nothing was trained, and what forecasts instead."""
    panel = data.panels[0]
    return (
        f"auto: {name}, published weights without training: {len(panel)} series of "
        f"{int(np.median(panel.lengths))} rows (median) are too few or too short to train on. "
        'Name a model, such as Forecaster("nlinear", ...), to train it.'
    )
