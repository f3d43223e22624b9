"""Losses that train heads. A NaN target is missing and has no error."""

import keras
from keras import ops

from kerastrans.utils.pinball import pinball_loss
from kerastrans.utils.validation import check_levels


class MaskedLoss(keras.losses.Loss):
    """Base class of losses that average `errors` over the targets selected by `counts`."""

    def counts(self, y_true):
        """Return a bool tensor that selects the targets that are not missing."""
        return ops.isfinite(y_true)

    def call(self, y_true, y_pred):
        known = self.counts(y_true)
        weights = ops.cast(known, y_pred.dtype)
        # Replace missing targets before and after, so that neither loss nor gradient is NaN.
        errors = self.errors(ops.where(known, y_true, ops.zeros_like(y_true)), y_pred)
        errors = ops.where(known, errors, ops.zeros_like(errors))
        return errors / ops.maximum(ops.mean(weights), 1e-6)  # mean over the known targets only


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
        self.head = keras.saving.deserialize_keras_object(head) if isinstance(head, dict) else head
        if not hasattr(self.head, self._method):
            raise ValueError(f"{type(self.head).__name__} has no {self._requirement}.")

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
class KnownTargets(keras.losses.Loss):
    """Loss of points that ignores missing targets; Keras losses return NaN for them.

    A missing target is replaced by its forecast, so that it has neither an error nor a gradient.

    Args:
        loss: Keras loss, its name, or a function of targets and forecasts that is smallest when
            both are equal.
        name: Name of the loss.
        **kwargs: Additional arguments of `keras.losses.Loss`.

    Example:
        >>> import numpy as np
        >>> loss = KnownTargets("mean_squared_error")
        >>> float(loss(np.array([[[1.0], [np.nan]]]), np.array([[[3.0], [5.0]]])))
        4.0
    """

    def __init__(self, loss, name="known_targets", **kwargs):
        super().__init__(name=name, **kwargs)
        self.loss = keras.losses.get(loss)

    def call(self, y_true, y_pred):
        known = ops.isfinite(y_true)
        share = ops.mean(ops.cast(known, y_pred.dtype))
        errors = self.loss(ops.where(known, y_true, y_pred), y_pred)
        return errors / ops.maximum(share, 1e-6)  # mean over the known targets only

    def get_config(self):
        return {**super().get_config(), "loss": keras.losses.serialize(self.loss)}
