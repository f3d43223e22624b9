"""Train a model on some training data; if that fails, the model is unchanged."""

from dataclasses import replace

from kerastrans import heads
from kerastrans.forecasting.inference.losses import report_zeros
from kerastrans.forecasting.inference.model import compile_model
from kerastrans.forecasting.training.checkpoint import Checkpoint, checksum_of
from kerastrans.forecasting.training.defaults import LONG_CONTEXT, MAX_VALIDATION_WINDOWS, HeldOut
from kerastrans.forecasting.training.extra_steps import finish, reserve_for_finish
from kerastrans.forecasting.training.guard import Guard
from kerastrans.forecasting.training.loop import (
    fit_model,
    sets_rate,
    steps_taken,
    unchanged_on_failure,
)
from kerastrans.forecasting.training.spread import report_unmeasured_spread
from kerastrans.forecasting.training.windows import TrainingWindows
from kerastrans.models.parts.adaptation import adapt_layers
from kerastrans.utils.user_warnings import warn_user


def train(
    model,
    data,
    training,
    *,
    limit=None,
    checkpoint=None,
    published=None,
    rival=None,
    is_new=False,
    callbacks=None,
    verbose=None,
):
    """Train a model on the windows of some data.

    The spread of the forecast is measured on the hold-out set, if there is one. If training stopped
    early, the default hold-out set is finally used for a few training steps, see `finish`.

    Args:
        model: Keras model.
        data: `TrainingData`.
        training: `Training`.
        limit: `TimeLimit` that includes `finish`, or None. It is ignored if epochs are given.
        checkpoint: Path of a folder, or None.
        published: Name of published weights, which are restored unless held-out windows favour the
            trained ones, see `Guard`; None to keep the trained ones.
        rival: `FittedState` of published weights to use instead, unless held-out windows favour the
            trained model; None to keep this one.
        is_new: bool, whether the model was not trained before, by Keras or here; then its layers
            are adapted to the training rows, see `adapt_layers`.
        callbacks: See `Forecaster.fit`.
        verbose: See `Forecaster.fit`.

    Returns:
        `TrainingWindows`; dict of the training rows, as in `FittedState`; the history of Keras,
        None if nothing was trained; the `Dependence` of the errors on the hold-out set, or None;
        the verdict of the guard, or None.

    Raises:
        NotImprovedError: If the weights at the start were restored.
    """
    config, batch_size, epochs = data.reader.config, training.batch_size, training.epochs
    most = MAX_VALIDATION_WINDOWS if epochs is None or published else None
    windows = TrainingWindows(model, data, training, most)
    if config.context_length > LONG_CONTEXT * windows.longest:
        warn_user(
            f"context_length={config.context_length} is more than {LONG_CONTEXT} times as long as "
            f"the longest series, {windows.longest} rows: the rest of each window is padding."
        )
    if not model.trainable_weights or epochs == 0:
        return windows, {}, None, None, None
    parts = [windows.steps(part, batch_size) for part in (0, 1)]
    if training.validation_size is None and data.held_out.steps and not all(parts):
        # The steps that would be held out are too few or unknown.
        windows = TrainingWindows(model, replace(data, held_out=HeldOut()), training)
    is_verbose = verbose != 0
    is_given = data.validation is not None or training.validation_size is not None
    heads.of(model).check_zeros(windows.zeros)
    report_zeros(model.loss, windows.zeros)
    if checkpoint is not None:
        settings = windows.facts() | {"weights at the start": checksum_of(model)}
        checkpoint = Checkpoint(checkpoint, settings)
    if not model.compiled:
        compile_model(config, model)
    guard = None
    if published and (windows.steps(1, batch_size) or not is_given):
        guard = Guard(windows, published, is_verbose)
    elif rival is not None:
        guard = Guard(windows, rival.card["name"], is_verbose, rival)
    with unchanged_on_failure(model):
        before = steps_taken(model.optimizer)
        trains_on = sets_rate(config) and not is_given
        if epochs is not None:
            limit = None
        stop = limit and limit.callback(reserve_for_finish(limit, windows, batch_size, trains_on))
        if is_new:
            adapt_layers(model, windows.training_rows)
        given = {"callbacks": callbacks, "verbose": verbose}
        history = fit_model(windows, training, stop, checkpoint, **given)
        verdict = guard and guard.check(history)
        steps = steps_taken(model.optimizer) - before if trains_on else 0
        finished = finish(windows, steps, batch_size, is_verbose, limit)
        all_rows, dependence, num_forecasts = finished
        if not is_given and heads.of(model).num_spreads > 0:
            report_unmeasured_spread(windows, None if published else epochs, num_forecasts)
        if limit is not None:
            limit.warn_if_exceeded()
        return windows, all_rows.trained, history, dependence, verdict


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
    seen = {"trained": trained, "chosen_by": chosen_by}
    for part, ends in seen.items():
        ends = {} if history is None else ends  # baselines and epochs=0 use no training rows
        before = getattr(state, part, {})
        later = {name: max(end, before.get(name, end)) for name, end in ends.items()}
        seen[part] = before | later
    return seen
