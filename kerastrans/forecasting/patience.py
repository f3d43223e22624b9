"""When training ends by itself: the held-out part stops improving, and the best epoch stays."""

import keras
import numpy as np


class Patience(keras.callbacks.Callback):
    """Ends training where the monitored loss has stopped improving, and keeps the best weights.

    Unlike `keras.callbacks.EarlyStopping` it can go on where a training was interrupted: all that
    it knows is the history of the loss, and the weights of the best epoch.

    Args:
        patience: int, epochs without a better loss after which the training ends.
        losses: list of the losses of epochs that ran before, as after an interruption.
        best_weights: list of arrays, of the best of those epochs.
    """

    def __init__(self, patience=5, losses=(), best_weights=None):
        super().__init__()
        self.patience = patience
        self.losses = list(losses)
        self.best_weights = best_weights

    @property
    def best_epoch(self):
        """Number of the best epoch, from 0."""
        return int(np.argmin(self.losses))

    def on_epoch_end(self, epoch, logs=None):
        """Compare the epoch's loss with the best."""
        logs = logs or {}
        loss = logs.get("val_loss", logs.get("loss", np.inf))
        if not np.isfinite(loss):
            loss = np.inf
            self.model.stop_training = True
        self.losses.append(float(loss))
        if self.best_epoch == len(self.losses) - 1:
            self.best_weights = self.model.get_weights()
        if len(self.losses) - 1 - self.best_epoch >= self.patience:
            self.model.stop_training = True

    def on_train_end(self, logs=None):
        """Go back to the best epoch."""
        if self.best_weights is not None:
            self.model.set_weights(self.best_weights)
