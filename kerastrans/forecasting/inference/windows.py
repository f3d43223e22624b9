"""Windows of a panel with the inputs of a model."""

from dataclasses import dataclass, replace

import numpy as np

from kerastrans.data.panel_windows import Windows
from kerastrans.decoding.contract import patch_length_of
from kerastrans.decoding.graph import history_input, missing_inputs
from kerastrans.forecasting.inference.horizon import beyond_horizon
from kerastrans.models.parts.forecast_graph import least_inputs
from kerastrans.utils.user_warnings import warn_user


def windows_of(owner, panel, series, cuts, ends=None, weights=None, limits=None):
    """Return the `Windows` of a panel for a model.

    Args:
        owner: `FittedState`, or training data, with a `config` and a `model`.
        panel: `Panel`.
        series: Array `(windows,)`, see `Windows`, as the following.
        cuts: Row of each first target.
        ends: Rows before which values set the typical scale of a series.
        weights: Probabilities of the windows when they are shuffled.
        limits: Rows after the last known target.
    """
    config, model = owner.config, owner.model
    names = {tensor.name for tensor in model.inputs}
    return Windows(
        panel,
        config.context_length,
        config.prediction_length,
        series,
        cuts,
        scaler=config.scaler,
        fill=config.fill,
        calendar=config.calendar,
        position="position" in names,
        decoder_patch=patch_length_of(model) if "decoder_inputs" in names else 0,
        history=history_input(model).name,
        missing=missing_inputs(model),
        ends=ends,
        weights=weights,
        limits=limits,
        relative=getattr(owner, "relative", ""),
        least=least_inputs(model),
    )


def missing_ends(config, windows):
    """Return how many values are missing at the end of each context, `(windows, num_channels)`.

    A series ends at its last known value: forecasts begin after it, and what is missing belongs to
    their horizon. Only this function decides where that is. A model that mixes channels has one
    end for all of them, the last step at which any is known. With `fill="zero"` a missing value is
    a value. A context without any value counts as complete.

    Args:
        config: `Config`.
        windows: `Windows`.
    """
    most = windows.context_length
    if config.fill == "zero":
        return np.zeros((len(windows), windows.panel.num_channels), int)
    counts = windows.panel.missing_ends(windows.series, windows.cuts, most)
    if config.mixes_channels:
        counts[:] = counts.min(axis=1, keepdims=True)
    return np.where(counts < most, counts, 0)


def warn_of_missing_ends(config, windows):
    """Warn of series that end with missing values, and of what is then not used."""
    panel, counts = windows.panel, missing_ends(config, windows)
    is_late, names, steps = counts > 0, panel.names[windows.series], windows.prediction_length
    if config.mixes_channels and config.fill != "zero":
        alone = panel.missing_ends(windows.series, windows.cuts, windows.context_length)
        is_filled = (alone > counts) & (alone < windows.context_length)
        if is_filled.any():
            warn_user(
                f"{names[is_filled][0]!r} ends before other channels, which the model mixes with "
                "it: its missing values are filled as those before them."
            )
        counts, is_late, names = counts[:, :1], is_late[:, :1], names[:, :1]  # one end for all
    if not is_late.any():
        return
    counts, names = counts[is_late], names[is_late]
    if is_late.all():
        rows = counts.min()
        warn_user(
            f"the last {rows} rows of every series have no value: the forecast begins after them. "
            f"To forecast these rows, leave them out, and give their covariates as future and "
            f"prediction_length={rows}; kerastrans forecast does it with --fill-rows."
        )
    else:
        warn_user(
            f"{len(counts)} of {is_late.size} series end with missing values, {names[0]!r} with "
            f"{counts[0]}: they are a part of the horizon, which begins after its last known value."
        )
    if counts.max() > steps:
        warn_user(
            f"{(counts > steps).sum()} series end with more missing values than "
            f"prediction_length={steps}, {names[counts.argmax()]!r} with {counts.max()}: their "
            "forecasts are continued over the outage, and uncertain."
        )
    if config.past:
        warn_user(
            f"the past covariates {list(config.past)} after the last known value of a series are "
            "not used."
        )


