"""Forecasts of Chronos-2: scaling, patches, and paths beyond the native horizon."""

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
    """Forecasts groups of series, as tensors in the graph of a model.

    For a longer horizon than the native one, each decile is appended to the history as a separate
    path. All series of a path follow the same decile, except at steps whose future value is known.
    The forecast is the weighted quantiles of the forecasts of all paths.

    Args:
        network: Keras model, see `v2_network.build_network`.
        own: Dict, see `v2_network.read_own`.
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
        self.path_weights = np.outer(_level_weights(DECILES), _level_weights(self.levels)).ravel()

    def quantiles(self, context, prediction_length, known=None):
        """Forecast groups of series, `(batch, series, len(levels), prediction_length)`.

        Args:
            context: `(batch, series, context_length)`, NaN where missing.
            prediction_length: int, number of steps to forecast.
            known: `(batch, known series, prediction_length)`, the known future of the last series,
                NaN for unknown values; None if no future is known.
        """
        block = self.native(context, prediction_length, known)
        blocks, done = [block], block.shape[-1]
        context = ops.tile(context[:, None], (1, len(DECILES), 1, 1))
        while done < prediction_length:
            # One path per decile: (batch, paths, series, time).
            paths = ops.transpose(ops.take(block, self.deciles, axis=2), (0, 2, 1, 3))
            known_ahead = None
            if known is not None:
                paths = _overwrite_known(paths, known[:, None, :, done - paths.shape[-1] : done])
                known_ahead = ops.tile(known[:, None, :, done:], (1, len(DECILES), 1, 1))
                known_ahead = _fold_paths(known_ahead)
            context = ops.concatenate([context, paths], axis=-1)[..., -self.max_context :]
            samples = self.native(_fold_paths(context), prediction_length - done, known_ahead)
            block = self._merge_paths(samples)
            blocks.append(block)
            done += block.shape[-1]
        return ops.concatenate(blocks, axis=-1)[..., :prediction_length]

    def native(self, context, prediction_length, known=None):
        """Forecast the horizon in whole patches, at most up to the native horizon.

        Args:
            context: `(batch, series, context_length)`, NaN where missing.
            prediction_length: int, number of steps to forecast.
            known: `(batch, known series, any)`, known future values as in `quantiles`.

        Returns:
            `(batch, series, len(levels), steps)`.
        """
        patches = min(math.ceil(prediction_length / self.patch_length), self.max_patches)
        steps = patches * self.patch_length
        context = context[..., -self.max_context :]
        series = context.shape[1]
        values, mask, location, scale = ObservedNormalization()(context)
        values, mask = self._cut_patches(self._squash(values)), self._cut_patches(mask)
        past = self._add_time(values, mask, first=-values.shape[2] * self.patch_length)
        future = self._scale_future(known, location, scale, steps)
        future = self._add_time(*map(self._cut_patches, future), first=0)
        x = self.network([past, ops.any(mask > 0, axis=-1), future])
        x = ops.reshape(x, (-1, series, patches, len(self.levels), self.patch_length))
        x = ops.transpose(x, (0, 1, 3, 2, 4))
        x = ops.reshape(x, (-1, series, len(self.levels), steps))
        return rescaled(sinh(x) if self.use_arcsinh else x, location, scale)

    def _scale_future(self, known, location, scale, steps):
        """Return scaled values and mask of the future, each `(batch, series, steps)`."""
        unknown = ops.tile(ops.zeros_like(location), (1, 1, steps))
        if known is None:
            return unknown, unknown
        count = known.shape[1]
        values, observed, _ = ObservedValues()(known[..., :steps])
        values = self._squash((values - location[:, -count:]) / scale[:, -count:]) * observed
        widths = [(0, 0), (0, 0), (0, steps - values.shape[-1])]
        return [
            ops.concatenate([unknown[:, count:], ops.pad(x, widths)], axis=1)
            for x in (values, observed)
        ]

    def _merge_paths(self, samples):
        """Return the quantiles over all paths of `(batch * paths, series, levels, steps)`."""
        _, series, levels, steps = samples.shape
        samples = ops.reshape(samples, (-1, len(DECILES), series, levels, steps))
        samples = ops.transpose(samples, (0, 2, 4, 1, 3))
        samples = ops.reshape(samples, (-1, series, steps, len(self.path_weights)))
        merged = weighted_quantiles(samples, self.path_weights, self.levels)
        return ops.transpose(merged, (0, 1, 3, 2))

    def _squash(self, values):
        return arcsinh(values) if self.use_arcsinh else values

    def _cut_patches(self, values):
        return padded_to_patches(values, self.patch_length)

    def _add_time(self, values, mask, first):
        """Return patches of time, values and mask; time is counted from the forecast's start."""
        count, length = values.shape[2:]
        steps = np.arange(first, first + count * length).reshape(count, length) / self.time_scale
        steps = steps.astype(keras.backend.standardize_dtype(values.dtype))
        # The larger tensor is the first summand, for the reason given in `scaling.rescaled`.
        time = ops.add(ops.zeros_like(values), steps)
        return ops.concatenate([time, values, mask], axis=-1)


def _fold_paths(paths):
    """Move the paths of `(batch, paths, series, time)` into the batch."""
    return ops.reshape(paths, (-1, *paths.shape[2:]))


def _overwrite_known(paths, known):
    """Replace the values of the last series of each path by the known values."""
    first = paths.shape[2] - known.shape[2]
    known, observed, _ = ObservedValues()(known)
    known = ops.where(observed > 0, known, paths[:, :, first:])
    return ops.concatenate([paths[:, :, :first], known], axis=2)


def _level_weights(levels):
    """Return the probability mass of each of increasing levels, by the trapezoidal rule."""
    bounds = np.array([0.0, *levels, 1.0])
    return (bounds[2:] - bounds[:-2]) / (bounds[2:] - bounds[:-2]).sum()
