"""Forecasts in the units of the series, from windows or from arrays of raw histories."""

import numpy as np
import pandas as pd

from kerastrans import heads
from kerastrans.data.missing import after_missing_ends, count_missing_ends, move_steps
from kerastrans.data.pivot import pivot_windows
from kerastrans.decoding.graph import inputs_of
from kerastrans.forecasting.conformal.offsets import windows_needed
from kerastrans.forecasting.dependence import Dependence
from kerastrans.forecasting.inference.continuation import (
    Continuation,
    continue_points,
    known_history,
    model_marginals,
    native_windows,
    own_intervals,
    quantiles_of,
)
from kerastrans.forecasting.inference.error_dependence import find_dependence
from kerastrans.forecasting.inference.forecast_frame import Forecasts, key_columns
from kerastrans.forecasting.inference.reader import Reader
from kerastrans.forecasting.inference.windows import (
    SeriesEnds,
    missing_ends,
    warn_of_missing_ends,
    windows_of,
)
from kerastrans.heads.bounded import Bounded, bound_inputs
from kerastrans.models.parts.forecast_graph import least_inputs
from kerastrans.utils.batch_sizes import BATCH, BATCHES
from kerastrans.utils.compilation import compiles
from kerastrans.utils.user_warnings import warn_user
from kerastrans.utils.validation import check_finite_output

SAMPLES_PER_BATCH = 100  # of each window of a full batch
GROWTH = 1.2  # of the last quarter of a context over all of it, see `_warn_of_growth`
# Continuation over a missing end: forecasts of so many paths, and values drawn from each.
LATE = {"num_paths": 20, "draws": 8}


def read_windows(state, frame, future, static, report):
    """Return the `Windows` of the steps after each series of a frame, which are to be forecast.

    Args:
        state: `FittedState`.
        frame: See `Forecaster.predict`.
        future: See `Forecaster.predict`.
        static: See `Forecaster.predict`.
        report: Function that is called with the panel, whose faults name the series left out.
    """
    reader = Reader.like(state)
    panel = reader.panel(frame, static, future, sort=False)
    windows = windows_of(state, panel, np.arange(len(panel)), panel.cuts)
    gaps = missing_ends(state.config, windows).max(axis=1)
    panel = reader.with_future(panel, state.reach, gaps)
    windows = windows_of(state, panel, np.arange(len(panel)), panel.cuts)
    silent = np.flatnonzero(~windows.observed())
    panel = panel.without(
        dict.fromkeys(silent, f"no value in its last {state.config.context_length} steps")
    )
    report(panel)
    windows = windows_of(state, panel, np.arange(len(panel)), panel.cuts)
    _warn_of_silent_channels(windows)
    warn_of_missing_ends(state.config, windows)
    if state.card is not None:
        _warn_of_unknown_spread(windows)
        _warn_of_growth(state, windows)
    return windows


