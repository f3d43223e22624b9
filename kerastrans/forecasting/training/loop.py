"""Training loop: `fit` of Keras, with early stopping if the number of epochs is not given."""

import contextlib

import keras
import numpy as np

from kerastrans import heads
from kerastrans.decoding.cached_decoder import forget_decoder
from kerastrans.forecasting.training.early_stopping import EarlyStopping
from kerastrans.forecasting.training.progress import Progress
from kerastrans.utils.batch_sizes import BATCH
from kerastrans.utils.keras_internals import all_layers, forget_functions, seed_generators

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

    They were if its optimizer took a step, or if the weights of a layer that is adapted to training
    rows come from a file: those of the other layers do, too.
    """
    is_loaded = any(getattr(layer, "is_loaded", False) for layer in all_layers(model))
    return is_loaded or steps_taken(getattr(model, "optimizer", None)) > 0


def fit_model(windows, batch_size, epochs, stop=None, checkpoint=None, **kwargs):
    """Train the model of some windows, and return the history of Keras.

    Args:
        windows: `TrainingWindows`.
        batch_size: int, number of windows in a batch.
        epochs: int; None for early stopping.
        stop: `StopInTime`, or None.
        checkpoint: `Checkpoint`, or None.
        **kwargs: Arguments of `keras.Model.fit`.

    Raises:
        ValueError: If there is no window to train on or to validate on.
        DivergedError: If weights are no longer finite.
        ValueError: If the checkpoint belongs to another training.
    """
    config, model, held_out = windows.config, windows.model, windows.data.held_out.steps
    source = "validation" if windows.data.validation else f"validation_size={held_out}"
    if not windows.steps(0, batch_size):
        raise ValueError(
            f"no window to train on: the longest series has {windows.longest} steps, {held_out} "
            f"of them held out, and prediction_length is {config.prediction_length}."
        )
    if windows.has_validation:
        kwargs["validation_steps"] = windows.steps(1, BATCH)
        if not kwargs["validation_steps"]:
            raise ValueError(
                f"no window to validate on: {source} holds no {config.prediction_length} steps of "
                "a series with a known value."
            )
        kwargs["validation_data"] = windows.batches(1, BATCH)
    early_stopping = progress = None
    if epochs is None:
        steps = kwargs.setdefault(
            "steps_per_epoch", min(MAX_STEPS_PER_EPOCH, windows.steps(0, batch_size))
        )
        decays = 2 if sets_rate(config) else 0
        patience = int(np.clip(-(-MIN_PATIENCE_STEPS // steps), 3, 10))
        early_stopping = EarlyStopping(patience, decays)
        if "verbose" not in kwargs:
            progress = Progress(early_stopping, MAX_EPOCHS, stop and stop.limit)
            kwargs["verbose"] = 0
    given = kwargs.pop("callbacks", None) or ()
    given = given if isinstance(given, list | tuple) else (given,)
    callbacks = [*given, stop, early_stopping, progress, checkpoint]
    kwargs["callbacks"] = [callback for callback in callbacks if callback is not None]
    kwargs.setdefault("steps_per_epoch", windows.steps(0, batch_size))
    seed_generators(model, config.seed)
    # If the first step built it, TensorFlow would trace that step again, without new variables.
    model.optimizer.build(model.trainable_variables)
    epochs_before = checkpoint.restore(model, early_stopping) if checkpoint is not None else 0
    if early_stopping is not None and early_stopping.is_over:
        epochs = epochs_before
    history = model.fit(
        windows.batches(0, batch_size, epochs_before * kwargs["steps_per_epoch"]),
        shuffle=False,
        initial_epoch=epochs_before,
        epochs=MAX_EPOCHS if epochs is None else epochs,
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
    """Context manager that restores weights, spread and optimizer after an error inside."""
    head = heads.of(model)
    spread = head.spread, head.spread_growth
    variables = [*model.variables, *model.optimizer.variables]
    values = [keras.ops.convert_to_numpy(variable) for variable in variables]
    was_built = model.optimizer.built
    try:
        yield
    except BaseException:
        for variable, value in zip(variables, values, strict=True):
            variable.assign(value)
        head.spread, head.spread_growth = spread
        forget_functions(model)  # which contain the spread
        forget_decoder(model)
        if not was_built and model.optimizer.built:
            # As it was compiled, with its metrics and a new optimizer.
            model.optimizer = type(model.optimizer).from_config(model.optimizer.get_config())
        raise
