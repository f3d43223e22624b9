"""What a forecast is: a point, quantiles, or a distribution; and the losses that train it.

A head is the last layer of a model. It takes `size` raw numbers for each step and channel and makes
of them the parameters of a forecast, `(batch, prediction_length, num_channels, size)`, in the units
of the history: locations are shifted and scaled as the window was, spreads are scaled. The same
object reads these parameters later, as NumPy arrays: `point`, `median`, `quantile`, `cdf`,
`sample`.

    model = zoo.build("patchtst", 336, 96, 7, head=QuantileHead([0.1, 0.5, 0.9]))
    model.compile("adam", heads.of(model).loss())
"""

import keras  # first, so that kerastrans._register finds no module half imported

from kerastrans.heads.base import Head
from kerastrans.heads.given_quantiles import GivenQuantiles
from kerastrans.heads.known_targets import KnownTargets
from kerastrans.heads.losses import CRPS, NegativeLogLikelihood, Pinball
from kerastrans.heads.mixture import MixtureHead
from kerastrans.heads.negative_binomial import NegativeBinomialHead
from kerastrans.heads.normal import NormalHead
from kerastrans.heads.point import PointHead
from kerastrans.heads.point_error import PointError
from kerastrans.heads.quantile import QuantileHead
from kerastrans.heads.samples import Samples
from kerastrans.heads.student_t import StudentTHead
from kerastrans.utils.validation import suggest

__all__ = [
    "CRPS",
    "GivenQuantiles",
    "Head",
    "KnownTargets",
    "MixtureHead",
    "NegativeBinomialHead",
    "NegativeLogLikelihood",
    "NormalHead",
    "Pinball",
    "PointError",
    "PointHead",
    "QuantileHead",
    "Samples",
    "StudentTHead",
    "get",
    "of",
]

_HEADS = {
    "point": PointHead,
    "quantiles": QuantileHead,
    "normal": NormalHead,
    "student_t": StudentTHead,
    "negative_binomial": NegativeBinomialHead,
    "mixture": MixtureHead,
}


def get(head, **kwargs):
    """A new head for one model: from None (a point), a name, or a `Head`, which is copied.

    Names are "point", "quantiles", "normal", "student_t", "negative_binomial", "mixture".

    Args:
        head: None, a name or a `Head`.
        **kwargs: arguments of its class that differ, such as `sees_missing=True`.

    Raises:
        ValueError: an unknown name.
        ValueError: neither None, a name nor a `Head`.

    Example:
        >>> get("mixture").size
        9
    """
    if head is None:
        return PointHead(**kwargs)
    if isinstance(head, str) and head in _HEADS:
        return _HEADS[head](**kwargs)
    if isinstance(head, Head):
        return type(head).from_config({**head.get_config(), "name": "forecast", **kwargs})
    raise ValueError(f"unknown head {head!r}: {suggest(head, _HEADS)}")


def of(model):
    """The head that a model ends in, also where it is inside a nested model.

    A model without a head forecasts points, and gets `PointHead()`, that of the mean absolute
    error: one's own Keras model, the baselines without weights, a point model of a file written
    before heads of points were recorded.

    Example:
        >>> from kerastrans import zoo
        >>> of(zoo.build("nlinear", 48, 12, 1, head="student_t")).size
        3
        >>> of(zoo.build("last_value", 48, 12, 1)).loss().error
        'mae'
    """
    return next(_heads(model), None) or PointHead()


def _heads(model):
    """The heads in the model's graph, the last first."""
    for layer in reversed(model.layers):
        if isinstance(layer, Head):
            yield layer
        elif isinstance(layer, keras.Model):
            yield from _heads(layer)
