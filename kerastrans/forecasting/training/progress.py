"""A line an epoch that says how far a training is."""

import time

import keras


class Progress(keras.callbacks.Callback):
    """Prints the losses of each epoch, the best so far, and how long it can still take.

    Args:
        patience: `Patience` of the training.
        epochs: int, after which it ends at the latest.
    """

    def __init__(self, patience, epochs):
        super().__init__()
        self.patience, self.epochs = patience, epochs

    def on_epoch_end(self, epoch, logs=None):
        """Print the line of this epoch."""
        now = time.monotonic()
        seconds, done = now - self.patience.began, epoch - self.patience.first_epoch
        if not done:
            self.second_epoch = now  # the first one compiled
        pace = (now - self.second_epoch) / done if done else seconds
        left = (self.epochs - epoch - 1) * pace
        if self.patience.seconds is not None:
            left = min(left, max(self.patience.seconds - seconds, 0))
        losses = ", ".join(
            f"{_NAMES[name]} {value:.4g}" for name, value in (logs or {}).items() if name in _NAMES
        )
        best = self.patience.best_epoch + 1
        end = "the end" if self.model.stop_training else f"at most {_duration(left)} left"
        print(f"epoch {epoch + 1}: {losses}; best epoch {best}; {_duration(seconds)}, {end}")


_NAMES = {"loss": "loss", "val_loss": "held-out loss"}


def _duration(seconds):
    """Seconds as a person reads them."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
