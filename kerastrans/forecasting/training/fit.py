"""Training of a forecaster on a frame; if it fails, nothing has changed."""

import contextlib
from dataclasses import asdict, dataclass, field, replace

import keras

from kerastrans import heads
from kerastrans.forecasting.dependence import Dependence
from kerastrans.forecasting.inference.adaptation import at_frequency
from kerastrans.forecasting.inference.losses import report_zeros
from kerastrans.forecasting.inference.model import build_for, compile_model
from kerastrans.forecasting.inference.recipe import FitCall
from kerastrans.forecasting.inference.state import state_of
from kerastrans.forecasting.training import fallback
from kerastrans.forecasting.training.checkpoint import Checkpoint
from kerastrans.forecasting.training.comparison import (
    AVERAGE,
    PUBLISHED,
    Comparison,
    Verdict,
    reason_not_to_train,
)
from kerastrans.forecasting.training.data import TrainingData
from kerastrans.forecasting.training.defaults import LONG_CONTEXT, MAX_VALIDATION_WINDOWS, HeldOut
from kerastrans.forecasting.training.extra_steps import finish, measure_errors, reserve_for_finish
from kerastrans.forecasting.training.fine_tuning import (
    facts_that_stay,
    keep_published,
    merge_adapters,
    prepare_for_fine_tuning,
)
from kerastrans.forecasting.training.loop import (
    fit_model,
    sets_rate,
    steps_taken,
    unchanged_on_failure,
)
from kerastrans.forecasting.training.spread import report_unmeasured_spread
from kerastrans.forecasting.training.time_limit import TimeLimit, TimeLimitWarning
from kerastrans.forecasting.training.windows import TrainingWindows
from kerastrans.layers.frequency.correlation_basis import adapt_layers
from kerastrans.utils.distribution import distribute as distributed
from kerastrans.utils.user_warnings import warn_user


@dataclass(frozen=True)
class TrainingResult:
    """Outcome of a training.

    Attributes:
        windows: `TrainingWindows`.
        trained: Dict of the training rows, as in `FittedState`.
        history: History of Keras; None if nothing was trained.
        dependence: `Dependence` of the errors on the hold-out set, or None.
        verdict: `Verdict` of the comparison with published weights; None without one.
    """

    windows: TrainingWindows
    trained: dict = field(default_factory=dict)
    history: keras.callbacks.History | None = None
    dependence: Dependence | None = None
    verdict: Verdict | None = None


