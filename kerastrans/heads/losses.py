"""The losses that train heads. A target that is NaN is missing: it has no error."""

import keras
from keras import ops

from kerastrans.utils.validation import check_levels


class MaskedLoss(keras.losses.Loss):
    """Mean of `errors` over the targets that `counts` says: those that are not NaN."""

    def counts(self, y_true):
        """Which targets have an error, bool."""
        return ops.isfinite(y_true)

    def call(self, y_true, y_pred):
        known = self.counts(y_true)
        weights = ops.cast(known, y_pred.dtype)
        errors = self.errors(ops.where(known, y_true, ops.zeros_like(y_true)), y_pred)
        errors = ops.where(known, errors, ops.zeros_like(errors))
        return errors / ops.maximum(ops.mean(weights), 1e-6)


@keras.saving.register_keras_serializable(package="kerastrans")
class Pinball(MaskedLoss):
    """Pinball loss, mean over the levels, of the known targets; twice it approximates the CRPS.

    Targets are `(batch, prediction_length, num_channels)`, forecasts have the quantiles as a last
    axis.

    Args:
        levels: probabilities of the quantiles in the last axis of the forecast.
        name: of the loss.
        **kwargs: more arguments of `keras.losses.Loss`.

    Raises:
        ValueError: levels outside (0, 1).
        ValueError: levels that do not increase.

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
        """The loss of each target, mean over the levels."""
        levels = ops.cast(self.levels, y_pred.dtype)
        difference = ops.expand_dims(y_true, -1) - y_pred
        return ops.mean(ops.maximum(levels * difference, (levels - 1) * difference), axis=-1)

    def fits(self, head):
        """Whether this loss reads the forecasts of `head`."""
        return getattr(head, "levels", None) == self.levels

    def get_config(self):
        """The arguments of the constructor."""
        return {**super().get_config(), "levels": list(self.levels)}


class _HeadLoss(MaskedLoss):
    """A loss that the head itself computes, by the method called `_method`."""

    def __init__(self, head, **kwargs):
        super().__init__(**kwargs)
        self.head = keras.saving.deserialize_keras_object(head) if isinstance(head, dict) else head
        if not hasattr(self.head, self._method):
            raise ValueError(f"{type(self.head).__name__} has no {self._wanted}.")

    def fits(self, head):
        """Whether this loss reads the forecasts of `head`."""
        return (type(head), head.size) == (type(self.head), self.head.size)

    def get_config(self):
        """The arguments of the constructor."""
        return {**super().get_config(), "head": keras.saving.serialize_keras_object(self.head)}


@keras.saving.register_keras_serializable(package="kerastrans")
class NegativeLogLikelihood(_HeadLoss):
    """Minus the log-likelihood of the known targets.

    Args:
        head: a head that is a distribution.
        name: of the loss.
        **kwargs: more arguments of `keras.losses.Loss`.

    Raises:
        ValueError: a head without a likelihood: points and quantiles.

    Example:
        >>> import numpy as np
        >>> from kerastrans.heads import NormalHead
        >>> loss = NegativeLogLikelihood(NormalHead())
        >>> round(float(loss(np.array([[[3.0]]]), np.array([[[[3.0, 1.0]]]]))), 4)
        0.9189
    """

    _method = "log_prob"
    _wanted = "likelihood: it wants a distribution, such as NormalHead"

    def __init__(self, head, name="nll", **kwargs):
        super().__init__(head, name=name, **kwargs)

    def errors(self, y_true, y_pred):
        """Minus the log-likelihood of each target."""
        return -self.head.log_prob(y_pred, y_true)


@keras.saving.register_keras_serializable(package="kerastrans")
class CRPS(_HeadLoss):
    """Continuous ranked probability score of the known targets, in their units, closed form.

    Args:
        head: `NormalHead` or `MixtureHead`. For quantiles the `Pinball` loss is half of it, up to
            the distance between the levels.
        name: of the loss.
        **kwargs: more arguments of `keras.losses.Loss`.

    Raises:
        ValueError: a head without a closed form.

    Source: Gneiting, Raftery (2007), section 4.2.

    Example:
        >>> import numpy as np
        >>> from kerastrans.heads import NormalHead
        >>> loss = CRPS(NormalHead())
        >>> round(float(loss(np.array([[[3.0]]]), np.array([[[[3.0, 1.0]]]]))), 4)
        0.2337
    """

    _method = "crps"
    _wanted = "closed form of the CRPS: it wants a NormalHead or a MixtureHead"

    def __init__(self, head, name="crps", **kwargs):
        super().__init__(head, name=name, **kwargs)

    def errors(self, y_true, y_pred):
        """The score of each target."""
        return self.head.crps(y_pred, y_true)
