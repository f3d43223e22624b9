"""Forecast heads: points, quantiles and distributions, and the losses that train them.

A head is the last layer of a model. It converts `size` raw numbers for each step and channel to the
parameters of a forecast, `(batch, prediction_length, num_channels, size)`, in the units of the
history: locations are shifted and scaled as the window was, and spreads are scaled. Afterwards the
same object reads these parameters as NumPy arrays with `point`, `median`, `quantile`, `cdf` and
`sample`.

    model = zoo.build("patchtst", 336, 96, 7, head=QuantileHead([0.1, 0.5, 0.9]))
    model.compile("adam", heads.of(model).loss())
"""

from typing import Any

import keras  # first: kerastrans._register must not meet half-imported modules

from kerastrans.heads.base import Head, centered_log_steps
from kerastrans.heads.counts import CountHead
from kerastrans.heads.given_quantiles import GivenQuantiles
from kerastrans.heads.hurdle import HurdleNegativeBinomialHead
from kerastrans.heads.known_targets import KnownTargets
from kerastrans.heads.losses import CRPS, NegativeLogLikelihood, Pinball
from kerastrans.heads.mixture import MixtureHead
from kerastrans.heads.negative_binomial import NegativeBinomialHead
from kerastrans.heads.normal import NormalHead
from kerastrans.heads.point import PointHead
from kerastrans.heads.point_error import PointError
from kerastrans.heads.poisson import PoissonHead
from kerastrans.heads.quantile import QuantileHead
from kerastrans.heads.samples import Samples
from kerastrans.heads.student_t import StudentTHead
from kerastrans.heads.tweedie import TweedieHead
from kerastrans.utils.validation import suggest

__all__ = [
    "CRPS",
    "CountHead",
    "GivenQuantiles",
    "Head",
    "HurdleNegativeBinomialHead",
    "KnownTargets",
    "MixtureHead",
    "NegativeBinomialHead",
    "NegativeLogLikelihood",
    "NormalHead",
    "Pinball",
    "PointError",
    "PointHead",
    "PoissonHead",
    "QuantileHead",
    "Samples",
    "StudentTHead",
    "TweedieHead",
    "centered_log_steps",
    "copy_spread",
    "get",
    "of",
]

_HEADS = {
    "point": PointHead,
    "quantiles": QuantileHead,
    "normal": NormalHead,
    "student_t": StudentTHead,
    "negative_binomial": NegativeBinomialHead,
    "poisson": PoissonHead,
    "hurdle_negative_binomial": HurdleNegativeBinomialHead,
    "tweedie": TweedieHead,
    "mixture": MixtureHead,
}


def get(head: Head | str | None, **kwargs: Any) -> Head:
    """Return a new head for one model.

    Names are "point", "quantiles", "normal", "student_t", "mixture" and, for counts,
    "negative_binomial", "hurdle_negative_binomial", "poisson" and "tweedie".

    Args:
        head: None for a point forecast, the name of a head, or a `Head`, which is copied.
        **kwargs: Arguments of the head's class that differ from the defaults or from the copied
            head, such as `sees_missing=True`.

    Raises:
        ValueError: If the name is unknown, or `head` is neither None, a name nor a `Head`.

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


def of(model: keras.Model) -> Head:
    """Return the head that a model ends in, even if it is inside a nested model.

    For a model without a head the result is `PointHead()`, whose loss is the mean absolute error.
    This applies to custom Keras models, to baselines without weights, and to point models read from
    files that were written before point heads were recorded.

    Example:
        >>> from kerastrans import zoo
        >>> of(zoo.build("nlinear", 48, 12, 1, head="student_t")).size
        3
        >>> of(zoo.build("last_value", 48, 12, 1)).loss().error
        'mae'
    """
    return next(_heads(model), None) or PointHead()


def copy_spread(source, target):
    """Copy the spread that `fit` measured, which is not a weight, to the head of another model."""
    head, copied = of(source), of(target)
    copied.spread, copied.spread_growth = head.spread, head.spread_growth


def _heads(model):
    """Yield the heads in the model's graph, the last one first."""
    for layer in reversed(model.layers):
        if isinstance(layer, Head):
            yield layer
        elif isinstance(inner := getattr(layer, "model", layer), keras.Model):
            yield from _heads(inner)
