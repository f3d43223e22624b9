"""From panels to a trained model: build, compile, fit; a fit that fails changes nothing."""

import contextlib

import keras
import numpy as np

from kerastrans.data.cuts import training_cuts
from kerastrans.data.panel_windows import Windows
from kerastrans.data.partitions import stream_batches
from kerastrans.forecasting.building import compile_model
from kerastrans.forecasting.fitted import BATCH
from kerastrans.forecasting.patience import Patience
from kerastrans.utils.validation import check_positive_integers

EPOCHS = 50  # at most, where the held-out part of each series ends the training


_REPLACED = {
    "validation_split": "validation_size, the last steps of each series",
    "validation_data": "validation_size, the last steps of each series",
    "learning_rate": "Forecaster(..., optimizer=keras.optimizers.Adam(learning_rate))",
    "shuffle": "seed: windows are always shuffled",
    "x": "a frame",
    "y": "a frame",
    "loss": "Forecaster(..., loss=...)",
    "optimizer": "Forecaster(..., optimizer=...)",
}


def check_options(config, validation_size, stride, batch_size, epochs, kwargs):
    """Raise ValueError for arguments of `fit` that it does not take, or that cannot be."""
    for name in sorted(set(kwargs) & set(_REPLACED)):
        raise ValueError(f"fit takes no {name!r}: use {_REPLACED[name]}.")
    check_positive_integers(stride=stride, batch_size=batch_size)
    if epochs not in (None, 0):
        check_positive_integers(epochs=epochs)
    if validation_size:
        check_positive_integers(validation_size=validation_size)
        if validation_size < config.prediction_length:
            raise ValueError(
                f"validation_size={validation_size} holds no whole forecast of "
                f"prediction_length={config.prediction_length} steps: give at least that many."
            )


def windows_of(config, model, panel, series, cuts):
    """`Windows` of a panel as this model takes them."""
    names = {tensor.name for tensor in model.inputs}
    return Windows(
        panel,
        config.context_length,
        config.prediction_length,
        series,
        cuts,
        scaler=config.scaler,
        fill=config.fill,
        calendar=config.calendar,
        position="position" in names,
        decoder="decoder_inputs" in names,
    )


class Examples:
    """The windows of some panels that train, or that validate.

    Args:
        config: `Config`.
        model: Keras model.
        panels: sequence of `Panel`, each read when it is asked for.
        stride: int, steps from one training window to the next.
        validation_size: int, last steps of each series that are held out.
    """

    def __init__(self, config, model, panels, stride, validation_size):
        self.config, self.model, self.panels = config, model, panels
        self.stride, self.validation_size = stride, validation_size
        self.trained, self.faults, self.counts = {}, {}, []
        self.num_series = self.longest = 0
        for number in range(len(panels)):
            panel = panels[number]
            self.faults |= panel.faults
            self.longest = max(self.longest, int((panel.cuts - panel.begins).max()))
            ends = panel.numbers(np.arange(len(panel)), panel.cuts - validation_size)
            self.trained |= dict(zip(map(str, panel.names[:, 0]), ends.tolist(), strict=True))
            self.num_series += len(panel)
            self.counts.append([len(part) for part in self.windows(number, panel)])

    def __len__(self):
        return self.num_series

    def windows(self, number, panel=None):
        """Training windows and validation windows of one panel."""
        panel = self.panels[number] if panel is None else panel
        size = self.config.context_length, self.config.prediction_length
        cuts = training_cuts(panel, *size, self.stride, held_out=self.validation_size)
        return [windows_of(self.config, self.model, panel, *part) for part in cuts]

    def batches(self, part, batch_size):
        """Batches of the training (0) or the validation part (1), and how many an epoch has.

        The number is None where the batches know it. None for no window at all.
        """
        chosen = [number for number, counts in enumerate(self.counts) if counts[part]]
        if not chosen:
            return None, None
        shuffle, seed = part == 0, self.config.seed
        if len(self.panels) == 1:
            windows = self.windows(0)[part]
            return windows.batches(batch_size, shuffle=shuffle, seed=seed), None
        sizes = [self.counts[number][part] for number in chosen]
        steps = sum(-(-size // min(batch_size, size)) for size in sizes)
        stream = stream_batches(
            chosen, lambda number: self.windows(number)[part], batch_size, shuffle, seed
        )
        return stream, steps


def train(config, model, panels, *, validation_size, stride, batch_size, epochs, **kwargs):
    """Train a model on some panels.

    Returns:
        `Examples`, and Keras's history; None for a model without weights.
    """
    held_out = validation_size or 0
    if validation_size is None and epochs is None:
        held_out = config.prediction_length
    examples = Examples(config, model, panels, stride, held_out)
    if not model.trainable_weights or epochs == 0:
        return examples, None
    if validation_size is None and not any(training for training, _ in examples.counts):
        examples = Examples(config, model, panels, stride, 0)  # too short to hold any step out
    return examples, fit_model(examples, batch_size=batch_size, epochs=epochs, **kwargs)


def fit_model(examples, *, batch_size, epochs=None, **kwargs):
    """Train the model of some examples; returns Keras's history.

    Raises:
        ValueError: no window to train on or to validate on; weights that are no longer finite.
    """
    config, model, held_out = examples.config, examples.model, examples.validation_size
    batches, steps = examples.batches(0, batch_size)
    if batches is None:
        raise ValueError(
            f"no window to train on: the longest series has {examples.longest} steps, {held_out} "
            f"of them held out, and prediction_length is {config.prediction_length}."
        )
    if steps is not None:
        kwargs["steps_per_epoch"] = kwargs.get("steps_per_epoch", steps)
    if held_out:
        validation, steps = examples.batches(1, BATCH)
        if validation is None:
            raise ValueError(
                f"no window to validate on: validation_size={held_out} holds none with a known "
                "value."
            )
        kwargs["validation_data"] = validation
        if steps is not None:
            kwargs["validation_steps"] = steps
    callbacks = list(kwargs.pop("callbacks", None) or ())
    if epochs is None:
        callbacks.append(Patience())
        epochs = EPOCHS
    if not model.compiled:
        compile_model(config, model)
    with unchanged_on_failure(model):
        history = model.fit(batches, shuffle=False, epochs=epochs, callbacks=callbacks, **kwargs)
        if not all(np.isfinite(weights).all() for weights in model.get_weights()):
            raise ValueError(
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
