"""Losses that train heads. A NaN target is missing and has no error."""

import keras
from keras import ops

from kerastrans.utils.keras_internals import (
    mask_of,
    refuse_class_weight,
    scale_for_replicas,
    serialize_loss,
)
from kerastrans.utils.pinball import pinball_loss
from kerastrans.utils.validation import check_levels

refuse_class_weight()


class MaskedLoss(keras.losses.Loss):
    """Base class of losses of forecasts, weighted and reduced as Keras's own losses are.

    A subclass defines `errors`, one error for each target. Targets have the shape
    `(batch, time, channels)`; a single channel may have no axis.

    - A `sample_weight` is a factor of the errors: `(batch,)` of windows, `(batch, time)` of steps,
      `(batch, time, channels)` of values. An axis of length 1 holds one weight for all its places.
    - The implicit mask of the forecasts, as that of `keras.layers.Masking`, hides steps.
    - The loss is `sum(weight * error) / sum(weight)` of the targets that are neither missing nor
      hidden, times the mean weight of all that are not hidden: without missing targets it is that
      of `keras.losses.MeanSquaredError`, and small weights make a small loss.
      `reduction="mean_with_sample_weight"` leaves out the mean weight.
    - `reduction="sum"` and None return the sum and the values of the errors averaged over channels,
      `(batch, time)`, to which missing and hidden targets add nothing.

    `evaluate` averages the losses of the batches, each weighted by its number of windows. If some
    targets are missing, the result depends on which windows share a batch.
    """

    has_parameter_axis = True  # whether forecasts have a last axis that targets have not

    def counts(self, y_true):
        """Return a bool tensor that selects the targets that are not missing."""
        return ops.isfinite(y_true)

    def call(self, y_true, y_pred):
        """Return the error of each target, 0 if it is missing."""
        known = self.counts(y_true)
        # Replace missing targets before and after, so that neither loss nor gradient is NaN.
        errors = self.errors(ops.where(known, y_true, ops.zeros_like(y_true)), y_pred)
        return ops.where(known, errors, ops.zeros_like(errors))

    def __call__(self, y_true, y_pred, sample_weight=None):
        """Return the loss of forecasts.

        Raises:
            ValueError: If targets, weights or the mask do not have the shape of the forecasts.
        """
        mask = mask_of(y_pred)
        with keras.name_scope(self.name):
            y_pred = ops.convert_to_tensor(y_pred, dtype=self.dtype)
            shape = y_pred.shape[:-1] if self.has_parameter_axis else y_pred.shape
            y_true = _fit_targets(ops.convert_to_tensor(y_true, dtype=self.dtype), shape)
            dtype = keras.backend.result_type(self.dtype, "float32")  # sums overflow in float16
            errors = ops.cast(self.call(y_true, y_pred), dtype)
            axes = tuple(range(len(errors.shape), len(shape)))  # over which `call` averaged
            known = ops.mean(ops.cast(self.counts(y_true), dtype), axis=axes)
            visible = ops.ones_like(errors)
            if mask is not None:
                visible = visible * align_weights("the mask of forecasts", mask, visible)
            weights = visible
            if sample_weight is not None:
                weights = visible * align_weights("sample_weight", sample_weight, visible)
            errors = ops.where(weights == 0, ops.zeros_like(errors), weights * errors)
            total, whole = ops.sum(weights * known), ops.sum(weights)
            if self.reduction != "mean_with_sample_weight":
                share = ops.where(total == whole, 1.0, ops.divide_no_nan(total, whole))
                total = share * ops.sum(visible)
            if self.reduction in (None, "none", "sum"):
                loss = errors if axes or len(shape) < 2 else ops.mean(errors, axis=-1)
                loss = ops.sum(loss) if self.reduction == "sum" else loss
            else:
                loss = scale_for_replicas(ops.divide_no_nan(ops.sum(errors), total))
            return ops.cast(loss, self.dtype)


