"""How a model opens and closes: its history is normalised, and its forecast is brought back."""

from dataclasses import dataclass

import keras
from keras import ops

from kerastrans.layers import MissingHistory, ReversibleInstanceNormalization


@dataclass(frozen=True)
class Window:
    """A model's history, and what turns its forecast into the units of that history.

    Attributes:
        history: input `(batch, context_length, num_channels)`, NaN where a value is missing.
        values: the same, normalised, 0 where a value is missing.
        normalization: `ReversibleInstanceNormalization`.
        statistics: `(batch, 2, num_channels)`, centre and scale.
    """

    history: keras.KerasTensor
    values: keras.KerasTensor
    normalization: ReversibleInstanceNormalization
    statistics: keras.KerasTensor

    def last_value(self, prediction_length):
        """Last known value of each channel at every step to come, on the scale of `values`.

        `(batch, prediction_length, num_channels)`, for the `shift` of `forecast`.
        """
        normalization = ReversibleInstanceNormalization("last", None, name="last_value")
        _, statistics = normalization(self.history)
        level = (statistics[:, :1] - self.statistics[:, :1]) / self.statistics[:, 1:]
        return ops.repeat(level, prediction_length, axis=1)

    def inputs(self, covariates):
        """What the model is called with: the history, or a dict of it and the `covariates`."""
        return {"history": self.history, **covariates} if covariates else self.history

    def forecast(self, x, head, prediction_length, shift=None):
        """The end of the model: a head applied to raw values, see `Head.forecast`."""
        if head.sees_missing:
            x = MissingHistory()(head.split(x, prediction_length), self.history)
        undo = () if self.normalization.is_identity else (self.normalization, self.statistics)
        return head.forecast(x, prediction_length, *undo, shift=shift)


def open_window(
    context_length, num_channels, head, *, center=None, scale=None, affine=False, fill=True
):
    """The start of a model: an input for the history, normalised, as a `Window`.

    The normalisation is that of the architecture, see `ReversibleInstanceNormalization`; by
    default windows stay as they are. Counts come unscaled, and every architecture divides them by
    the mean of their window, or by 1, the unit of counts, if that is greater: a centre that is
    taken off and put back would leave no room for means near 0.

    Args:
        context_length: int, steps of history.
        num_channels: int, values at each step.
        head: the model's head.
        center: what is subtracted from a window.
        scale: what a window is divided by.
        affine: bool, whether a learnt scale and offset per channel follow.
        fill: bool, whether a missing value becomes 0.

    Example:
        >>> from kerastrans.heads import PointHead
        >>> open_window(24, 3, PointHead(), center="mean", scale="std").values.shape
        (None, 24, 3)

    Source: Salinas et al. (2020), section 3.3, for the scale of counts.
    """
    floor = 0.0
    if not head.takes_scaled_windows:
        center, scale, floor = None, "mean_abs", 1.0
    normalization = ReversibleInstanceNormalization(
        center, scale, affine, floor=floor, fill=fill, name="window"
    )
    history = keras.Input((context_length, num_channels), name="history")
    values, statistics = normalization(history)
    return Window(history, values, normalization, statistics)
