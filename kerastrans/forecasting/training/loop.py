"""One training of a model: Keras's `fit`, which ends by itself where no epochs are given."""

import contextlib

import keras
import numpy as np

from kerastrans.forecasting.inference.state import BATCH
from kerastrans.forecasting.training.early_stopping import Patience
from kerastrans.forecasting.training.progress import Progress

# Where the held-out part of each series ends the training:
EPOCHS = 100  # at most
STEPS = 250  # of an epoch, at most: also of much data the loss is looked at often
PATIENT = 100  # steps without a better loss, at least, but 3 to 10 epochs


class DivergedError(ValueError):
    """A training left weights that are no longer finite."""


def sets_rate(config):
    """Whether training lowers the learning rate: an optimizer that was given is left alone."""
    return config.optimizer == "adam" and not config.is_built


def steps_taken(optimizer):
    """Training steps of an optimizer so far; 0 without one."""
    return int(keras.ops.convert_to_numpy(optimizer.iterations)) if optimizer else 0


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
        decays = 2 if sets_rate(config) else 0
        patience = Patience(int(np.clip(-(-PATIENT // steps), 3, 10)), decays, time_limit)
        if "verbose" not in kwargs:
            kwargs["verbose"], progress = 0, Progress(patience, EPOCHS)
    callbacks = [*(kwargs.pop("callbacks", None) or ()), patience, progress, checkpoint]
    kwargs["callbacks"] = [callback for callback in callbacks if callback is not None]
    kwargs.setdefault("steps_per_epoch", examples.steps(0, batch_size))
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