def align_weights(name, weights, values):
    """Return weights with as many axes as values.

    Args:
        name: Name of the weights in an error message.
        weights: Tensor or array of the shape of `values`, or of its first axes.
        values: Tensor.

    Raises:
        ValueError: If the weights have another shape.
    """
    weights = ops.convert_to_tensor(weights, dtype=values.dtype)
    given, shape = tuple(weights.shape), tuple(values.shape)
    rank = len(shape)
    if given[rank:] == (1,):
        weights, given = ops.squeeze(weights, -1), given[:rank]
    start = tuple(size if x == 1 else x for x, size in zip(given, shape, strict=False))
    if len(given) > rank or not _fits(start, shape[: len(given)]):
        if not rank:
            raise ValueError(f"{name} requires a loss of each window or step, got one of a batch.")
        shapes = " or ".join(str(shape[:count]) for count in range(1, rank + 1))
        raise ValueError(f"{name} must have the shape {shapes}, got {given}.")
    return ops.reshape(weights, (*ops.shape(weights), *[1] * (rank - len(given))))


def _fit_targets(y_true, shape):
    """Return targets with or without the axis of a single channel, as the forecasts have it.

    Raises:
        ValueError: If the targets do not have this shape.
    """
    given = tuple(y_true.shape)
    if _fits((*given, 1), shape):
        return ops.expand_dims(y_true, -1)
    if _fits(given, (*shape, 1)):
        return ops.squeeze(y_true, -1)
    if not _fits(given, shape):
        raise ValueError(f"targets must have the shape {tuple(shape)}, got {given}.")
    return y_true


def _fits(given, shape):
    """Return whether two shapes are equal where both are known."""
    pairs = zip(given, shape, strict=False)
    return len(given) == len(shape) and all(None in pair or pair[0] == pair[1] for pair in pairs)


@keras.saving.register_keras_serializable(package="kerastrans")
class Pinball(MaskedLoss):
    """Pinball loss, averaged over the levels and the known targets.

    Twice the loss approximates the CRPS. Targets have the shape
    `(batch, prediction_length, num_channels)`; forecasts have an additional last axis of quantiles.

    Args:
        levels: Increasing probabilities of the quantiles in the last axis of the forecast.
        name: Name of the loss.
        **kwargs: Additional arguments of `keras.losses.Loss`.

    Raises:
        ValueError: If the levels are not in (0, 1) or do not increase.

    Source: Koenker, Bassett (1978); Gneiting, Raftery (2007), section 6.

    Example:
        >>> import numpy as np
        >>> loss = Pinball([0.1, 0.5])
        >>> round(float(loss(np.array([[[4.0]]]), np.array([[[[2.0, 3.0]]]]))), 4)
        0.35
    """

    def __init__(self, levels, name="pinball", **kwargs):
        super().__init__(name=name, **kwargs)
        self.levels = check_levels(levels)

    def errors(self, y_true, y_pred):
        """Return the loss of each target, averaged over the levels."""
        levels = ops.cast(self.levels, y_pred.dtype)
        difference = ops.expand_dims(y_true, -1) - y_pred
        return ops.mean(pinball_loss(difference, levels, ops), axis=-1)

    def fits(self, head):
        """Return whether this loss can be computed from the forecasts of `head`."""
        return getattr(head, "levels", None) == self.levels

    def get_config(self):
        """Return the constructor arguments."""
        return {**super().get_config(), "levels": list(self.levels)}


class _HeadLoss(MaskedLoss):
    """Base class of losses that the head itself computes, with its method named `_method`."""

    def __init__(self, head, **kwargs):
        super().__init__(**kwargs)
        head = keras.saving.deserialize_keras_object(head) if isinstance(head, dict) else head
        if not hasattr(head, self._method):
            raise ValueError(f"{type(head).__name__} has no {self._requirement}.")
        # Without weights: Keras would write those of a model's head with the loss.
        self.head = type(head).from_config(head.get_config())

    def fits(self, head):
        """Return whether this loss can be computed from the forecasts of `head`."""
        return (type(head), head.size) == (type(self.head), self.head.size)

    def get_config(self):
        """Return the constructor arguments."""
        return {**super().get_config(), "head": keras.saving.serialize_keras_object(self.head)}


