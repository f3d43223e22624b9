"""When training ends by itself: the held-out part stops improving, and the best epoch stays."""

import keras
import numpy as np


class Patience(keras.callbacks.Callback):
    """Ends training where the monitored loss has stopped improving, and keeps the best weights.

    Unlike `keras.callbacks.EarlyStopping` it can be resumed: all that
    it knows is the history of the loss, and the weights of the best epoch.

    Args:
        patience: int, epochs without a better loss after which the training ends.
    """

    def __init__(self, patience=5):
        super().__init__()
        self.patience = patience
        self.losses = []
        self.best_weights = None

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
        return bool(self.losses) and (
            not np.isfinite(self.losses[-1])
            or len(self.losses) - 1 - self.best_epoch >= self.patience
        )

    @property
    def best_epoch(self):
        """Number of the best epoch, from 0."""
        return int(np.argmin(self.losses))

    def on_epoch_end(self, epoch, logs=None):
        """Compare the epoch's loss with the best."""
        logs = logs or {}
        loss = logs.get("val_loss", logs.get("loss", np.inf))
        self.losses.append(float(loss) if np.isfinite(loss) else np.inf)
        if self.best_epoch == len(self.losses) - 1:
            self.best_weights = self.model.get_weights()
        self.model.stop_training = self.model.stop_training or self.is_over

    def on_train_end(self, logs=None):
        """Go back to the best epoch."""
        if self.best_weights is not None:
            self.model.set_weights(self.best_weights)
