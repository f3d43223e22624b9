"""Heads by name, and the head of a model."""

from typing import Any

import keras

from kerastrans import heads
from kerastrans.heads.base import Head
from kerastrans.heads.point import PointHead
from kerastrans.utils.validation import suggest

_HEADS = {
    "point": "PointHead",
    "quantiles": "QuantileHead",
    "normal": "NormalHead",
    "student_t": "StudentTHead",
    "negative_binomial": "NegativeBinomialHead",
    "poisson": "PoissonHead",
    "hurdle_negative_binomial": "HurdleNegativeBinomialHead",
    "tweedie": "TweedieHead",
    "mixture": "MixtureHead",
}


def names() -> list[str]:
    """Return the names of the heads, which `get` and the option `head` of a builder take.

    Example:
        >>> names()[:4]
        ['point', 'quantiles', 'normal', 'student_t']
    """
    return list(_HEADS)


def get(head: Head | str | None, **kwargs: Any) -> Head:
    """Return a new head for one model.

    Args:
        head: None for a point forecast, one of `names()`, or a `Head`, which is copied.
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
        return getattr(heads, _HEADS[head])(**kwargs)
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


def _heads(model):
    """Yield the heads in the model's graph, the last one first."""
    for layer in reversed(model.layers):
        if isinstance(layer, Head):
            yield layer
        elif isinstance(inner := getattr(layer, "model", layer), keras.Model):
            yield from _heads(inner)
