"""Progress of a training: its size, and one line per epoch."""

from time import monotonic

import keras


class Progress(keras.callbacks.Callback):
    """Prints the losses of each epoch, the best epoch so far, and the longest remaining time.

    Args:
        early_stopping: `EarlyStopping` of the training.
        epochs: int, largest number of epochs.
        limit: `TimeLimit` of the training, or None.
    """

    def __init__(self, early_stopping, epochs, limit=None):
        super().__init__()
        self.early_stopping, self.epochs, self.limit = early_stopping, epochs, limit

    def on_train_begin(self, logs=None):
        """Print the size of the training, whose first step is compiled now."""
        self.began, self.first_epoch = monotonic(), len(self.early_stopping.losses)
        steps, weights = self.params["steps"], self.model.count_params()
        print(f"training {weights:,} weights, {steps} steps per epoch", flush=True)

    def on_epoch_end(self, epoch, logs=None):
        """Print the line of this epoch."""
        now = monotonic()
        seconds, done = now - self.began, epoch - self.first_epoch
        if not done:
            self.second_epoch = now  # the first one compiled
        pace = (now - self.second_epoch) / done if done else seconds
        left = (self.epochs - epoch - 1) * pace
        if self.limit is not None:
            left = min(left, max(self.limit.left, 0))
        losses = ", ".join(
            f"{_NAMES[name]} {value:.4g}" for name, value in (logs or {}).items() if name in _NAMES
        )
        best = self.early_stopping.best_epoch + 1
        is_last = self.model.stop_training or epoch + 1 == self.epochs
        end = "the end" if is_last else f"at most {_duration(left)} left"
        line = f"epoch {epoch + 1}: {losses}; best epoch {best}; {_duration(seconds)}, {end}"
        print(line, flush=True)


_NAMES = {"loss": "loss", "val_loss": "held-out loss"}


def _duration(seconds):
    """Return seconds in a readable unit."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
