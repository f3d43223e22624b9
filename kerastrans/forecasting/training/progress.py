"""Progress of a training: one line per epoch."""

import time

import keras


class Progress(keras.callbacks.Callback):
    """Prints the losses of each epoch, the best epoch so far, and the longest remaining time.

    Args:
        early_stopping: `EarlyStopping` of the training.
        epochs: int, largest number of epochs.
    """

    def __init__(self, early_stopping, epochs):
        super().__init__()
        self.early_stopping, self.epochs = early_stopping, epochs

    def on_epoch_end(self, epoch, logs=None):
        """Print the line of this epoch."""
        now = time.monotonic()
        seconds, done = now - self.early_stopping.began, epoch - self.early_stopping.first_epoch
        if not done:
            self.second_epoch = now  # the first one compiled
        pace = (now - self.second_epoch) / done if done else seconds
        left = (self.epochs - epoch - 1) * pace
        if self.early_stopping.seconds is not None:
            left = min(left, max(self.early_stopping.seconds - seconds, 0))
        losses = ", ".join(
            f"{_NAMES[name]} {value:.4g}" for name, value in (logs or {}).items() if name in _NAMES
        )
        best = self.early_stopping.best_epoch + 1
        end = "the end" if self.model.stop_training else f"at most {_duration(left)} left"
        print(f"epoch {epoch + 1}: {losses}; best epoch {best}; {_duration(seconds)}, {end}")


_NAMES = {"loss": "loss", "val_loss": "held-out loss"}


def _duration(seconds):
    """Return seconds in a readable unit."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
