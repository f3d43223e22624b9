"""Checkpoint of a training: one file, replaced after every epoch, to resume from."""

import json
import os
import secrets
from pathlib import Path

import keras
import numpy as np

from kerastrans.utils.files import first_line
from kerastrans.utils.identity import differing, fingerprints

FILE = "training.npz"


class Checkpoint(keras.callbacks.Callback):
    """Writes weights, the optimizer's state, random seeds and losses after every epoch.

    The file is written under another name, which then replaces the previous file, so that there
    is a complete one at any time.

    Args:
        folder: Folder of the file, created after the first epoch.
        settings: Dict of everything that decides the training. Only a training with the same
            settings is resumed, see `fingerprint`.
    """

    def __init__(self, folder, settings):
        super().__init__()
        self.path = Path(folder) / FILE
        self.settings = fingerprints(settings)
        self.logs = {}
        self.early_stopping = None

    @property
    def epochs(self):
        """Number of finished epochs."""
        return len(self.logs.get("loss", ()))

    def restore(self, model, early_stopping=None):
        """Restore a model to the saved state, if there is one.

        Args:
            model: Keras model, compiled, with an optimizer that is built.
            early_stopping: `EarlyStopping` of the training, or None.

        Returns:
            int: the number of finished epochs.

        Raises:
            ValueError: If the file is damaged or belongs to another training. The message names
                the settings that differ.
        """
        self.early_stopping = early_stopping
        if not self.path.exists():
            return 0
        facts, state, best = self._read()
        if others := differing(facts["settings"], self.settings):
            raise ValueError(
                f"cannot resume the training in {self.path.parent}: {', '.join(others)} "
                f"differ{'s' if len(others) == 1 else ''} from the interrupted one's. Give "
                "another folder."
            )
        variables = _variables(model)
        if [value.shape for value in state] != [tuple(x.shape) for x in variables]:
            raise ValueError(f"{self.path} holds the weights of another model.")
        for variable, value in zip(variables, state, strict=True):
            variable.assign(value)
        self.logs = facts["logs"]
        if early_stopping is not None:
            early_stopping.resume(self.logs.get("val_loss", self.logs["loss"]), best)
        return self.epochs

    def on_epoch_end(self, epoch, logs=None):
        """Write the state after this epoch."""
        for name, value in (logs or {}).items():
            self.logs.setdefault(name, []).append(float(value))
        best = (self.early_stopping and self.early_stopping.best_weights) or ()
        arrays = {
            f"state_{i}": keras.ops.convert_to_numpy(x)
            for i, x in enumerate(_variables(self.model))
        }
        arrays |= {f"best_{i}": value for i, value in enumerate(best)}
        facts = {"settings": self.settings, "logs": self.logs}
        arrays["facts"] = np.frombuffer(json.dumps(facts).encode(), "uint8")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self.path.with_name(f".{secrets.token_hex(8)}.npz")
        try:
            with unfinished.open("wb") as file:
                np.savez(file, **arrays)
                file.flush()
                os.fsync(file.fileno())
            os.replace(unfinished, self.path)
        finally:
            unfinished.unlink(missing_ok=True)

    def complete(self, history):
        """Add the epochs before an interruption to the history of Keras."""
        history.history = {name: list(values) for name, values in self.logs.items()}
        history.epoch = list(range(self.epochs))

    def _read(self):
        try:
            with np.load(self.path, allow_pickle=False) as file:
                facts = json.loads(bytes(file["facts"]))
                parts = [
                    [file[f"{part}_{i}"] for i in range(sum(x.startswith(part) for x in file))]
                    for part in ("state", "best")
                ]
            return facts, *parts
        except Exception as error:  # of zipfile, NumPy and JSON: a damaged file may hold anything
            raise ValueError(f"cannot read {self.path}: {first_line(error)}.") from error


def _variables(model):
    """Return the weights, the states of random generators, and the variables of the optimizer."""
    return [*model.variables, *model.optimizer.variables]
