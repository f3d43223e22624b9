"""Early stopping with learning-rate decay, and the lines that report its progress."""

from time import monotonic

import keras
import numpy as np

from kerastrans.forecasting.training.fine_tuning import count_trainable

DECAY = 0.3  # factor of the learning rate after each return to the best epoch
_LOSSES = {"loss": "loss", "val_loss": "held-out loss"}


class EarlyStopping(keras.callbacks.Callback):
    """Early stopping with learning-rate decay that restores the best weights.

    If the monitored loss does not improve for `patience` epochs, training continues from the best
    weights with a lower learning rate, `decays` times, and then stops with the best weights. Unlike
    `keras.callbacks.EarlyStopping` and `ReduceLROnPlateau`, it can be resumed: its state is the
    history of the loss and the weights of the best epoch.

    Args:
        patience: int, number of epochs without improvement before it returns to the best weights.
        decays: int, number of times that the learning rate is lowered.
    """

    def __init__(self, patience=5, decays=0):
        super().__init__()
        self.patience, self.decays = patience, decays
        self.losses = []
        self.best_weights = None

    def resume(self, losses, best_weights):
        """Continue a training that was interrupted.

        Args:
            losses: List of the losses of its epochs.
            best_weights: List of arrays, the weights after the best epoch.
        """
        self.losses, self.best_weights = list(losses), best_weights

    @property
    def is_over(self):
        """Whether training has to stop."""
        is_broken = bool(self.losses) and not np.isfinite(self.losses[-1])
        return is_broken or len(self._returns()) > self.decays

    @property
    def best_epoch(self):
        """Number of the best epoch, from 0."""
        return int(np.argmin(self.losses))

    def _returns(self):
        """Return the epochs after which the loss had not improved for `patience` epochs."""
        best, last, returns = np.inf, 0, []
        for epoch, loss in enumerate(self.losses):
            if loss < best:
                best, last = loss, epoch
            elif epoch - last >= self.patience:
                returns.append(epoch)
                last = epoch
        return returns

    def on_epoch_end(self, epoch, logs=None):
        """Compare the loss of the epoch with the best."""
        logs = logs or {}
        loss = logs.get("val_loss", logs.get("loss", np.inf))
        self.losses.append(float(loss) if np.isfinite(loss) else np.inf)
        if self.best_epoch == len(self.losses) - 1:
            self.best_weights = self.model.get_weights()
        if self.is_over:
            self.model.stop_training = True
        elif epoch in self._returns():
            self.model.set_weights(self.best_weights)
            optimizer = self.model.optimizer
            optimizer.learning_rate = float(optimizer.learning_rate) * DECAY

    def on_train_end(self, logs=None):
        """Restore the best weights and the initial learning rate."""
        if self.best_weights is not None:
            self.model.set_weights(self.best_weights)
        lowered = min(len(self._returns()), self.decays)
        if lowered:
            optimizer = self.model.optimizer
            optimizer.learning_rate = float(optimizer.learning_rate) / DECAY**lowered


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
        steps, weights = self.params["steps"], count_trainable(self.model)
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
            f"{_LOSSES[name]} {value:.4g}"
            for name, value in (logs or {}).items()
            if name in _LOSSES
        )
        best = self.early_stopping.best_epoch + 1
        is_last = self.model.stop_training or epoch + 1 == self.epochs
        end = "the end" if is_last else f"at most {_duration(left)} left"
        line = f"epoch {epoch + 1}: {losses}; best epoch {best}; {_duration(seconds)}, {end}"
        print(line, flush=True)


def _duration(seconds):
    """Return seconds in a readable unit."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
