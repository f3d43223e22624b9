"""How a parity case of Reverso is called."""

import numpy as np


def call(model, inputs):
    known = {"context", "horizon", "flip_invariance"}
    if not inputs.keys() <= known:
        raise LookupError(f"unknown arrays {sorted(inputs.keys() - known)}")
    if "flip_invariance" in inputs:
        model = model.with_options(flip_invariance=bool(inputs["flip_invariance"]))
    forecasts = model.forecast(list(inputs["context"]), int(inputs["horizon"]))
    return {"forecast": np.concatenate([forecast["mean"] for forecast in forecasts])}
