"""From panels to a trained model: build, compile, fit; a fit that fails changes nothing."""

import contextlib
import itertools
import zlib

import keras
import numpy as np

from kerastrans.data.batches import Endless
from kerastrans.data.cuts import training_cuts
from kerastrans.data.panel_windows import Windows
from kerastrans.data.partitions import stream_batches
from kerastrans.decoding.graph import history_input
from kerastrans.forecasting.building import compile_model
from kerastrans.forecasting.checkpoint import Checkpoint
from kerastrans.forecasting.fitted import BATCH
from kerastrans.forecasting.patience import Patience
from kerastrans.forecasting.stored import written
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
        history=history_input(model).name,
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
        self.num_series = self.longest = self.checksum = 0
        for number in range(len(panels)):
            panel = panels[number]
            self.faults |= panel.faults
            self.longest = max(self.longest, int((panel.cuts - panel.begins).max()))
            ends = panel.numbers(np.arange(len(panel)), panel.cuts - validation_size)
            self.trained |= dict(zip(map(str, panel.names[:, 0]), ends.tolist(), strict=True))
            self.num_series += len(panel)
            self.counts.append([len(part) for part in self.windows(number, panel)])
            for values in (panel.values, panel.past, panel.future, panel.static, panel.cuts):
                self.checksum = zlib.crc32(np.ascontiguousarray(values), self.checksum)

    def __len__(self):
        return self.num_series

    def windows(self, number, panel=None):
        """Training windows and validation windows of one panel."""
        panel = self.panels[number] if panel is None else panel
        size = self.config.context_length, self.config.prediction_length
        cuts = training_cuts(panel, *size, self.stride, held_out=self.validation_size)
        return [windows_of(self.config, self.model, panel, *part) for part in cuts]

    def steps(self, part, batch_size):
        """How many batches an epoch of the training (0) or the validation part (1) has."""
        sizes = [counts[part] for counts in self.counts]
        return sum(-(-size // min(batch_size, size)) for size in sizes if size)

    def batches(self, part, batch_size, first=0):
        """Batches of the training (0) or the validation part (1), epoch after epoch.

        Args:
            part: 0 or 1.
            batch_size: int.
            first: int, number of the first batch of a training that goes on.
        """
        is_training, seed = part == 0, self.config.seed
        if len(self.panels) == 1:
            windows = self.windows(0)[part]
            return windows.batches(
                batch_size, shuffle=is_training, seed=seed, first=first if is_training else None
            )
        chosen = [number for number, counts in enumerate(self.counts) if counts[part]]
        steps = self.steps(part, batch_size)

        def stream(number):
            epoch, skipped = divmod(number, steps)
            batches = stream_batches(
                chosen, lambda x: self.windows(x)[part], batch_size, is_training, seed, epoch
            )
            return itertools.islice(batches, skipped, None)

        return Endless(stream, first)

    def facts(self):
        """What makes these examples what they are, as JSON holds it, see `Checkpoint`."""
        return {
            **written(self.config.arguments() | {"model": self.config.name}),
            "stride": self.stride,
            "validation_size": self.validation_size,
            "precision": keras.config.dtype_policy().name,
            "data": self.checksum,
        }


def train(
    config, model, panels, *, validation_size, stride, batch_size, epochs, checkpoint=None, **kwargs
):
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
    if checkpoint is not None:
        settings = {"batch_size": batch_size, "epochs": epochs}
        checkpoint = Checkpoint(checkpoint, examples.facts() | settings)
    return examples, fit_model(examples, batch_size, epochs, checkpoint, **kwargs)


def fit_model(examples, batch_size, epochs=None, checkpoint=None, **kwargs):
    """Train the model of some examples; returns Keras's history.

    Raises:
        ValueError: no window to train on or to validate on; weights that are no longer finite.
        ValueError: a checkpoint of another training.
    """
    config, model, held_out = examples.config, examples.model, examples.validation_size
    if not examples.steps(0, batch_size):
        raise ValueError(
            f"no window to train on: the longest series has {examples.longest} steps, {held_out} "
            f"of them held out, and prediction_length is {config.prediction_length}."
        )
    if held_out:
        kwargs["validation_steps"] = examples.steps(1, BATCH)
        if not kwargs["validation_steps"]:
            raise ValueError(
                f"no window to validate on: validation_size={held_out} holds none with a known "
                "value."
            )
        kwargs["validation_data"] = examples.batches(1, BATCH)
    patience = Patience() if epochs is None else None
    callbacks = [*(kwargs.pop("callbacks", None) or ()), patience, checkpoint]
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
                checkpoint.path.unlink()
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
