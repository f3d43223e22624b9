"""How a parity case of FlowState is called."""

import numpy as np


def call(model, inputs):
    known = {"past_values", "scale_factor", "prediction_length", "pad_mask"}
    if not inputs.keys() <= known:
        raise LookupError(f"unknown arrays {sorted(inputs.keys() - known)}")
    values = inputs["past_values"]
    if "pad_mask" in inputs:  # what all rows have before their first value is cut
        values = values[:, np.argmin(inputs["pad_mask"][..., 0], axis=1).min() :]
    # As it was written before it became float32.
    model = model.with_options(scale_factor=round(float(inputs["scale_factor"]), 6))
    steps = int(inputs.get("prediction_length", model.patch_length))
    forecasts = model.forecast(list(values), steps)
    quantiles = np.stack([forecast["quantiles"][0] for forecast in forecasts])
    return {
        "quantile_outputs": quantiles.transpose(0, 2, 1),
        "prediction_outputs": np.stack([forecast["mean"][0] for forecast in forecasts]),
    }