@dataclass(frozen=True)
class SeriesEnds:
    """Windows that begin after the last known values of their series, see `missing_ends`.

    Attributes:
        windows: `Windows` of the steps that are asked for.
        moved: `Windows` with the same number of steps, one for each end of each window.
        gaps: `(moved,)`, number of steps before those that are asked for.
        places: `(windows, num_channels)`, place of the window of each channel in `moved`.
    """

    windows: Windows
    moved: Windows
    gaps: np.ndarray
    places: np.ndarray

    @classmethod
    def of(cls, config, windows):
        """Return the ends of the series of some windows."""
        gaps, base = missing_ends(config, windows), windows.context_length
        keys = base * np.arange(len(windows))[:, None] + gaps
        found, places = np.unique(keys, return_inverse=True)
        number, gap = np.divmod(found, base)
        moved = replace(windows, series=windows.series[number], cuts=windows.cuts[number] - gap)
        return cls(windows, moved, gap, places.reshape(gaps.shape))

    def distinct(self):
        """Return the moved windows, each of them once, and the channels that they are moved for.

        Several windows of one outage begin after the same known value.
        """
        moved, (_, num_channels) = self.moved, self.places.shape
        if not self.gaps.any():
            return moved, None
        keys = moved.series * len(moved.panel.values) + moved.cuts
        _, first, places = np.unique(keys, return_index=True, return_inverse=True)
        counted = np.zeros((len(first), num_channels), bool)
        counted[places[self.places], np.arange(num_channels)] = True
        return replace(moved, series=moved.series[first], cuts=moved.cuts[first]), counted

    def forecast(self, state, function, *, joint=False):
        """Return forecasts of the steps that are asked for.

        Those within the horizon of the model are the model's own. Only those beyond it are
        continued, and only for the windows that need it.

        Args:
            state: `FittedState`.
            function: Function from a state and `Windows` of its horizon to a dict of arrays
                `(rows, ...)`, with one row per window, channel and step. It is called with all
                `moved` windows; then with those whose horizon is longer, and their places.
            joint: bool, whether all steps of a window have to come from one call.

        Returns:
            Dict of arrays, with the rows of `windows`.
        """
        steps, channels = self.windows.prediction_length, np.arange(self.places.shape[1])
        late, native = np.flatnonzero(self.gaps), state.native_length
        parts = [(steps, np.arange(len(self.gaps)), function(state, self.moved))]
        if not len(late):
            return parts[0][-1]
        # An autoregressive model has the columns ahead only of the steps that are asked for.
        has_columns = self.moved.panel.future.shape[1] + self.moved.panel.limits.shape[1]
        block = 1 if state.decodes and has_columns else native
        needed = -(-(self.gaps[late] + steps) // block) * block
        is_cut = not (state.decodes or joint) and steps < native
        for length in sorted({*needed.tolist(), *([native] if is_cut else [])}):
            chosen = late[(needed == length) | (is_cut and length == native)]
            cuts = {"series": self.moved.series[chosen], "cuts": self.moved.cuts[chosen]}
            windows = replace(self.moved, prediction_length=length, **cuts)
            found = function(beyond_horizon(state, length), windows, chosen)
            parts.append((length, chosen, found))
        # The row of each window, channel and step in the arrays of all parts, one after the other.
        ahead = self.gaps[self.places][..., None] + np.arange(steps)
        rows = np.zeros(ahead.shape, int)
        begins = np.cumsum([0, *(len(chosen) * len(channels) * x for x, chosen, _ in parts)])
        for begin, (length, chosen, _) in list(zip(begins, parts, strict=False))[
            :: 1 if joint else -1
        ]:
            place = np.full(len(self.gaps), -1)
            place[chosen] = np.arange(len(chosen))
            place = place[self.places][..., None]
            row = begin + (place * len(channels) + channels[:, None]) * length + ahead
            rows = np.where((place >= 0) & (ahead < length), row, rows)
        tables = [found for *_, found in parts]
        return {x: np.concatenate([y[x] for y in tables])[rows.ravel()] for x in tables[0]}
