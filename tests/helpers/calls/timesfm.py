import functools

import keras
import numpy as np

from kerastrans.models.pretrained.arrays import left_padded
from kerastrans.utils.compilation import compile_inference
from tests.helpers.cases import numbered

OPTIONS = (
    "max_context",
    "normalize_inputs",
    "use_continuous_quantile_head",
    "force_flip_invariance",
    "infer_is_positive",
    "fix_quantile_crossing",
)


def call(model, inputs):
    """Outputs of a case of TimesFM 2.5 by name, of either published package."""
    series = numbered(inputs, "context")
    if not series:
        raise LookupError(f"no call for {sorted(inputs)}")
    options = {name: int(inputs[name]) for name in OPTIONS if name in inputs}
    if "horizon" in inputs:
        model = variant(model, **options)
        outputs = channels(model, series, int(inputs["horizon"]))
        if inputs.get("return_backcast"):
            outputs = np.concatenate([backcast(model, series), outputs], axis=1)
        return {"point": outputs[..., model.sizes.median], "quantiles": outputs}
    outputs = of_transformers(variant(model, **options), series, inputs)
    return {"mean_predictions": outputs[..., model.sizes.median], "full_predictions": outputs}


@functools.lru_cache(maxsize=64)
def variant(model, **options):
    """The model with other options, made once: what it has compiled is kept."""
    return model.with_options(**options)


def channels(model, series, horizon):
    """All that the package returns: the mean, then the quantiles as `forecast` has them."""
    rows = [model.last_part(np.asarray(row, keras.config.floatx())) for row in series]
    length = max(model.max_context, *map(len, rows))  # of few lengths, each is compiled once
    history = np.stack([left_padded(row, length) for row in rows])
    means = mean_channel(model, length, horizon)(history)
    quantiles = [found["quantiles"] for found in model.forecast(series, horizon, model.levels)]
    return np.concatenate([means, np.concatenate(quantiles)], axis=-1)


@functools.lru_cache(maxsize=64)
def mean_channel(model, length, horizon):
    """The first channel `(batch, horizon, 1)` of a history, which `forecast` does not return."""
    history = keras.Input((length,))
    return compile_inference(keras.Model(history, model.channels(history, horizon)[..., :1]))


def backcast(model, series):
    """What each patch but the last forecasts of the one after it, without the quantile head."""
    patch = model.sizes.patch_length
    model = variant(model, use_continuous_quantile_head=False)
    found = [
        np.concatenate(channels(model, [row[:end] for end in range(patch, len(row), patch)], patch))
        for row in series
    ]
    return np.stack(found)


def of_transformers(model, series, inputs):
    """That package does not mend crossings, and clamps at zero by the batch, not by the series."""
    model = variant(model, fix_quantile_crossing=False)
    clamps = bool(inputs.get("truncate_negative", model.options.infer_is_positive))
    if "forecast_context_len" in inputs:
        model = variant(model, max_context=int(inputs["forecast_context_len"]))
    series = [row[-model.max_context :] for row in series]
    clamps = clamps and min(row.min() for row in series) >= 0
    model = variant(model, infer_is_positive=False)
    horizon = model.sizes.output_length
    if "window_size" in inputs:
        trends = [moving_average(row, int(inputs["window_size"])) for row in series]
        rests = [row - trend for row, trend in zip(series, trends, strict=True)]
        outputs = channels(model, trends, horizon) + channels(model, rests, horizon)
    else:
        outputs = channels(model, series, horizon)
    return np.maximum(outputs, 0) if clamps else outputs


def moving_average(row, size):
    """Means of `size` steps up to each, with zeros before the first."""
    sums = np.cumsum(np.concatenate([np.zeros(size), row.astype("float64")]))
    return (sums[size:] - sums[:-size]) / size
