"""Training loop: `fit` of Keras, with early stopping if the number of epochs is not given."""

import contextlib

import keras
import numpy as np

from kerastrans.forecasting.training.early_stopping import EarlyStopping, Progress
from kerastrans.utils.batch_sizes import BATCH
from kerastrans.utils.keras_internals import all_layers, seed_generators

MAX_EPOCHS = 100  # with early stopping, as the following
MAX_STEPS_PER_EPOCH = 250  # so that the loss of large data is monitored often, too
MIN_PATIENCE_STEPS = 100  # training steps without improvement; 3 to 10 epochs


class DivergedError(ValueError):
    """A training left weights that are no longer finite."""


def sets_rate(config):
    """Return whether early stopping sets the learning rate: not that of a given optimizer."""
    return config.optimizer == "adam" and not config.is_built


def steps_taken(optimizer):
    """Return the number of training steps of an optimizer so far; 0 if it is None."""
    return int(keras.ops.convert_to_numpy(optimizer.iterations)) if optimizer else 0


def was_trained(model):
    """Return whether the weights of a given Keras model were trained with its layers as they are.

    A model counts as trained if its optimizer has taken a step, or if a layer that is adapted to
    training rows has weights from a file, from which the other layers then have theirs, too.
    """
    is_loaded = any(getattr(layer, "is_loaded", False) for layer in all_layers(model))
    return is_loaded or steps_taken(getattr(model, "optimizer", None)) > 0


def fit_model(windows, training, stop=None, checkpoint=None, *, callbacks=None, verbose=None):
    """Train the model of some windows, and return the history of Keras.

    Args:
        windows: `TrainingWindows`.
        training: `Training`.
        stop: `StopInTime`, or None.
        checkpoint: `Checkpoint`, or None.
        callbacks: Callback of Keras, or list of them, or None.
        verbose: See `keras.Model.fit`; None for a line for each epoch of early stopping.

    Raises:
        ValueError: If there is no window to train on or to validate on.
        DivergedError: If weights are no longer finite.
        ValueError: If the checkpoint belongs to another training.
    """
    config, model, held_out = windows.config, windows.model, windows.data.held_out.steps
    source = "validation" if windows.data.validation else f"validation_size={held_out}"
    batch_size, epochs = training.batch_size, training.epochs
    steps_per_epoch = training.steps_per_epoch or windows.steps(0, batch_size)
    kwargs = {}
    if not windows.steps(0, batch_size):
        raise ValueError(
            f"no window to train on: the longest series has {windows.longest} steps, {held_out} "
            f"of them held out, and prediction_length is {config.prediction_length}."
        )
    if windows.has_validation:
        size = training.validation_batch_size or BATCH
        steps = windows.steps(1, size)
        if not steps:
            raise ValueError(
                f"no window to validate on: {source} holds no {config.prediction_length} steps of "
                "a series with a known value."
            )
        kwargs["validation_steps"] = min(steps, training.validation_steps or steps)
        kwargs["validation_data"] = windows.batches(1, size)
        kwargs["validation_freq"] = training.validation_freq
    early_stopping = progress = None
    if epochs is None:
        if training.steps_per_epoch is None:
            steps_per_epoch = min(MAX_STEPS_PER_EPOCH, steps_per_epoch)
        decays = 2 if sets_rate(config) else 0
        patience = int(np.clip(-(-MIN_PATIENCE_STEPS // steps_per_epoch), 3, 10))
        early_stopping = EarlyStopping(patience, decays)
        if verbose is None:
            progress, verbose = Progress(early_stopping, MAX_EPOCHS, stop and stop.limit), 0
    given = callbacks or ()
    given = given if isinstance(given, list | tuple) else (given,)
    callbacks = [*given, stop, early_stopping, progress, checkpoint]
    seed_generators(model, config.seed)
    # If the first step built it, TensorFlow would trace that step again, without new variables.
    model.optimizer.build(model.trainable_variables)
    epochs_before = checkpoint.restore(model, early_stopping) if checkpoint is not None else 0
    if early_stopping is not None and early_stopping.is_over:
        epochs = epochs_before
    history = model.fit(
        windows.batches(0, batch_size, epochs_before * steps_per_epoch),
        shuffle=False,
        initial_epoch=epochs_before,
        epochs=MAX_EPOCHS if epochs is None else epochs,
        steps_per_epoch=steps_per_epoch,
        callbacks=[callback for callback in callbacks if callback is not None],
        verbose="auto" if verbose is None else verbose,
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
    """Context manager that restores weights and optimizer after an error inside.

    It yields a function that restores them, too.
    """
    variables = [*model.variables, *model.optimizer.variables]
    values = [keras.ops.convert_to_numpy(variable) for variable in variables]
    was_built = model.optimizer.built

    def restore():
        for variable, value in zip(variables, values, strict=True):
            variable.assign(value)
        if not was_built and model.optimizer.built:
            # As it was compiled, with its metrics and a new optimizer.
            model.optimizer = type(model.optimizer).from_config(model.optimizer.get_config())

    try:
        yield restore
    except BaseException:
        restore()
        raise
