"""Sample paths of the steps after each series."""

import zlib

import numpy as np
import pandas as pd

from kerastrans.data.frames import ID, TIME
from kerastrans.evaluation.columns import PATH, check_alias
from kerastrans.forecasting.inference.continuation import (
    known_history,
    native_windows,
    own_intervals,
    with_ranks_of,
)
from kerastrans.forecasting.inference.error_dependence import find_dependence
from kerastrans.forecasting.inference.forecast import (
    continued_forecasts,
    continued_paths,
    forecast_windows,
)
from kerastrans.forecasting.inference.marginals import Marginals
from kerastrans.forecasting.inference.windows import SeriesEnds
from kerastrans.utils.batch_sizes import BATCH

BYTES_PER_VALUE = 64  # of the frame, and of the arrays that it is made from
MAX_GIB = 8  # of the memory that one call may need


def check_memory(num_paths, prediction_length, num_series):
    """Raise ValueError if sample paths need more than `MAX_GIB`.

    Args:
        num_paths: int, number of paths of each series.
        prediction_length: int, number of steps.
        num_series: int, number of series, each channel of a wide frame counted.

    Example:
        >>> check_memory(100_000, 720, 10)
        Traceback (most recent call last):
        ...
        ValueError: 100000 paths of 720 steps of 10 series need 42.9 GiB, the limit is 8: ask for
        fewer paths or fewer series at once.
    """
    needed = BYTES_PER_VALUE * num_paths * prediction_length * num_series / 2**30
    if needed > MAX_GIB:
        raise ValueError(
            f"{num_paths} paths of {prediction_length} steps of {num_series} series need "
            f"{needed:.1f} GiB, the limit is {MAX_GIB}: ask for fewer paths or fewer series at "
            "once."
        )


def simulate(state, windows, num_paths, seed, static, alias):
    """Return a frame of sample paths, see `Forecaster.simulate`.

    Args:
        state: `FittedState`; one that decodes has `num_paths` as its number of samples.
        windows: `Windows` of the steps to forecast.
        num_paths: int, number of paths.
        seed: int, seed of the paths.
        static: Frame of static covariates, or None.
        alias: str, name of the column of values.
    """
    check_alias(alias)
    ends, known = SeriesEnds.of(state.config, windows), {}

    def dependence(state):
        """Return the dependence that all series share, learnt at most once."""
        owner = state if _covers(state) else state.native
        steps = owner.config.prediction_length
        if steps not in known:
            known[steps] = find_dependence(owner, known_history(ends.moved), forecast_windows)
        return known[steps]

    def draw(state, windows, chosen=None):
        names = windows.panel.names[windows.series].astype(str)
        if state.decodes and chosen is None:
            paths = _decoded_paths(state, windows, names, seed, static)
        elif windows.prediction_length > state.native.native_length and not _covers(state):
            learnt = None if state.decodes else dependence(state)
            options = num_paths, seed, static, learnt
            paths = continued_paths(state, windows, *options)
            if state.intervals is not None and own_intervals(state.native) is None:
                own = native_windows(windows, state.native.native_length)
                made = forecast_windows(state.native, own)
                made = continued_forecasts(state, windows, paths, made, static)
                paths = with_ranks_of(paths.swapaxes(0, 1), _marginals(state, made, static))
                paths = paths.swapaxes(0, 1)
            paths = np.moveaxis(paths, 3, 1)
        else:
            paths = _dependent_paths(state, windows, names, num_paths, seed, static, dependence)
        return {alias: paths.swapaxes(2, 3).reshape(-1, num_paths)}

    paths = ends.forecast(state, draw, joint=True)[alias]
    paths = paths.reshape(*ends.places.shape, -1, num_paths).swapaxes(2, 3)
    return _frame(windows, paths, alias)


def _dependent_paths(state, windows, names, num_paths, seed, static, dependence):
    """Return paths `(windows, num_channels, num_paths, steps)` with the learnt dependence."""
    marginals = _marginals(state, forecast_windows(state, windows, static), static)
    dependence, steps = dependence(state), windows.prediction_length
    first = windows.panel.numbers(windows.series, windows.cuts).repeat(names.shape[1])
    first = first.reshape(names.shape)
    paths = np.empty((*names.shape, num_paths, steps))
    size = max(1, BATCH * 100 // num_paths)
    for start in range(0, len(windows), size):
        part = slice(start, start + size)
        drawn = dependence.probabilities(names[part].ravel(), num_paths, seed, first[part].ravel())
        # (paths, windows, steps, channels)
        drawn = drawn[..., :steps].reshape(*names[part].shape, num_paths, steps)
        drawn = np.moveaxis(drawn, (1, 2), (3, 0))
        paths[part] = np.moveaxis(marginals.part(part).quantiles(drawn), (3, 0), (1, 2))
    return paths


def _covers(state):
    """Return whether the stored dependence is that of all steps, also beyond those of the model."""
    dependence = state.dependence
    return dependence is not None and len(dependence.steps) >= state.config.prediction_length


def _decoded_paths(state, windows, names, seed, static):
    """Return the same as `_dependent_paths` for the draws of an autoregressive model.

    The paths of a series are in an order that depends on its name, because series with the same
    values have the same draws.
    """
    forecasts = forecast_windows(state, windows)
    if not hasattr(forecasts.output, "sample") or not forecasts.output.has_parameter_axis:
        Marginals(forecasts)  # a point, which raises
    # (paths, windows, steps, channels)
    paths = np.moveaxis(forecasts.parameters, -1, 0)
    if state.intervals is not None:
        paths = with_ranks_of(paths, _marginals(state, forecasts, static))
    elif state.config.bounds:
        paths = forecasts.output.clip(paths)
    for number, name in enumerate(names[:, 0]):
        random = np.random.default_rng([seed, zlib.crc32(name.encode())])
        paths[:, number] = paths[random.permutation(len(paths)), number]
    return np.moveaxis(paths, (3, 0), (1, 2))


def _marginals(state, forecasts, static):
    """Return the distributions of forecasts, with the conformal intervals of the state."""
    levels = () if state.intervals is None else tuple(state.intervals.offsets)
    return Marginals(*forecasts.conformal(state.intervals, levels, static))


def _frame(windows, paths, alias):
    """Return paths `(windows, num_channels, num_paths, steps)` as a long frame."""
    panel, series = windows.panel, windows.series
    num_windows, num_channels, num_paths, steps = paths.shape
    rows = windows.cuts[:, None] + np.arange(steps)
    times = panel.clock.times(panel.numbers(series[:, None], rows).ravel())
    places = np.arange(num_windows * steps).reshape(num_windows, 1, 1, steps)
    columns = {
        ID: np.repeat(panel.names[series].ravel(), num_paths * steps),
        TIME: times.take(np.broadcast_to(places, paths.shape).ravel()),
        PATH: np.tile(np.repeat(np.arange(num_paths), steps), num_windows * num_channels),
        alias: paths.ravel(),
    }
    return pd.DataFrame(columns, copy=False)
