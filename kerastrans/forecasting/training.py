"""From panels to a trained model: build, compile, fit; a fit that fails changes nothing."""

import contextlib

import keras
import numpy as np

from kerastrans.forecasting.building import compile_model
from kerastrans.forecasting.checkpoint import Checkpoint
from kerastrans.forecasting.defaults import VALIDATING, HeldOut
from kerastrans.forecasting.examples import Examples
from kerastrans.forecasting.fitted import BATCH
from kerastrans.forecasting.losses import report_zeros
from kerastrans.forecasting.patience import Patience
from kerastrans.forecasting.progress import Progress
from kerastrans.utils.validation import check_positive_integers

# Where the held-out part of each series ends the training:
EPOCHS = 100  # at most
STEPS = 250  # of an epoch, at most: also of much data the loss is looked at often
PATIENT = 100  # steps without a better loss, at least, but 3 to 10 epochs


class DivergedError(ValueError):
    """A training left weights that are no longer finite."""


_REPLACED = {
    "validation_split": "validation_size, the last steps of each series",
    "validation_data": "validation, a frame",
    "learning_rate": "Forecaster(..., optimizer=keras.optimizers.Adam(learning_rate))",
    "shuffle": "seed: windows are always shuffled",
    "x": "a frame",
    "y": "a frame",
    "loss": "Forecaster(..., loss=...)",
    "optimizer": "Forecaster(..., optimizer=...)",
}


def check_options(config, validation_size, batch_size, epochs, time_limit, kwargs):
    """Raise ValueError for arguments of `fit` that it does not take, or that cannot be."""
    for name in sorted(set(kwargs) & set(_REPLACED)):
        raise ValueError(f"fit takes no {name!r}: use {_REPLACED[name]}.")
    check_positive_integers(batch_size=batch_size)
    if time_limit is not None and not time_limit > 0:
        raise ValueError(f"time_limit must be seconds above 0 or None, got {time_limit!r}.")
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
    config,
    model,
    panels,
    held_out,
    sampling,
    *,
    validation_size,
    batch_size,
    epochs,
    time_limit,
    checkpoint=None,
    validation=None,
    **kwargs,
):
    """Train a model on some panels, but for what is `held_out`, or with a `Validation` of its own.

    Returns:
        `Examples`, and Keras's history; None for a model without weights.
    """
    most = VALIDATING if validation_size is None and validation is None else None
    examples = Examples(config, model, panels, held_out, sampling, most, validation)
    if not model.trainable_weights or epochs == 0:
        return examples, None
    parts = [examples.steps(part, batch_size) for part in (0, 1)]
    if validation_size is None and held_out.steps and not all(parts):
        # No known step can be held out.
        examples = Examples(config, model, panels, HeldOut(), sampling)
    report_zeros(model.loss, examples.zeros)
    if checkpoint is not None:
        steps = kwargs.get("steps_per_epoch")
        settings = {"batch_size": batch_size, "epochs": epochs, "steps_per_epoch": steps}
        checkpoint = Checkpoint(checkpoint, examples.facts() | settings)
    return examples, fit_model(examples, batch_size, epochs, time_limit, checkpoint, **kwargs)


def rows_seen(fitted, examples, history, *, has_chosen):
    """Up to where the rows of each series have trained a model, or chosen its weights.

    Args:
        fitted: `Fitted` before this training, or None.
        examples: `Examples` of the training.
        history: Keras's, None where nothing was trained.
        has_chosen: bool, whether the rows held out may have ended the training.

    Returns:
        Dict of "trained" and "chosen_by", as in `Fitted`.
    """
    chosen = examples.chosen_by if has_chosen else {}
    seen = {"trained": examples.trained, "chosen_by": chosen}
    for part, ends in seen.items():
        ends = {} if history is None else ends  # a baseline, or no epoch, trains on nothing
        before = getattr(fitted, part, {})
        later = {name: max(end, before.get(name, end)) for name, end in ends.items()}
        seen[part] = before | later
    return seen


def fit_model(examples, batch_size, epochs, time_limit, checkpoint=None, **kwargs):
    """Train the model of some examples; returns Keras's history.

    Raises:
        ValueError: no window to train on or to validate on.
        DivergedError: weights that are no longer finite.
        ValueError: a checkpoint of another training.
    """
    config, model, held_out = examples.config, examples.model, examples.held_out.steps
    source = "validation" if examples.validation else f"validation_size={held_out}"
    if not examples.steps(0, batch_size):
        raise ValueError(
            f"no window to train on: the longest series has {examples.longest} steps, {held_out} "
            f"of them held out, and prediction_length is {config.prediction_length}."
        )
    if examples.validates_any:
        kwargs["validation_steps"] = examples.steps(1, BATCH)
        if not kwargs["validation_steps"]:
            raise ValueError(
                f"no window to validate on: {source} holds no {config.prediction_length} steps of "
                "a series with a known value."
            )
        kwargs["validation_data"] = examples.batches(1, BATCH)
    patience = progress = None
    if epochs is None:
        steps = kwargs.setdefault("steps_per_epoch", min(STEPS, examples.steps(0, batch_size)))
        # An optimizer that was given is left alone.
        decays = 2 if config.optimizer == "adam" and not config.is_built else 0
        patience = Patience(int(np.clip(-(-PATIENT // steps), 3, 10)), decays, time_limit)
        if "verbose" not in kwargs:
            kwargs["verbose"], progress = 0, Progress(patience, EPOCHS)
    callbacks = [*(kwargs.pop("callbacks", None) or ()), patience, progress, checkpoint]
    kwargs["callbacks"] = [callback for callback in callbacks if callback is not None]
    kwargs.setdefault("steps_per_epoch", examples.steps(0, batch_size))
    if not model.compiled:
        compile_model(config, model)
    with unchanged_on_failure(model):
        epochs_before = checkpoint.restore(model, patience) if checkpoint is not None else 0
        if patience is not None and patience.is_over:
            epochs = epochs_before
        history = model.fit(
            examples.batches(0, batch_size, epochs_before * kwargs["steps_per_epoch"]),
            shuffle=False,
            initial_epoch=epochs_before,
            epochs=EPOCHS if epochs is None else epochs,
            **kwargs,
        )
        if checkpoint is not None:
            checkpoint.complete(history)
        if not all(np.isfinite(weights).all() for weights in model.get_weights()):
            if checkpoint is not None:
                checkpoint.path.unlink(missing_ok=True)
            raise DivergedError(
                f"the training diverged: the losses were {history.history['loss'][-3:]}. Give an "
                "optimizer with a lower learning rate, or one that clips (clipnorm=1.0)."
            )
        return history


@contextlib.contextmanager
def unchanged_on_failure(model):
    """Weights and the optimizer's state are as before if what is done inside fails."""
    variables = [*model.variables, *model.optimizer.variables]
    values = [keras.ops.convert_to_numpy(variable) for variable in variables]
    was_built = model.optimizer.built
    try:
        yield
    except BaseException:
        for variable, value in zip(variables, values, strict=True):
            variable.assign(value)
        if not was_built and model.optimizer.built:
            optimizer = type(model.optimizer).from_config(model.optimizer.get_config())
            model.compile(optimizer, model.loss)
        raise
