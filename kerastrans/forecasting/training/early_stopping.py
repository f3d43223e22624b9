"""When training ends by itself: the held-out part stops improving, and the best epoch stays."""

import time

import keras
import numpy as np

DECAY = 0.3  # of the learning rate, where it goes on from the best epoch


class Patience(keras.callbacks.Callback):
    """Goes back to the best weights where the monitored loss stops improving, and ends in time.

    At first with a lower learning rate, `decays` times; then the training ends, with the weights
    of the best epoch. Unlike `keras.callbacks.EarlyStopping` and `ReduceLROnPlateau` it can be
    resumed: all that it knows is the history of the loss, and the weights of the best epoch.

    Args:
        patience: int, epochs without a better loss after which it goes back.
        decays: int, how often the rate is lowered before the training ends.
        seconds: float, after which the training ends with the epoch that is running; None for as
            long as it takes. What was before an interruption does not count.
    """

    def __init__(self, patience=5, decays=0, seconds=None):
        super().__init__()
        self.patience, self.decays, self.seconds = patience, decays, seconds
        self.losses = []
        self.best_weights = None
        self.is_late = False
        self.first_epoch = 0

    def resume(self, losses, best_weights):
        """Continue a training that was interrupted.

        Args:
            losses: list of the losses of its epochs.
            best_weights: list of arrays, of the best of them.
        """
        self.losses, self.best_weights = list(losses), best_weights

    @property
    def is_over(self):
        """Whether the training has to end."""
        is_broken = bool(self.losses) and not np.isfinite(self.losses[-1])
        return is_broken or len(self._returns()) > self.decays or self.is_late

    @property
    def best_epoch(self):
        """Number of the best epoch, from 0."""
        return int(np.argmin(self.losses))

    def _returns(self):
        """Epochs after which the loss had not improved for as long as `patience` says."""
        best, last, returns = np.inf, 0, []
        for epoch, loss in enumerate(self.losses):
            if loss < best:
                best, last = loss, epoch
            elif epoch - last >= self.patience:
                returns.append(epoch)
                last = epoch
        return returns

    def on_train_begin(self, logs=None):
        """Remember when the training began."""
        self.began, self.first_epoch = time.monotonic(), len(self.losses)

    def on_epoch_end(self, epoch, logs=None):
        """Compare the epoch's loss with the best."""
        logs = logs or {}
        loss = logs.get("val_loss", logs.get("loss", np.inf))
        self.losses.append(float(loss) if np.isfinite(loss) else np.inf)
        if self.best_epoch == len(self.losses) - 1:
            self.best_weights = self.model.get_weights()
        if self.seconds is not None:
            self.is_late = time.monotonic() - self.began >= self.seconds
        if self.is_over:
            self.model.stop_training = True
        elif epoch in self._returns():
            self.model.set_weights(self.best_weights)
            optimizer = self.model.optimizer
            optimizer.learning_rate = float(optimizer.learning_rate) * DECAY

    def on_train_end(self, logs=None):
        """Go back to the best epoch, and to the rate that the training began with."""
        if self.best_weights is not None:
            self.model.set_weights(self.best_weights)
        lowered = min(len(self._returns()), self.decays)
        if lowered:
            optimizer = self.model.optimizer
            optimizer.learning_rate = float(optimizer.learning_rate) / DECAY**lowered