def fit(
    config, before, frame, recipe, frames, read_as, was_trained=False, distribute=None, **options
):
    """Train a model on a frame.

    Args:
        config: `Config` that was given.
        before: `FittedState` to train further; None for a new model.
        frame: See `Forecaster.fit`.
        recipe: `Training`.
        frames: Dict of the arguments `static`, `freq` and `validation` of `Forecaster.fit`.
        read_as: See `FittedState`.
        was_trained: bool, whether the model of the config was trained by Keras.
        distribute: See `Forecaster.fit`.
        **options: `checkpoint`, `callbacks` and `verbose`, see `Forecaster.fit`.

    Returns:
        `FittedState`, and the panel or windows whose faults name the series that were left out.
    """
    limit = TimeLimit(recipe.time_limit) if recipe.time_limit and recipe.epochs is None else None
    is_published = before is not None and before.card is not None
    is_guarded = recipe.restore_published and is_published and recipe.epochs != 0
    held_out = recipe.validation_size, None if is_guarded else recipe.epochs
    data = TrainingData.read(config, frame, before, *held_out, **frames)
    reader = data.reader
    before = before and at_frequency(before, reader.clock.freq)
    callbacks, is_given = options["callbacks"], frames["validation"] is not None
    extras = ("callbacks",) * bool(callbacks) + ("a validation frame",) * is_given
    is_new = not (was_trained or (before and before.trained))
    call = FitCall(recipe, is_new and not is_published and recipe.epochs != 0, extras)
    record = {"seasons": data.seasons, "fits": (*(before.fits if before else ()), call)}
    facts = {"read_as": read_as or (reader.clock.tz and {"timezone": reader.clock.tz}), **record}
    is_told = recipe.says_how or call.extras or distribute or options["checkpoint"] is not None
    may_replace = before is None and not is_told and fallback.may_replace(config, data)
    reason = may_replace and reason_not_to_train(data)
    baseline = None
    if may_replace:  # compared on all columns of a wide frame
        baseline = fallback.published_state(config, data, None if reason else reader.channels)
    with distributed(distribute) if distribute else contextlib.nullcontext():
        if reason:
            result = TrainingResult(data.panels[0], verdict=Verdict(PUBLISHED, reason=reason))
        else:
            limit and limit.start_building()
            model = prepare_for_fine_tuning(before) if before else build_for(reader.config, reader)
            baseline = state_of(reader, model) if is_guarded else baseline
            options |= {"limit": limit, "baseline": baseline, "is_new": is_new}
            result = train(model, data, recipe, **options)
    windows, history, verdict = result.windows, result.history, result.verdict
    if verdict is not None and options["verbose"] != 0:
        name = None if before else reader.config.architecture
        print(verdict.describe((before or baseline).card["name"], name))
    limit and limit.warn_if_exceeded()
    if verdict is not None and verdict.kept == PUBLISHED:
        published = before or baseline
        if before is None:
            if published.channels:  # the state that forecasts any frame
                published = fallback.published_state(config, data)
            chosen_by = windows.chosen_by if verdict.windows else {}
            record |= {"chosen_by": chosen_by, "read_as": facts["read_as"]}
        return keep_published(replace(published, **record), result), windows
    model = merge_adapters(before, model)
    chosen_by = windows.chosen_by if recipe.epochs is None or callbacks else {}
    facts |= rows_seen(before, result.trained, chosen_by, history)
    facts |= {"history": history, "dependence": result.dependence, **facts_that_stay(before)}
    state = state_of(reader, model, fine_tuning=verdict and asdict(verdict), **facts)
    if verdict is not None and verdict.kept == AVERAGE:
        state = fallback.average_state(state, baseline, windows.longest)
    return state, windows


