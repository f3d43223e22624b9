"""Running statistics of a history, patch by patch."""

from keras import ops


def running_statistics(patches, observed, before=None):
    """Return mean and deviation of all observed steps up to the end of each patch.

    Args:
        patches: `(batch, patches, patch_length)`.
        observed: Mask of the same shape, 1 for observed steps and 0 elsewhere.
        before: None, or the third result of the call for the patches before these.

    Returns:
        Mean and population deviation, each `(batch, patches)`, 0 if nothing has been observed; and
        the argument `before` of a call for the following patches.

    Source: Chan et al. (1983), "Algorithms for computing the sample variance", equation 2.1, which
    loses no digits to a large mean, summed along the patches.
    """
    count = ops.sum(observed, axis=-1)
    mean = ops.sum(patches * observed, axis=-1) / ops.maximum(count, 1)
    squares = ops.sum(ops.square(patches - mean[..., None]) * observed, axis=-1)
    nothing = ops.zeros_like(count[:, :1])
    first_count, first_mean, first_squares = before or (nothing, nothing, nothing)
    total = first_count + ops.cumsum(count, axis=-1)
    means = first_count * first_mean + ops.cumsum(count * mean, axis=-1)
    means = means / ops.maximum(total, 1)
    previous = ops.concatenate([first_mean, means[:, :-1]], axis=-1)
    # Welford's increment of a patch: its contribution to the sum of squares about the growing mean.
    increments = squares + count * (mean - previous) * (mean - means)
    sums = first_squares + ops.cumsum(increments, axis=-1)
    deviations = ops.sqrt(ops.maximum(sums, 0) / ops.maximum(total, 1))
    after = (total[:, -1:], means[:, -1:], sums[:, -1:])
    return means, deviations, after
