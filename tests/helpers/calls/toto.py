"""How a parity case of Toto 2.0 is called."""

import numpy as np

KNOWN = {
    *("target", "target_mask", "series_ids", "horizon"),
    *("decode_block_size", "scaler_fallback_min_obs", "quantile_real_cap_k"),
    *("known_dynamic", "known_dynamic_mask", "known_dynamic_series_ids"),
}


def call(model, inputs):
    if not inputs.keys() <= KNOWN:
        raise LookupError(f"unknown arrays {sorted(inputs.keys() - KNOWN)}")
    model = model.with_options(
        block_length=int(inputs["decode_block_size"]) or None,
        min_observed=int(inputs["scaler_fallback_min_obs"]),
        limit=float(inputs["quantile_real_cap_k"]) or None,
    )
    steps = int(inputs["horizon"])
    target = np.where(inputs["target_mask"], inputs["target"], np.nan)
    length = target.shape[2]
    none = np.empty((len(target), 0, length + steps))
    known = none
    if "known_dynamic" in inputs:
        known = np.where(inputs["known_dynamic_mask"], inputs["known_dynamic"], np.nan)
    # A group of variates, with its covariates, is a series of its own.
    groups = [np.unique(ids, return_inverse=True)[1] for ids in inputs["series_ids"]]
    tasks, past, future = [], [], []
    for row, ids in enumerate(groups):
        for number, label in enumerate(np.unique(inputs["series_ids"][row])):
            mine = [
                str(column)
                for column in range(known.shape[1])
                if inputs["known_dynamic_series_ids"][row, column] == label
            ]
            tasks.append(target[row][ids == number])
            past.append({name: known[row, int(name), :length] for name in mine})
            future.append({name: known[row, int(name), length:][:steps] for name in mine})
    forecasts = iter(model.forecast(tasks, steps, None, past, future))
    quantiles = np.empty((*target.shape[:2], steps, len(model.levels)))
    for row, ids in enumerate(groups):
        for number in range(ids.max() + 1):
            quantiles[row, ids == number] = next(forecasts)["quantiles"]
    return {"quantiles": quantiles.transpose(3, 0, 1, 2)}