def train(
    model, data, training, *, limit, checkpoint, baseline, is_new, callbacks=None, verbose=None
):
    """Train a model on the windows of some data.

    The spread of the forecast is measured on the hold-out set, if there is one. If training stopped
    early, the default hold-out set is finally used for a few training steps, see `finish`.

    Args:
        model: Keras model.
        data: `TrainingData`.
        training: `Training`.
        limit: `TimeLimit` that includes `finish`, or None.
        checkpoint: Path of a folder, or None.
        baseline: `FittedState` of published weights, those of the model or of another one, which
            are kept unless held-out windows favour the trained model, see `Comparison`; None to
            keep the trained model.
        is_new: bool, whether the model was not trained before, by Keras or here; then its layers
            are adapted to the training rows, see `adapt_layers`.
        callbacks: See `Forecaster.fit`.
        verbose: See `Forecaster.fit`.

    Returns:
        `TrainingResult`. If its verdict is for the published weights, the model has the weights
        that it had before.
    """
    config, batch_size, epochs = data.reader.config, training.batch_size, training.epochs
    is_fine_tuning = baseline is not None and baseline.model is model
    most = MAX_VALIDATION_WINDOWS if epochs is None or is_fine_tuning else None
    windows = TrainingWindows(model, data, training, most)
    if config.context_length > LONG_CONTEXT * windows.longest:
        warn_user(
            f"context_length={config.context_length} is more than {LONG_CONTEXT} times as long as "
            f"the longest series, {windows.longest} rows: the rest of each window is padding."
        )
    if not model.trainable_weights or epochs == 0:
        return TrainingResult(windows)
    parts = [windows.steps(part, batch_size) for part in (0, 1)]
    if training.validation_size is None and data.held_out.steps and not all(parts):
        # The steps that would be held out are too few or unknown.
        windows = TrainingWindows(model, replace(data, held_out=HeldOut()), training)
    is_verbose = verbose != 0
    is_given = data.validation is not None or training.validation_size is not None
    heads.of(model).check_zeros(windows.zeros)
    report_zeros(model.loss, windows.zeros)
    if checkpoint is not None:
        checkpoint = Checkpoint(checkpoint, windows.facts())
    if not model.compiled:
        compile_model(config, model)
    if is_fine_tuning and is_given and not windows.steps(1, batch_size):
        baseline = None
    comparison = baseline and Comparison(windows, baseline, averages=not is_fine_tuning)
    reason = limit and limit.reason_not_to_begin()
    if comparison and (reason := comparison.reason or reason):
        return TrainingResult(windows, verdict=Verdict(PUBLISHED, reason=reason))
    if reason:
        warn_user(f"{reason}.", TimeLimitWarning)
    with unchanged_on_failure(model) as restore:
        before = steps_taken(model.optimizer)
        trains_on = sets_rate(config) and not is_given
        stop = limit and limit.callback(reserve_for_finish(limit, windows, batch_size, trains_on))
        if is_new:
            adapt_layers(model, windows.training_rows)
        given = {"callbacks": callbacks, "verbose": verbose}
        history = fit_model(windows, training, stop, checkpoint, **given)
        errors = measure_errors(windows, is_verbose, limit)
        if comparison is None and limit and 0 < limit.ended_after < history.params["steps"]:
            warn_of_few_steps(windows, errors, limit, history.params["steps"])
        verdict = comparison and comparison.decide(*errors[:2])
        if verdict is not None and verdict.kept == PUBLISHED:
            restore()
            return TrainingResult(windows, history=history, verdict=verdict)
        steps = steps_taken(model.optimizer) - before if trains_on else 0
        all_rows, dependence, num_forecasts = finish(
            errors, windows, steps, batch_size, is_verbose, limit
        )
        if not is_given and heads.of(model).num_spreads > 0:
            report_unmeasured_spread(windows, None if is_fine_tuning else epochs, num_forecasts)
        return TrainingResult(windows, all_rows.trained, history, dependence, verdict)


def warn_of_few_steps(windows, errors, limit, steps):
    """Warn of a model whose time limit ended its training within the first epoch.

    Args:
        windows: `TrainingWindows`.
        errors: See `measure_errors`; they are compared with those of untrained kerastrans-zero 2.
        limit: `TimeLimit`.
        steps: int, number of steps of an epoch.
    """
    data, config, found = windows.data, windows.config, ""
    is_short = errors[1] is None or data.reader.covariates.static or limit.left < 0
    if heads.of(windows.model).num_spreads > 0 and not is_short:
        baseline = fallback.published_state(config, data, data.reader.channels)
        verdict = Comparison(windows, baseline).decide(*errors[:2])
        if verdict.windows:
            found = f"; {verdict.compare(config.name, baseline.card['name'])}"
    warn_user(
        f"time_limit={limit.seconds:g} ended the training of {config.name} after "
        f"{limit.ended_after} of the {steps} steps of an epoch{found}. Give more seconds, or use "
        "kerastrans_zero_2, which needs no training.",
        TimeLimitWarning,
    )


def rows_seen(state, trained, chosen_by, history):
    """Return up to which row of each series a model was trained, or its weights were chosen.

    Args:
        state: `FittedState` before this training, or None.
        trained: Dict of this training, as in `FittedState`.
        chosen_by: Dict of this training, as in `FittedState`.
        history: History of Keras, None if nothing was trained.

    Returns:
        Dict of "trained" and "chosen_by", as in `FittedState`.
    """
    seen = {}
    for part, ends in {"trained": trained, "chosen_by": chosen_by}.items():
        before, ends = getattr(state, part, {}), ends if history else {}  # epochs=0 uses no rows
        seen[part] = before | {name: max(end, before.get(name, end)) for name, end in ends.items()}
    return seen
