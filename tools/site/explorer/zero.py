"""kerastrans-zero as a function of one window, with the parts of its forecast."""

from kerastrans.layers import ObservedNormalization
from kerastrans.models.pretrained.scaling import rescaled
from kerastrans.models.pretrained.zero.explanation import build_parts

OUTPUTS = "lags", "places", "shares", "changes", "slopes", "offset"
UNITS = "changes", "slopes", "offset"  # outputs in units of the window


def zero_function(network):
    """Return the quantiles and the parts of a forecast as a function of tensors.

    Args:
        network: Network of kerastrans-zero.

    Returns:
        Function of a history `(1, context_length)`, NaN where missing, and of the future steps
        `(1, time)`, counted from 1. It returns a dict: "quantiles" `(time, levels)`, "mean" `()`,
        and the `OUTPUTS` of `explain_windows`, without the axis of the batch.
    """
    parts = build_parts(network)

    def function(history, steps):
        values, observed, location, scale = ObservedNormalization()(history)
        quantiles, *others = parts([values, observed, steps])
        found = dict(zip(OUTPUTS, others, strict=True))
        found |= {name: found[name] * scale[0, 0] for name in UNITS}
        quantiles = rescaled(quantiles, location, scale)
        found = {"quantiles": quantiles, "mean": location, **found}
        return {name: x[0] for name, x in found.items()}

    return function
