"""Models that forecast a block of steps from a window of fixed length, and the next from both."""

import numpy as np
from keras import ops

from kerastrans.layers import LinearInterpolation
from kerastrans.models.pretrained.base import PretrainedModel
from kerastrans.models.pretrained.scaling import place_of, rescaled
from kerastrans.utils.validation import check_choice

MIN_RANGE = 1e-5  # smallest divisor of a series


class BlockModel(PretrainedModel):
    """A model whose network forecasts one block of steps from the last `max_context` steps.

    For a longer horizon the median of each block is appended to the history as observed values. A
    subclass defines `filled` and `block`.

    Attributes:
        horizon: int, number of steps of a block.
        middle: int, place of the median in `levels`.
    """

    def __init__(self, network, levels, max_context, horizon):
        super().__init__(network, levels, max_context)
        self.usual_context = self.max_context  # every history is padded to it, at the same cost
        self.horizon = horizon
        self.middle = place_of(self.levels, 0.5)

    def padded_length(self, length):
        return self.max_context

    def filled(self, history):
        """Return a history without missing steps, and 1 for its observed values, 0 elsewhere."""
        raise NotImplementedError

    def block(self, values, observed):
        """Forecast a block from `filled` values, `(batch, horizon, levels)` in their units."""
        raise NotImplementedError

    def quantiles(self, history, prediction_length):
        filled = self.filled(history[:, -self.max_context :])
        return self.rollout(*filled, prediction_length)

    def rollout(self, values, observed, prediction_length):
        """Forecast `filled` values, `(batch, prediction_length, levels)` in their units."""
        blocks = []
        while len(blocks) * self.horizon < prediction_length:
            window = (x[:, -self.max_context :] for x in (values, observed))
            blocks.append(self.block(*window))
            median = blocks[-1][..., self.middle]
            values = ops.concatenate([values, median], axis=1)
            observed = ops.concatenate([observed, ops.ones_like(median)], axis=1)
        return ops.concatenate(blocks, axis=1)[:, :prediction_length]


class InterpolatedBlockModel(BlockModel):
    """A `BlockModel` that sees no missing steps, and scales a window to [0, 1] by its range.

    Missing steps are interpolated linearly. Short histories begin with their first known value.
    Quantiles are sorted.

    Args:
        network: Keras model from `(batch, max_context)` to `(batch, horizon, levels)`.
        levels: Tuple of float, the trained quantile levels.
        max_context: int, number of steps of a window.
        horizon: int, number of steps of a block.
        flip_invariance: bool, option; whether to average each forecast with the negative forecast
            of the negative history, at twice the cost.
    """

    option_names = ("flip_invariance",)
    equivariance = "affine"  # of windows with a range above `MIN_RANGE`
    largest = None  # limit of forecasts of scaled windows

    def __init__(self, network, levels, max_context, horizon, flip_invariance=False):
        check_choice("flip_invariance", flip_invariance, (True, False))
        super().__init__(network, levels, max_context, horizon)
        self.flip_invariance = flip_invariance

    def _with(self, flip_invariance):
        sizes = (self.max_context, self.horizon)
        return type(self)(self.network, self.levels, *sizes, flip_invariance=flip_invariance)

    def quantiles(self, history, prediction_length):
        return ops.sort(super().quantiles(history, prediction_length), axis=-1)

    def rollout(self, values, observed, prediction_length):
        x = super().rollout(values, observed, prediction_length)
        if self.flip_invariance:
            negative = super().rollout(-values, observed, prediction_length)
            x = (x - ops.flip(negative, axis=-1)) / 2
        return x

    def filled(self, history):
        values, _ = LinearInterpolation()(history)
        steps = np.arange(values.shape[1] - self.max_context, values.shape[1])
        values = ops.take(values, np.maximum(steps, 0), axis=1)  # begins with the first value
        return values, ops.ones_like(values)

    def block(self, values, observed):
        lowest = ops.min(values, axis=1, keepdims=True)
        width = ops.maximum(ops.max(values, axis=1, keepdims=True) - lowest, MIN_RANGE)
        x = self.network((values - lowest) / width)
        if self.largest is not None:
            x = ops.clip(x, -self.largest, self.largest)
        return rescaled(x, lowest, width)
