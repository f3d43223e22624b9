import numpy as np

from tests.helpers.cases import levels, numbered


def call(model, inputs):
    """Outputs of a case of PatchTST-FM by name."""
    ragged = numbered(inputs, "past_values")
    series = ragged or list(inputs.get("past_values", ()))
    if not series:
        raise LookupError(f"no call for {sorted(inputs)}")
    if "pad_mask" in inputs:
        series = [without_padding(*pair) for pair in zip(series, inputs["pad_mask"], strict=True)]
    horizon = int(inputs.get("prediction_length", model.config["prediction_length"]))
    wanted = levels(inputs) or model.levels
    found = model.forecast([values.T for values in series], horizon, wanted)
    quantiles = [one_channel(np.transpose(x["quantiles"], (2, 1, 0))) for x in found]
    means = [one_channel(x["mean"].T) for x in found]
    outputs = {"quantile_outputs": quantiles, "prediction_outputs": means}
    if not ragged:
        return {name: np.stack(values) for name, values in outputs.items()}
    return {f"{name}_{i}": x for name, values in outputs.items() for i, x in enumerate(values)}


def one_channel(x):
    """Without the last axis where there is one channel alone, as the package returns it."""
    return x[..., 0] if x.shape[-1] == 1 else x


def without_padding(values, mask):
    """The series after its padding: a shorter one is the same to the package."""
    count = int(mask[:, 0].sum())
    if not mask[:count].all() or mask[count:].any():
        raise LookupError("no call for padding elsewhere than at the start")
    return values[count:]