def _warn_of_growth(state, windows):
    """Warn of series that have grown with their errors, if the mean error is the unit of intervals.

    Their level and their changes from one season to the next are a fifth larger in the last quarter
    of the context than in all of it, which has four seasons and 48 known changes. If there are many
    series, only about one hundred are read.
    """
    from kerastrans.models.pretrained.shipped import DEFAULT  # imports the hub

    if state.card["name"] != DEFAULT or state.intervals is not None:
        return
    panel, season = windows.panel, state.card.get("options", {}).get("season") or 1
    grown, looked_at = [], range(0, len(panel), max(len(panel) // 100, 1))
    for i in looked_at:
        begin = max(panel.begins[i], panel.cuts[i] - state.config.context_length)
        context = panel.values[begin : panel.cuts[i]]
        changes = context[season:] - context[:-season]
        parts = [np.abs(x[np.isfinite(x)]) for x in (context, changes)]
        is_long = min(map(len, parts)) >= max(3 * season, 48)
        if is_long and all(x[-len(x) // 4 :].mean() > GROWTH * x.mean() for x in parts):
            grown.append(i)
    if 10 * len(grown) > len(looked_at):
        warn_user(
            f"{100 * len(grown) / len(looked_at):.0f} % of the series grow, such as "
            f"{panel.names[grown[0]][0]!r}: intervals of {DEFAULT} are too narrow for them (about "
            "70 % are covered where 80 % is said). Call calibrate(frame, windows=20)."
        )


def _warn_of_silent_channels(windows):
    """Warn of channels without a value in their context, whose forecasts are NaN."""
    panel = windows.panel
    if panel.num_channels > 1:
        contexts = (
            panel.values[max(end - windows.context_length, begin) : end]
            for begin, end in zip(panel.begins, windows.cuts, strict=True)
        )
        names = [
            str(name)
            for channels, context in zip(panel.names, contexts, strict=True)
            for name in channels[np.isnan(context).all(axis=0)]
        ]
        if names:
            warn_user(
                f"{len(names)} channels have no value in their last {windows.context_length} "
                f"steps and no forecast, {names[0]!r} is the first."
            )


def _warn_of_unknown_spread(windows):
    """Warn of contexts of too few known values, all equal, to say how far the next one may be.

    Published weights see nothing else of a series. After n equal values, another one that differs
    has a probability of about 1 / (n + 1), so that an interval of 80 % needs 4 of them.
    """
    panel, enough = windows.panel, min(windows_needed(80), windows.context_length)
    first = np.maximum(windows.cuts - windows.context_length, panel.begins[windows.series])
    few = panel.num_known[windows.cuts] - panel.num_known[first] < enough
    names = [
        str(panel.names[windows.series[i], 0])
        for i in np.flatnonzero(few)
        if np.nanmax(np.ptp(_known_part(panel.values[first[i] : windows.cuts[i]]), axis=0)) == 0
    ]
    if names:
        warn_user(
            f"{len(names)} series have fewer than {enough} known values in their last "
            f"{windows.context_length} steps, all equal: nothing says how far the next values may "
            f"be, and their intervals are too narrow; {names[0]!r} is the first."
        )


def _known_part(values):
    """Return the rows `(rows, channels)` of values that have a known one."""
    return values[~np.isnan(values).all(axis=1)]


def forecast_windows(state, windows, static=None, **options):
    """Return the `Forecasts` of at least one window.

    If the windows are longer than the forecast of the model, they are continued from sample paths,
    see `Continuation`; if they are shorter, the forecast is cut.

    Args:
        state: `FittedState`.
        windows: `Windows` of the state's horizon.
        static: Frame of static covariates, which conformal intervals by one of its columns need
            inside a continuation.
        **options: Arguments of `continued_paths`, for a continuation.

    Raises:
        ValueError: If float32 cannot hold a history, or float64 a forecast.
    """
    steps, native = windows.prediction_length, state.native
    if steps == native.native_length or (state.decodes and native is state):
        return forecasts_of(state, windows, *_run_windows(state, windows))
    own = native_windows(windows, native.native_length)
    if steps < own.prediction_length:
        parameters, scale = _run_windows(native, own)
        return forecasts_of(state, windows, parameters[:, :steps], scale)
    if isinstance(native.head, heads.PointHead) and own_intervals(native) is None:
        parameters = continue_points(native, own, steps, forecast_rows)
        scale = _run_windows(native, own)[1]
        return forecasts_of(state, windows, parameters, scale)
    made = options.pop("first", None) or forecasts_of(native, own, *_run_windows(native, own))
    options = {"num_paths": state.config.num_samples, "first": made, **options}
    paths = continued_paths(state, windows, seed=state.config.seed, static=static, **options)
    return continued_forecasts(state, windows, paths, made, static)


def forecast_table(state, windows, static, levels, thresholds, alias, *, is_backtest=False):
    """Return the frame of forecasts of windows, each from the last known value of its series.

    Args:
        state: `FittedState`.
        windows: `Windows` of the steps that are asked for, see `SeriesEnds`.
        static: See `forecast_windows`.
        levels: Percents of the intervals.
        thresholds: See `Forecasts.columns`.
        alias: str, name of the forecast column.
        is_backtest: bool, whether outcomes are known, see `Forecasts.frame` and `conformal`.
    """
    all_levels = state.levels(None) if state.intervals else levels
    whole = None

    def columns(state, windows, chosen=None):
        nonlocal whole
        options = {}
        if chosen is not None:
            stored, steps = state.native.dependence, state.native_length
            is_learnt = stored is not None and len(stored.steps) >= steps
            options = {**LATE, "dependence": stored if is_learnt else Dependence.default(steps)}
            if whole.windows.prediction_length == steps:
                options["first"] = whole.part(chosen)
        made = forecast_windows(state, windows, static, **options)
        if chosen is None:
            whole = made
        follow = is_backtest and chosen is None
        made, widths = made.conformal(state.intervals, all_levels, static, follow=follow)
        return made.columns(levels, widths, alias, thresholds)

    found = SeriesEnds.of(state.config, windows).forecast(state, columns)
    return pd.DataFrame(key_columns(windows, is_backtest) | found, copy=False)


def continued_paths(state, windows, num_paths, seed, static=None, dependence=None, **options):
    """Return sample paths `(windows, num_paths, prediction_length, num_channels)`.

    Arguments are those of `forecast_windows` and of `Continuation`, the number of paths and their
    seed. The `Dependence` is by default that of the state, or of the history.
    """
    native, own = state.native, native_windows(windows, state.native.native_length)
    if dependence is None and not state.decodes:
        dependence = find_dependence(native, known_history(windows), forecast_windows)
    arguments = native, own, windows.prediction_length, dependence, forecast_rows, static
    return Continuation(*arguments, **options).paths(num_paths, seed)


def continued_forecasts(state, windows, paths, made, static=None):
    """Return the `Forecasts` of the distribution of sample paths of these windows.

    Quantiles of the first steps, which the model forecasts itself, are exact.

    Args:
        state: See `forecast_windows`, like `windows` and `static`.
        windows: `Windows`.
        paths: Sample paths of `continued_paths`.
        made: `Forecasts` of the windows by the model.
        static: Frame of static covariates, or None.
    """
    native, own = state.native, made.windows
    head, parameters = quantiles_of(state, paths)
    if isinstance(head, heads.GivenQuantiles):
        levels = np.reshape(head.levels, (-1, 1, 1, 1))
        first = model_marginals(native, made, static).quantiles(levels)
        parameters[:, : own.prediction_length] = np.moveaxis(first, 0, -1)
    low, high = _bounds(state, windows)
    output = head if low is None and high is None else Bounded(head, low, high)
    return Forecasts(windows, output, parameters, made.scale)


def _bounds(state, windows):
    """Return the bounds of the steps of windows; those after the last known one have its bounds."""
    rows = windows.cuts[:, None] + np.arange(windows.prediction_length)
    last = windows.panel.ends[windows.series, None] - 1
    return state.config.bounds_in(windows.panel, np.minimum(rows, last))


def _run_windows(state, windows):
    """Return the parameters of the forecasts of windows and their scales, computed in batches.

    Windows of few steps are together, because a batch of them may be computed with fewer steps.
    """
    num_steps = windows.cuts - windows.panel.begins[windows.series]
    order = np.argsort(np.minimum(num_steps, windows.context_length), kind="stable")
    place = np.argsort(order)
    return [x[place] for x in _run_batches(state, _batches(state, windows, order))]


def _batches(state, windows, order):
    """Yield the inputs of some windows at a time; fewer if each has many samples."""
    size = BATCH
    if state.decodes:
        most = max(1, BATCH * SAMPLES_PER_BATCH // state.config.num_samples)
        size = max(x for x in BATCHES if x <= most)
    for start in range(0, len(windows), size):
        yield windows.histories(order[start : start + size])


def _run_batches(state, batches):
    """Return the parameters of forecasts and the scales of their windows."""
    parts, size = [], 1
    for inputs in batches:
        # Fill the last batch to the size of the others, because the graph is compiled for it.
        if compiles():
            size = max(size, len(inputs["history"]))
        parts.append(forecast_arrays(state, inputs, size))
        silent = np.isnan(inputs["history"]).all(axis=1)  # whose forecasts are NaN
        check_finite_output(parts[-1][0].swapaxes(1, 2)[~silent])
    parameters, scales = map(np.concatenate, zip(*parts, strict=True))
    return parameters, scales


def forecast_rows(state, windows, inputs):
    """Return the `Forecasts` of windows from their inputs, in batches."""
    batches = (
        {name: x[start : start + BATCH] for name, x in inputs.items()}
        for start in range(0, len(windows), BATCH)
    )
    return forecasts_of(state, windows, *_run_batches(state, batches))


def forecast_outputs(state, inputs):
    """Return the forecast of raw histories, see `Forecaster.forecast_histories`.

    Raises:
        TypeError: If `inputs` is not a dict.
        ValueError: If an input is missing, or a bound that is a column of frames.
    """
    if not isinstance(inputs, dict):
        given = type(inputs).__name__
        raise TypeError(f"inputs must be a dict of arrays such as 'history', got {given}.")
    shapes = {"history": "(batch, context_length, num_channels)"}
    shapes |= {x.name: tuple(x.shape) for x in inputs_of(state.model)[1:]}
    internal = {"decoder_inputs", *least_inputs(state.model)}
    absent = [name for name in shapes if name not in internal and name not in inputs]
    if absent:
        raise ValueError(
            f"the input {absent[0]!r} {shapes[absent[0]]} is missing, got {sorted(inputs)}."
        )
    columns = bound_inputs(state.config.bounds)
    missing = [name for name in columns if name not in inputs]
    if missing:
        raise ValueError(
            f"bounds={state.config.bounds} are columns: the inputs {missing} are missing, arrays "
            "(batch, prediction_length, 1)."
        )
    names = zip(("lower_bound", "upper_bound"), state.config.bounds or (None, None), strict=True)
    inputs, gaps = _moved(state, inputs, columns)
    bounds = [inputs[x] if x in columns else bound for x, bound in names]
    inputs = {name: array for name, array in inputs.items() if name not in columns}
    outputs = state.output(*bounds).outputs(forecast_arrays(state, inputs)[0])
    if not gaps.any():
        return outputs
    return {name: after_missing_ends(x, gaps) for name, x in outputs.items()}


def _moved(state, inputs, columns):
    """Return inputs that end at the last known values of their histories, and by how many steps.

    Args:
        state: `FittedState`.
        inputs: See `forecast_outputs`.
        columns: Names of the inputs of bounds.
    """
    inputs = {name: np.asarray(x) for name, x in inputs.items()}
    inputs |= {name: inputs[name].astype("float64") for name in ("history", *columns)}
    timed = inputs.keys() & {"past_covariates", "future_covariates", *columns}
    is_shared = bool(timed) or "position" in inputs or state.config.mixes_channels
    history = inputs["history"]
    gaps = count_missing_ends(history, is_shared)
    if state.config.fill == "zero" or not gaps.any():
        return inputs, 0 * gaps
    for name in ("history", *timed):
        inputs[name] = move_steps(inputs[name], gaps, history.shape[1] - 1)
    if "position" in inputs:
        inputs["position"] = inputs["position"] - gaps[:, 0, 0]
    return inputs, gaps


def forecasts_of(state, windows, parameters, scale):
    """Return `Forecasts` of these parameters, within the bounds of the series."""
    return Forecasts(windows, state.output(*_bounds(state, windows)), parameters, scale)


def forecast_arrays(state, inputs, at_least=1):
    """Forecast raw histories: every forecast in Python is made here.

    The graph computes in float32. A pivot is subtracted from each window, which is then divided by
    a unit; both are computed, and undone in the forecast, in float64.

    Args:
        state: `FittedState`.
        inputs: Dict of arrays by the names of the model's inputs, see
            `Forecaster.forecast_histories`, with or without "typical", see
            `Windows.typical_of`.
        at_least: int, smallest size of the batch, see `run_padded`.

    Returns:
        Parameters `(batch, prediction_length, num_channels[, size])`, NaN for channels without a
        value, and the scale of the errors of each window `(batch, 1, num_channels)`, float64, in
        the units of the series, see `WindowScaler.error_scale`.
    """
    history = np.asarray(inputs["history"], "float64")
    with np.errstate(over="ignore", invalid="ignore"):
        relative, pivot, unit = pivot_windows(history, state.equivariance)
        # The values of a window seed its samples: these must not depend on the unit.
        dtype = "float64" if state.decodes else "float32"
        relative = relative.astype(dtype)
    if np.isinf(relative).any():
        raise ValueError("history has values that float32 cannot hold.")
    typical, scaler = inputs.get("typical"), state.config.scaler
    scale = scaler.error_scale(history, typical)
    if state.intervals is not None and state.intervals.scales is None:  # of version 0.3
        scale = scaler.statistics(history, least=scale * 0.0)[1]
    others = {x: y for x, y in inputs.items() if x not in ("history", "typical")}
    for name, scaler in state.least.items():
        others[name] = (scaler.least_scale(history, typical) / unit).astype(dtype)
    parameters = state.run({"history": relative, **others}, at_least).astype("float64")
    if state.equivariance:
        parameters = state.head.rescale(parameters, pivot, unit)
    silent = np.isnan(history).all(axis=1)  # (batch, num_channels), nothing to forecast from
    parameters.swapaxes(1, 2)[silent] = np.nan
    return parameters, scale
