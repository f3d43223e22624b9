"""Early stopping with learning-rate decay that restores the best weights."""

import keras
import numpy as np

DECAY = 0.3  # factor of the learning rate after each return to the best epoch


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
