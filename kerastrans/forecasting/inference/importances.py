"""Importances of covariates: by permutation, and those that a Temporal Fusion Transformer has."""

import numpy as np
import pandas as pd
import scipy

from kerastrans.data.covariates import KINDS
from kerastrans.decoding.inspection import variable_importances
from kerastrans.forecasting.inference.forecast import forecast_rows
from kerastrans.forecasting.inference.windows import windows_of

INTERVAL = 0.95  # probability of the intervals of importances


def permutation_importances(state, panel, cuts, repeats, seed):
    """Return by how much the error grows if a covariate is exchanged between windows.

    Args:
        state: `FittedState`.
        panel: `Panel`.
        cuts: `(origins, series)`, rows of the first targets.
        repeats: int, number of permutations of each covariate.
        seed: int, seed of the permutations.

    Returns:
        DataFrame, see `Forecaster.covariate_importances`.

    Source: Breiman (2001); Fisher, Rudin, Dominici (2019).
    """
    series = np.tile(np.arange(len(panel)), len(cuts))
    windows = windows_of(state, panel, series, cuts.ravel())
    inputs = windows.histories()
    before = _window_errors(state, windows, inputs)
    has_target = np.isfinite(before).reshape(len(cuts), -1).any(axis=1)
    if not has_target.any():
        raise ValueError("no value after an origin is known: the errors have nothing to compare.")
    random, rows = np.random.default_rng(seed), []
    for kind in KINDS:
        array = inputs.get(f"{kind}_covariates")
        for place, column in enumerate(getattr(state.covariates, kind)):
            growth = np.zeros(len(before))
            for _ in range(repeats):
                exchanged = array.copy()
                exchanged[..., place] = array[random.permutation(len(array))][..., place]
                others = {**inputs, f"{kind}_covariates": exchanged}
                growth += (_window_errors(state, windows, others) - before) / repeats
            by_origin = growth.reshape(len(cuts), -1)[has_target]
            by_origin = np.nanmean(by_origin, axis=1) / np.nanmean(before)
            rows.append((kind, column.name, by_origin.mean(), *_interval(by_origin)))
    table = pd.DataFrame(rows, columns=["kind", "variable", "increase", "low", "high"])
    return table.sort_values("increase", ascending=False, ignore_index=True)


def _window_errors(state, windows, inputs):
    """Return the mean absolute error of each window in units of its scale, NaN without a target."""
    forecasts = forecast_rows(state, windows, dict(inputs))
    point = forecasts.output.point(forecasts.parameters)
    errors = np.abs(forecasts.targets - point) / forecasts.units
    known = np.isfinite(errors)
    count = known.sum(axis=(1, 2))
    total = np.where(known, errors, 0).sum(axis=(1, 2))
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _interval(values):
    """Return the t interval of the mean of values of different origins, NaN for one of them."""
    count = len(values)
    if count < 2:
        return np.nan, np.nan
    width = scipy.stats.t.ppf((1 + INTERVAL) / 2, count - 1) * values.std(ddof=1) / count**0.5
    return values.mean() - width, values.mean() + width


def importances_frame(state, panel):
    """Return a frame "kind", "variable", "share" of the last window of each series."""
    config = state.config
    cuts = panel.cuts - config.prediction_length
    windows = windows_of(state, panel, np.arange(len(panel)), cuts)
    shares = variable_importances(state.model, windows.arrays()[0])
    names = {kind: [c.name for c in getattr(state.covariates, kind)] for kind in KINDS}
    if config.calendar:
        names["future"] += [f"{n} {wave}" for n in panel.clock.calendar_names for wave in _WAVES]
    channels = list(panel.names[0]) if panel.num_channels > 1 else ["y"]
    variables = {
        "past": [*channels, *names["past"], *names["future"]],
        "future": ["steps ahead", *names["future"]],
        "static": names["static"],
    }
    rows = [
        (kind, variable, share)
        for kind in shares
        for variable, share in zip(variables[kind], shares[kind], strict=True)
    ]
    return pd.DataFrame(rows, columns=["kind", "variable", "share"])


_WAVES = ("sin", "cos")
