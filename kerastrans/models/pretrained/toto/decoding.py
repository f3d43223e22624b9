"""Block-by-block forecasts of Toto 2.0, each block after the medians of the previous ones."""

from keras import ops

from kerastrans.layers import ObservedValues
from kerastrans.models.pretrained.scaling import arcsinh, first_observed, sinh
from kerastrans.models.pretrained.toto.scaling import filled_to_the_end, patch_scales


def decode(model, history, prediction_length, known=None):
    """Forecast histories, see `GroupedModel.quantiles`."""
    patch = model.patch_length
    variates = history.shape[1] - (0 if known is None else known.shape[1])
    count = -(-prediction_length // patch)
    block = min(count, (model.block_length or count * patch) // patch)
    before, after = -history.shape[2] % patch, count * patch - prediction_length
    values, observed = _pad_observed(history[:, :variates], before)
    values = filled_to_the_end(values, observed, patch)
    # The last patch counts as observed, as in training.
    observed = ops.pad(observed[..., :-patch], _at_end(patch), constant_values=1)
    values, shift = _center(values, observed)
    if known is not None:
        known = ops.concatenate([history[:, variates:], known], axis=-1)
        known = _pad_observed(known, before, after)
        known = (_center(*known)[0], known[1])
    context, done, past, valid, bounds, blocks = values.shape[2] // patch, 0, None, None, None, []
    while done < count:
        size = min(block, count - done)
        # Append the horizon of this block, and scale each patch by the values up to its end.
        x = _append_horizon(values, observed, size * patch, known)
        mean, scale = patch_scales(*x, patch, model.min_observed)
        patches, weights = (ops.reshape(part, (-1, *mean.shape[1:], patch)) for part in x)
        scaled = arcsinh((patches - mean[..., None]) / scale[..., None]) * weights
        if valid is None:
            valid = ops.max(weights[:, :, :context], axis=-1)
            bounds = _bounds(values, observed, scale[:, :variates, context - 1], model.limit)
        missing = 1 - weights
        first = 0
        if done:  # read the last block again, as if all of it had been observed
            first = context + done - block
            missing = ops.pad(missing[:, :, context + done :], _at_start(block))
        tokens = ops.concatenate([scaled[:, :, first:], missing], axis=-1)
        all_valid = ops.pad(valid, _at_end(done + size), constant_values=1) > 0
        x, caches = model.stack(tokens, all_valid, size, first, past)
        # Keep the keys and values of the patches whose values are final.
        past = [cache and [part[:, :, : context + done] for part in cache] for cache in caches]
        new = slice(context + done, None)
        x = mean[:, :, new, None, None] + sinh(x) * scale[:, :, new, None, None]
        x = ops.reshape(x[:, :variates], (-1, variates, size * patch, x.shape[-1]))
        if bounds is not None:
            x = ops.minimum(ops.maximum(x, bounds[0]), bounds[1])
        blocks.append(ops.sort(x, axis=-1))
        median = blocks[-1][..., x.shape[-1] // 2]
        values = ops.concatenate([values, median], axis=-1)
        observed = ops.concatenate([observed, ops.ones_like(median)], axis=-1)
        done += size
    return shift[..., None] + ops.concatenate(blocks, axis=2)[:, :, :prediction_length]


def _pad_observed(values, before, after=0):
    """Return values, zero where missing, and their mask, padded to whole patches."""
    values, observed, _ = ObservedValues()(values)
    widths = [[0, 0], [0, 0], [before, after]]
    return ops.pad(values, widths), ops.pad(observed, widths)


def _center(values, observed):
    """Subtract the first observed value, so that float32 is precise enough.

    Returns:
        The differences and the first value `(batch, variates, 1)`.
    """
    first = first_observed(values, observed)
    return (values - first) * observed, first


def _append_horizon(values, observed, steps, known):
    """Append missing future steps to values and mask, then the rows of known covariates."""
    parts = [ops.pad(x, _at_end(steps)) for x in (values, observed)]
    if known is None:
        return parts
    end = parts[0].shape[-1]
    return [ops.concatenate([x, y[..., :end]], axis=1) for x, y in zip(parts, known, strict=True)]


def _bounds(values, observed, scale, limit):
    """Return the bounds of a forecast `(batch, variates, 1, 1)`.

    They are `limit` scales below the smallest and above the largest observed value.
    """
    if limit is None:
        return None
    # Replace missing values by the last one, which counts as observed.
    values = ops.where(observed > 0, values, values[..., -1:])
    margin = limit * scale
    bounds = (ops.min(values, axis=-1) - margin, ops.max(values, axis=-1) + margin)
    return [bound[..., None, None] for bound in bounds]


def _at_end(steps):
    return [[0, 0], [0, 0], [0, steps]]


def _at_start(steps):
    return [[0, 0], [0, 0], [steps, 0], [0, 0]]
