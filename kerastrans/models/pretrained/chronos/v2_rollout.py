"""Chronos-2 from history to forecast: scaling, patches, and paths beyond the native horizon."""

import math

import keras
import numpy as np
from keras import ops

from kerastrans.layers import ObservedNormalization, ObservedValues
from kerastrans.models.pretrained.arrays import DECILES
from kerastrans.models.pretrained.scaling import (
    arcsinh,
    padded_to_patches,
    rescaled,
    sinh,
    weighted_quantiles,
)


class GroupForecast:
    """Forecasts of groups of series, on tensors, as a part of a model's graph.

    Beyond the native horizon the deciles are appended to the history as a path each. All series of
    a group follow the same decile, but where more is known of their future. The weighted quantiles
    of what all paths forecast are the forecast.

    Args:
        network: Keras model, see `chronos_2_network.build_network`.
        own: dict, see `chronos_2_network.read_own`.
    """

    def __init__(self, network, own):
        self.network = network
        self.levels = own["quantiles"]
        self.max_context = own["context_length"]
        self.patch_length = own["input_patch_size"]
        self.max_patches = own["max_output_patches"]
        self.time_scale = own["time_encoding_scale"]
        self.use_arcsinh = own["use_arcsinh"]
        self.deciles = [self.levels.index(level) for level in DECILES]
        self.path_weights = np.outer(_shares(DECILES), _shares(self.levels)).ravel()

    def quantiles(self, context, prediction_length, known=None):
        """The forecast of groups of series, `(batch, series, len(levels), prediction_length)`.

        Args:
            context: `(batch, series, context_length)`, NaN where missing.
            prediction_length: int.
            known: `(batch, known series, prediction_length)`, the future of the last series as far
                as it is known, NaN elsewhere; None if none is.
        """
        block = self.native(context, prediction_length, known)
        blocks, done = [block], block.shape[-1]
        context = ops.tile(context[:, None], (1, len(DECILES), 1, 1))
        while done < prediction_length:
            # One path a decile: (batch, paths, series, time).
            paths = ops.transpose(ops.take(block, self.deciles, axis=2), (0, 2, 1, 3))
            rest = None
            if known is not None:
                paths = _overwritten(paths, known[:, None, :, done - paths.shape[-1] : done])
                rest = _rows(ops.tile(known[:, None, :, done:], (1, len(DECILES), 1, 1)))
            context = ops.concatenate([context, paths], axis=-1)[..., -self.max_context :]
            block = self._merged(self.native(_rows(context), prediction_length - done, rest))
            blocks.append(block)
            done += block.shape[-1]
        return ops.concatenate(blocks, axis=-1)[..., :prediction_length]

    def native(self, context, prediction_length, known=None):
        """A forecast without a rollout: as many whole patches as the horizon has, at most all.

        Args:
            context: `(batch, series, context_length)`, NaN where missing.
            prediction_length: int.
            known: `(batch, known series, any)`, as in `quantiles`.

        Returns:
            `(batch, series, len(levels), steps)`.
        """
        patches = min(math.ceil(prediction_length / self.patch_length), self.max_patches)
        steps = patches * self.patch_length
        context = context[..., -self.max_context :]
        series = context.shape[1]
        values, seen, location, scale = ObservedNormalization()(context)
        values, seen = self._in_patches(self._squashed(values)), self._in_patches(seen)
        past = self._with_time(values, seen, first=-values.shape[2] * self.patch_length)
        future = self._future(known, location, scale, steps)
        future = self._with_time(*map(self._in_patches, future), first=0)
        x = self.network([past, ops.any(seen > 0, axis=-1), future])
        x = ops.reshape(x, (-1, series, patches, len(self.levels), self.patch_length))
        x = ops.transpose(x, (0, 1, 3, 2, 4))
        x = ops.reshape(x, (-1, series, len(self.levels), steps))
        return rescaled(sinh(x) if self.use_arcsinh else x, location, scale)

    def _future(self, known, location, scale, steps):
        """Scaled values and mask of the future, each `(batch, series, steps)`."""
        unknown = ops.tile(ops.zeros_like(location), (1, 1, steps))
        if known is None:
            return unknown, unknown
        count = known.shape[1]
        values, observed, _ = ObservedValues()(known[..., :steps])
        values = self._squashed((values - location[:, -count:]) / scale[:, -count:]) * observed
        widths = [(0, 0), (0, 0), (0, steps - values.shape[-1])]
        return [
            ops.concatenate([unknown[:, count:], ops.pad(x, widths)], axis=1)
            for x in (values, observed)
        ]

    def _merged(self, samples):
        """The quantiles of all paths `(batch * paths, series, levels, steps)`, paths no more."""
        _, series, levels, steps = samples.shape
        samples = ops.reshape(samples, (-1, len(DECILES), series, levels, steps))
        samples = ops.transpose(samples, (0, 2, 4, 1, 3))
        samples = ops.reshape(samples, (-1, series, steps, len(self.path_weights)))
        merged = weighted_quantiles(samples, self.path_weights, self.levels)
        return ops.transpose(merged, (0, 1, 3, 2))

    def _squashed(self, values):
        return arcsinh(values) if self.use_arcsinh else values

    def _in_patches(self, values):
        return padded_to_patches(values, self.patch_length)

    def _with_time(self, values, seen, first):
        """Patches of time, values and mask: the time of a step is counted from the forecast's."""
        count, length = values.shape[2:]
        steps = np.arange(first, first + count * length).reshape(count, length) / self.time_scale
        steps = steps.astype(keras.backend.standardize_dtype(values.dtype))
        time = ops.add(steps, ops.zeros_like(values))
        return ops.concatenate([time, values, seen], axis=-1)


def _rows(paths):
    """Paths `(batch, paths, series, time)` as groups of their own, `(batch * paths, ...)`."""
    return ops.reshape(paths, (-1, *paths.shape[2:]))


def _overwritten(paths, known):
    """Paths whose last series take the values that are known of them."""
    first = paths.shape[2] - known.shape[2]
    known, observed, _ = ObservedValues()(known)
    known = ops.where(observed > 0, known, paths[:, :, first:])
    return ops.concatenate([paths[:, :, :first], known], axis=2)


def _shares(levels):
    """What part of the probability each of increasing levels is for, by the trapezoidal rule."""
    bounds = np.array([0.0, *levels, 1.0])
    return (bounds[2:] - bounds[:-2]) / (bounds[2:] - bounds[:-2]).sum()
