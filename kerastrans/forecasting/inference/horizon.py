"""Forecasts of more or fewer steps than a model was trained for."""

from dataclasses import replace

from kerastrans import heads
from kerastrans.decoding.contract import patch_length_of
from kerastrans.decoding.graph import inputs_of
from kerastrans.forecasting.inference.continuation import own_intervals
from kerastrans.forecasting.inference.model import build_for
from kerastrans.forecasting.inference.reader import Reader
from kerastrans.forecasting.inference.runtime import derive_model
from kerastrans.utils.validation import check_positive_integers

PATCH = "patch_length"  # hyperparameter whose default depends on the horizon


def with_horizon(state, prediction_length):
    """Return the state that forecasts another number of steps, or the same one for None.

    An autoregressive model decodes more steps, or fewer. The forecast of another model is cut, or
    continued from its own sample paths, see `continuation`.

    Args:
        state: `FittedState`.
        prediction_length: int, or None.

    Raises:
        ValueError: If the number is below 1, conformal intervals were calibrated for fewer steps,
            or the model requires covariates that are not known for later steps.
    """
    trained = state.config.prediction_length
    prediction_length = trained if prediction_length is None else prediction_length
    check_positive_integers(prediction_length=prediction_length)
    _check_intervals(state, prediction_length)
    if prediction_length == trained:
        return state
    names = {tensor.name for tensor in inputs_of(state.model)}
    is_longer = not state.decodes and prediction_length > state.native_length
    if is_longer and "past_covariates" in names:
        raise ValueError(
            f"prediction_length={prediction_length} exceeds the model's {state.native_length} "
            f"steps, after which the past covariates {list(state.config.past)} are not known: "
            "train with this prediction_length."
        )
    return _adapted(state, prediction_length)


def beyond_horizon(state, prediction_length):
    """Return the state that forecasts steps after a missing end, see `SeriesEnds`.

    Unlike `with_horizon`, it treats past covariates that are not known as missing, and gives steps
    that conformal intervals were not calibrated for those of the last one. An autoregressive model
    that draws samples is continued too: the spread of many more steps than it was trained for,
    decoded at once, is too small.
    """
    intervals, draws = state.intervals, isinstance(state.head, heads.Samples)
    is_continued = prediction_length > state.native_length and (draws or not state.decodes)
    if intervals is not None and not (is_continued and own_intervals(state.native)):
        intervals = intervals.first_steps(prediction_length)
    if draws:
        config = state.config.changed(prediction_length=prediction_length)
        return replace(state, config=config, intervals=intervals, adapted_from=state)
    return replace(_adapted(state, prediction_length), intervals=intervals)


def _adapted(state, prediction_length):
    """Return the state that forecasts another number of steps."""
    config = state.config.changed(prediction_length=prediction_length)
    if state.decodes:
        adapted = replace(state, config=config)
        key = "horizon", prediction_length
        model = derive_model(state.model, key, lambda: _rebuilt(adapted))
        return replace(adapted, model=model)
    return replace(state, config=config, adapted_from=state.native)


def _rebuilt(state):
    """Return an autoregressive model with the same weights and covariates of another horizon."""
    model, config = state.model, state.config
    names = {tensor.name for tensor in inputs_of(model)}
    if not names & {"future_covariates", "past_covariates"}:
        return model  # nothing in it depends on the horizon
    if config.architecture is None:
        raise ValueError(
            "a custom model with covariates reads a fixed number of them: build it with "
            f"prediction_length={config.prediction_length}."
        )
    if PATCH in config.builder_arguments:
        given = {**config.hyperparameters, PATCH: patch_length_of(model)}
        config = config.changed(hyperparameters=given)
    reader = Reader.like(state)
    rebuilt = build_for(config, reader, sees_missing=heads.of(model).sees_missing)
    rebuilt.set_weights(model.get_weights())
    return rebuilt


def _check_intervals(state, prediction_length):
    """Raise ValueError if conformal intervals are not known for a step."""
    if state.intervals is None:
        return
    steps = state.intervals.prediction_length
    is_continued = steps == state.native_length and not state.decodes
    if prediction_length > steps and not is_continued:
        raise ValueError(
            f"calibrated for {steps} steps, asked for {prediction_length}: call "
            f"calibrate(..., prediction_length={prediction_length})."
        )
