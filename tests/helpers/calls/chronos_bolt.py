import keras
import numpy as np

from tests.helpers.cases import levels, numbered


def call(model, inputs):
    """Outputs of a case of Chronos-Bolt by name."""
    if "mask" in inputs:
        history = keras.ops.convert_to_tensor(inputs["context"], keras.config.floatx())
        quantiles = model.native(history, keras.ops.convert_to_tensor(inputs["mask"] > 0))
        return {"quantile_preds": np.swapaxes(keras.ops.convert_to_numpy(quantiles), 1, 2)}
    series = list(inputs["context"]) if "context" in inputs else numbered(inputs, "context")
    if not series:
        raise LookupError(f"no call for {sorted(inputs)}")
    found = model.forecast(series, int(inputs["prediction_length"]), levels(inputs))
    return {name: np.concatenate([x[name] for x in found]) for name in ("quantiles", "mean")}
