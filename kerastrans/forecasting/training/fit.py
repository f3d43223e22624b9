"""Train a model on some training data; if that fails, the model is unchanged."""

import inspect
from dataclasses import replace

import keras

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
from kerastrans.utils.peer_words import answer
from kerastrans.utils.user_warnings import warn_user
from kerastrans.utils.validation import check_positive_integers

_REPLACED = {
    "validation_split": "validation_size, the last steps of each series",
    "validation_data": "validation, a frame",
    "learning_rate": "Forecaster(..., optimizer=keras.optimizers.Adam(learning_rate))",
    "shuffle": "seed: windows are always shuffled",
    "x": "a frame",
    "y": "a frame",
    "loss": "Forecaster(..., loss=...)",
    "optimizer": "Forecaster(..., optimizer=...)",
    "initial_epoch": "checkpoint, which continues a training that was interrupted",
}
_OWN = {"frame", "static", "freq", "validation", "validation_size", "stride", "time_limit"}


def check_options(config, validation_size, batch_size, epochs, time_limit, kwargs):
    """Raise ValueError for invalid arguments of `fit`, TypeError for those that are not known."""
    for name in sorted(set(kwargs) & set(_REPLACED)):
        raise ValueError(f"fit takes no {name!r}: use {_REPLACED[name]}.")
    known = set(inspect.signature(keras.Model.fit).parameters) - {"self", *_REPLACED}
    for name in sorted(set(kwargs) - known):
        raise TypeError(f"fit has no argument {name!r}: {answer(name, sorted(known | _OWN))}")
    check_positive_integers(batch_size=batch_size)
    if time_limit is not None and not time_limit > 0:
        raise ValueError(f"time_limit must be seconds above 0 or None, got {time_limit!r}.")
    if epochs is None and kwargs.get("validation_freq", 1) != 1:
        raise ValueError(
            f"validation_freq={kwargs['validation_freq']!r} and epochs=None cannot be combined: "
            "early stopping monitors every epoch. Give epochs."
        )
    if epochs not in (None, 0):
        check_positive_integers(epochs=epochs)
    if validation_size:
        check_positive_integers(validation_size=validation_size)
        if validation_size < config.prediction_length:
            raise ValueError(
                f"validation_size={validation_size} holds no whole forecast of "
                f"prediction_length={config.prediction_length} steps: give at least that many."
            )


def train(
    model,
    data,
    sampling,
    *,
    validation_size,
    batch_size,
    epochs,
    limit=None,
    checkpoint=None,
    published=None,
    rival=None,
    is_new=False,
    **kwargs,
):
    """Train a model on the windows of some data.

    The spread of the forecast is measured on the hold-out set, if there is one. If training stopped
    early, the default hold-out set is finally used for a few training steps, see `finish`.

    Args:
        model: Keras model.
        data: `TrainingData`.
        sampling: `Sampling`.
        validation_size: See `Forecaster.fit`, as the following.
        batch_size: int, number of windows in a batch.
        epochs: int, or None.
        limit: `TimeLimit` that includes `finish`, or None. It is ignored if epochs are given.
        checkpoint: Path of a folder, or None.
        published: Name of published weights, which are restored unless held-out windows favour the
            trained ones, see `Guard`; None to keep the trained ones.
        rival: `FittedState` of published weights to use instead, unless held-out windows favour the
            trained model; None to keep this one.
        is_new: bool, whether the model was not trained before, by Keras or here; then its layers
            are adapted to the training rows, see `adapt_layers`.
        **kwargs: Arguments of `keras.Model.fit`.

    Returns:
        `TrainingWindows`; dict of the training rows, as in `FittedState`; the history of Keras,
        None if nothing was trained; the `Dependence` of the errors on the hold-out set, or None;
        the verdict of the guard, or None.

    Raises:
        NotImprovedError: If the weights at the start were restored.
    """
    config = data.reader.config
    most = MAX_VALIDATION_WINDOWS if epochs is None or published else None
    windows = TrainingWindows(model, data, sampling, most)
    if config.context_length > LONG_CONTEXT * windows.longest:
        warn_user(
            f"context_length={config.context_length} is more than {LONG_CONTEXT} times as long as "
            f"the longest series, {windows.longest} rows: the rest of each window is padding."
        )
    if not model.trainable_weights or epochs == 0:
        return windows, {}, None, None, None
    parts = [windows.steps(part, batch_size) for part in (0, 1)]
    if validation_size is None and data.held_out.steps and not all(parts):
        # The steps that would be held out are too few or unknown.
        windows = TrainingWindows(model, replace(data, held_out=HeldOut()), sampling)
    is_verbose = kwargs.get("verbose", 1) != 0
    is_given = data.validation is not None or validation_size is not None
    heads.of(model).check_zeros(windows.zeros)
    report_zeros(model.loss, windows.zeros)
    if checkpoint is not None:
        steps = kwargs.get("steps_per_epoch")
        settings = {"batch_size": batch_size, "epochs": epochs, "steps_per_epoch": steps}
        settings["weights at the start"] = checksum_of(model)
        checkpoint = Checkpoint(checkpoint, windows.facts() | settings)
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
        history = fit_model(windows, batch_size, epochs, stop, checkpoint, **kwargs)
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
