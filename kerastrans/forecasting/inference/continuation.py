"""Forecasts beyond the horizon of a model, which are continued from their own sample paths."""

from dataclasses import replace

import numpy as np

from kerastrans import heads
from kerastrans.forecasting.inference.marginals import Marginals

PATHS_AT_ONCE = 4096  # number of histories in memory


class Continuation:
    """Sample paths of any length from a model that forecasts a fixed number of steps.

    The model forecasts its number of steps, and paths are drawn from this forecast. Each path is
    appended to the history, and the model forecasts again, until the paths are long enough. The
    spread thus grows with the horizon. Calendar, covariates and bounds are those of later steps,
    and conformal intervals for the trained number of steps apply to each forecast. The typical
    scale of a series is that of its history.

    Args:
        state: `FittedState` with the horizon of its model.
        windows: `Windows` of this horizon.
        prediction_length: int, number of steps of the paths.
        dependence: `Dependence` of the errors of the model.
        forecast: Function from a state, inputs and `Windows` to `Forecasts`.
        static: Frame of static covariates, for intervals by one of its columns.
        draws: int, number of values that are drawn from each forecast after a path. Only the first
            one continues the path; the others cost no further forecast.
        first: `Forecasts` of the windows by the model, if they are known.
    """

    def __init__(
        self,
        state,
        windows,
        prediction_length,
        dependence,
        forecast,
        static=None,
        draws=1,
        first=None,
    ):
        self.state, self.windows, self.prediction_length = state, windows, prediction_length
        self.dependence, self.forecast, self.static = dependence, forecast, static
        self.draws, self.first = draws, first

    def paths(self, num_paths, seed):
        """Return draws `(windows, draws * num_paths, prediction_length, num_channels)`."""
        at_once = max(1, PATHS_AT_ONCE // num_paths)
        parts = [
            self._paths(np.arange(start, min(start + at_once, len(self.windows))), num_paths, seed)
            for start in range(0, len(self.windows), at_once)
        ]
        return np.concatenate(parts)

    def _paths(self, chosen, num_paths, seed):
        windows, steps = self.windows, self.windows.prediction_length
        panel, cuts = _extended(windows, chosen, self.prediction_length)
        names = panel.names[:, :].astype(str)
        numbers = np.repeat(panel.numbers(np.arange(len(chosen)), cuts), panel.num_channels)
        drawn = np.zeros((len(chosen), self.draws * num_paths, 0, panel.num_channels))
        for block in range(-(-self.prediction_length // steps)):
            copies = num_paths if block else 1
            series = np.repeat(np.arange(len(chosen)), copies)
            here = replace(windows, panel=panel, series=series, cuts=cuts[series] + block * steps)
            state = self.state.with_samples(self.draws if block else num_paths, seed)
            if block or self.first is None:
                inputs = here.histories()
                inputs["typical"] = np.repeat(windows.typical_of(chosen), copies, axis=0)
                paths = drawn[:, :num_paths].reshape(len(series), -1, panel.num_channels)
                _append(inputs["history"], paths)
                made = self.forecast(state, here, inputs)
            else:
                made = self.first.part(chosen)
            if self.state.decodes:
                found = self._samples(made, num_paths, block > 0)
            else:
                first = numbers + block * steps
                probabilities = self._probabilities(names, num_paths, (seed, block), first)
                found = self._draw(made, probabilities, block > 0)
            drawn = np.concatenate([drawn, found], axis=2)
        return drawn[:, :, : self.prediction_length]

    def _samples(self, forecasts, num_paths, is_repeated):
        """Return what an autoregressive model has drawn, as `_draw` does."""
        count = self.draws if is_repeated else num_paths
        paths = np.moveaxis(forecasts.parameters[..., :count], -1, 0)  # (samples, forecasts, ...)
        if own_intervals(self.state) is not None:
            paths = with_ranks_of(paths, model_marginals(self.state, forecasts, self.static))
        elif self.state.config.bounds:
            paths = forecasts.output.clip(paths)
        if not is_repeated:
            return np.concatenate([paths.swapaxes(0, 1)] * self.draws, axis=1)
        paths = paths.reshape(count, -1, num_paths, *paths.shape[2:]).swapaxes(0, 1)
        return paths.reshape(len(paths), -1, *paths.shape[3:])

    def _probabilities(self, names, num_paths, seed, first):
        """Return probabilities `(windows, draws * num_paths, steps, num_channels)`."""
        drawn = [
            self.dependence.probabilities(names.ravel(), num_paths, (*seed, *draw), first)
            for draw in [(), *((i,) for i in range(1, self.draws))]
        ]
        drawn = np.concatenate(drawn, axis=1)[..., : self.windows.prediction_length]
        return np.moveaxis(drawn.reshape(*names.shape, *drawn.shape[1:]), 1, -1)

    def _draw(self, forecasts, probabilities, is_repeated):
        """Return one draw `(windows, draws * num_paths, steps, num_channels)` for each probability.

        If it is repeated, each path has a forecast; the number of a draw is `i * num_paths + path`.
        """
        marginals = model_marginals(self.state, forecasts, self.static)
        if not is_repeated:
            return np.moveaxis(marginals.quantiles(np.moveaxis(probabilities, 1, 0)), 0, 1)
        rows = np.stack(np.split(probabilities, self.draws, axis=1))
        found = marginals.quantiles(rows.reshape(self.draws, -1, *rows.shape[3:]))
        return np.concatenate(found.reshape(rows.shape), axis=1)


def own_intervals(state):
    """Return the conformal intervals of one forecast of the model, or None.

    Intervals that were calibrated for another number of steps apply to the whole forecast.
    """
    intervals = state.intervals
    if intervals is None or intervals.prediction_length != state.native_length:
        return None
    return replace(intervals, scales=None)  # a path may leave the scales of the calibration


def model_marginals(state, forecasts, static=None):
    """Return the `Marginals` of one forecast of the model, with `own_intervals`."""
    intervals = own_intervals(state)
    levels = () if intervals is None else tuple(intervals.offsets)
    return Marginals(*forecasts.conformal(intervals, levels, static))


def with_ranks_of(paths, marginals):
    """Return values of some distributions in the order of paths `(paths, windows, ...)`.

    Source: Schefzik, Thorarinsdottir, Gneiting (2013), ensemble copula coupling.
    """
    ranks = paths.argsort(axis=0, kind="stable").argsort(axis=0, kind="stable")
    return marginals.quantiles((ranks + 1) / (len(paths) + 1))


def continue_points(state, windows, prediction_length, forecast):
    """Return point forecasts `(windows, prediction_length, num_channels)` fed back as history.

    Arguments are those of `Continuation`.
    """
    steps, chosen = windows.prediction_length, np.arange(len(windows))
    panel, cuts = _extended(windows, chosen, prediction_length)
    points = np.zeros((len(windows), 0, panel.num_channels))
    for block in range(-(-prediction_length // steps)):
        here = replace(windows, panel=panel, series=chosen, cuts=cuts + block * steps)
        inputs = here.histories() | {"typical": windows.typical_of(chosen)}
        _append(inputs["history"], points)
        made = forecast(state, here, inputs)
        points = np.concatenate([points, made.output.point(made.parameters)], axis=1)
    return points[:, :prediction_length]


def quantiles_of(state, paths):
    """Return the head and the parameters of the distribution of sample paths.

    Quantiles stay quantiles, also those of conformal intervals; another distribution becomes
    samples.

    Args:
        state: `FittedState`.
        paths: `(windows, num_paths, prediction_length, num_channels)`.
    """
    samples, head = np.moveaxis(paths, 1, -1), heads.of(state.model)
    is_quantiles = isinstance(head, heads.QuantileHead) and not state.decodes
    if head.has_parameter_axis and not is_quantiles:
        return heads.Samples(head), samples
    levels, weights = set(getattr(head, "levels", (0.5,))), getattr(head, "point_weights", None)
    if state.intervals is not None:
        tails = [(1 - level / 100) / 2 for level in state.intervals.offsets]
        levels |= {*tails, *(1 - x for x in tails), 0.5}
    levels = sorted({round(x, 9) for x in levels})
    weights = weights if len(levels) == head.size else None
    return heads.GivenQuantiles(levels, weights), heads.Samples().quantile(samples, levels)


def _extended(windows, chosen, prediction_length):
    """Return a panel of the contexts of some windows and the steps after them, and its cuts.

    The steps are those of whole forecasts of the model, at least `prediction_length`.
    Each window becomes a series. Its values and past covariates after the cut are missing; other
    covariates, limits and the clock are those of the panel.
    """
    panel = windows.panel
    steps = -(-prediction_length // windows.prediction_length) * windows.prediction_length
    rows, layout = [np.zeros(1, int)], []
    for window in chosen:
        series, cut = windows.series[window], windows.cuts[window]
        begin = max(panel.begins[series], cut - windows.context_length)
        # The last forecast of the model may be longer: it has the covariates of the last step.
        last = min(panel.ends[series], cut + prediction_length) - 1
        after = np.minimum(cut + np.arange(steps), last)
        rows.append(np.concatenate([np.arange(begin, cut), after]))
        layout.append((series, panel.numbers(series, begin), cut - begin))
    ends = np.cumsum([len(part) for part in rows])
    begins, rows = ends[:-1], np.concatenate(rows)
    series, first, lengths = np.array(layout).T
    cuts = begins + lengths
    arrays = {name: getattr(panel, name)[rows] for name in ("values", "past", "future", "limits")}
    for begin, end in zip(cuts, ends[1:], strict=True):
        arrays["values"][begin:end] = arrays["past"][begin:end] = np.nan
    sizes = {"begins": begins, "ends": ends[1:], "cuts": cuts, "first": first}
    names = {"names": panel.names[series], "static": panel.static[series]}
    return replace(panel, **arrays, **sizes, **names), cuts


def _append(history, paths):
    """Replace the last steps of histories `(rows, time, num_channels)` by those of their paths."""
    steps = min(history.shape[1], paths.shape[1])
    if steps:
        history[:, -steps:] = paths[:, paths.shape[1] - steps :]


def native_windows(windows, steps):
    """Return windows of another number of steps."""
    return replace(windows, prediction_length=steps)


def known_history(windows):
    """Return the panel of the series of some windows, up to the earliest cut of each."""
    panel = windows.panel
    cuts = np.full(len(panel), len(panel.values))
    np.minimum.at(cuts, windows.series, windows.cuts)
    return panel.until(np.minimum(cuts, panel.cuts))
