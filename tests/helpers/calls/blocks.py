"""How the parity cases of TinyCast and Reverso are called."""

import numpy as np


def forecasts(model, inputs, name):
    """An array of `model.forecast`, "quantiles" or "mean", for all rows of a case."""
    known = {"context", "horizon", "flip_invariance"}
    if not inputs.keys() <= known:
        raise LookupError(f"unknown arrays {sorted(inputs.keys() - known)}")
    if "flip_invariance" in inputs:
        model = model.with_options(flip_invariance=bool(inputs["flip_invariance"]))
    found = model.forecast(list(inputs["context"]), int(inputs["horizon"]))
    return np.concatenate([forecast[name] for forecast in found])