@keras.saving.register_keras_serializable(package="kerastrans")
class NegativeLogLikelihood(_HeadLoss):
    """Negative log-likelihood of the known targets.

    Args:
        head: Head that is a distribution.
        name: Name of the loss.
        **kwargs: Additional arguments of `keras.losses.Loss`.

    Raises:
        ValueError: If the head has no likelihood, as heads of points and quantiles.

    Example:
        >>> import numpy as np
        >>> from kerastrans.heads import NormalHead
        >>> loss = NegativeLogLikelihood(NormalHead())
        >>> round(float(loss(np.array([[[3.0]]]), np.array([[[[3.0, 1.0]]]]))), 4)
        0.9189
    """

    _method = "log_prob"
    _requirement = "likelihood: this loss requires a distribution, such as NormalHead"

    def __init__(self, head, name="nll", **kwargs):
        super().__init__(head, name=name, **kwargs)

    def errors(self, y_true, y_pred):
        """Return the negative log-likelihood of each target."""
        return -self.head.log_prob(y_pred, y_true)


@keras.saving.register_keras_serializable(package="kerastrans")
class CRPS(_HeadLoss):
    """Continuous ranked probability score of the known targets, in closed form.

    The score has the units of the targets.

    Args:
        head: `NormalHead` or `MixtureHead`. For quantiles use the `Pinball` loss, which
            approximates half the score, the better the closer the levels are.
        name: Name of the loss.
        **kwargs: Additional arguments of `keras.losses.Loss`.

    Raises:
        ValueError: If the score of the head has no closed form.

    Source: Gneiting, Raftery (2007), section 4.2.

    Example:
        >>> import numpy as np
        >>> from kerastrans.heads import NormalHead
        >>> loss = CRPS(NormalHead())
        >>> round(float(loss(np.array([[[3.0]]]), np.array([[[[3.0, 1.0]]]]))), 4)
        0.2337
    """

    _method = "crps"
    _requirement = "closed form of the CRPS: this loss requires a NormalHead or a MixtureHead"

    def __init__(self, head, name="crps", **kwargs):
        super().__init__(head, name=name, **kwargs)

    def errors(self, y_true, y_pred):
        """Return the score of each target."""
        return self.head.crps(y_pred, y_true)


@keras.saving.register_keras_serializable(package="kerastrans")
class KnownTargets(MaskedLoss):
    """Loss of points that ignores missing targets; Keras losses return NaN for them.

    A missing target is replaced by its forecast, so that it has neither an error nor a gradient.
    Losses of Keras are means over channels, so that weights are those of windows or steps.

    Args:
        loss: Keras loss, its name, or a function of targets and forecasts that is smallest when
            both are equal.
        name: Name of the loss.
        **kwargs: Additional arguments of `keras.losses.Loss`; `reduction` is that of `loss` by
            default.

    Example:
        >>> import numpy as np
        >>> loss = KnownTargets("mean_squared_error")
        >>> float(loss(np.array([[[1.0], [np.nan]]]), np.array([[[3.0], [5.0]]])))
        4.0
    """

    has_parameter_axis = False

    def __init__(self, loss, name="known_targets", **kwargs):
        self.loss = keras.losses.get(loss)
        reduction = getattr(self.loss, "reduction", "sum_over_batch_size")
        super().__init__(name=name, **{"reduction": reduction, **kwargs})

    def call(self, y_true, y_pred):
        """Return the loss before its reduction, of known targets only."""
        loss = self.loss.call if isinstance(self.loss, keras.losses.Loss) else self.loss
        errors = loss(ops.where(self.counts(y_true), y_true, y_pred), y_pred)
        is_mean = len(errors.shape) == len(y_true.shape) and errors.shape[-1] != y_true.shape[-1]
        return ops.squeeze(errors, -1) if is_mean else errors

    def get_config(self):
        return {**super().get_config(), "loss": serialize_loss(self.loss)}
