import math

import keras
import numpy as np

from tests.helpers.cases import levels, numbered


def call(model, inputs):
    """Outputs of a case of Chronos-2 by name."""
    if "group_ids" in inputs:
        return {"quantile_preds": by_groups(model, inputs)}
    names = {"past_covariates": [], "future_covariates": []}
    if "inputs" in inputs:
        series = list(inputs["inputs"])
    elif "inputs_0" in inputs:
        series = numbered(inputs, "inputs")
    else:
        series = tasks(inputs, names)
    if not series:
        raise LookupError(f"no call for {sorted(inputs)}")
    given = {name: values for name, values in names.items() if values}
    options = {"cross_learning": bool(inputs.get("cross_learning", False)), **given}
    found = model.forecast(series, int(inputs["prediction_length"]), levels(inputs), **options)
    return {f"{key}_{i}": x[key] for i, x in enumerate(found) for key in ("quantiles", "mean")}


def tasks(inputs, names):
    """The targets of tasks that are stored as dicts; their covariates go to the lists."""
    series = []
    while f"inputs_{len(series)}.target" in inputs:
        start = f"inputs_{len(series)}."
        for name, values in names.items():
            head = f"{start}{name}."
            values.append({k[len(head) :]: v for k, v in inputs.items() if k.startswith(head)})
        series.append(inputs[f"{start}target"])
    return series


def by_groups(model, inputs):
    """Rows of groups that need not be adjacent, each group on its own."""
    context, known = inputs["context"], inputs.get("future_covariates")
    steps = int(inputs.get("num_output_patches", 1)) * model.groups.patch_length
    if known is not None:
        steps = max(
            steps, math.ceil(known.shape[1] / model.groups.patch_length) * model.groups.patch_length
        )
    found = [None] * len(context)
    for group in np.unique(inputs["group_ids"]):
        rows = np.flatnonzero(inputs["group_ids"] == group)
        future = None if known is None else tensor(known[rows][None])
        quantiles = model.groups.native(tensor(context[rows][None]), steps, future)
        for row, values in zip(rows, keras.ops.convert_to_numpy(quantiles)[0], strict=True):
            found[row] = values
    return np.stack(found)


def tensor(values):
    return keras.ops.convert_to_tensor(values, keras.config.floatx())
