"""Checks of what a forecast may depend on: the past of its own series, and no more."""

import numpy as np
import pandas as pd

from kerastrans.data.frames import ID, TIME
from kerastrans.testing import frames
from kerastrans.testing.frames import assert_rows_close
from kerastrans.testing.reports import NotApplicable

TOLERANCE = 1e-5
# Times the value, plus as much. What trains on the later rows, or takes them as they are, would
# diverge or overflow, and twice a count is still a count.
PERTURBATION, SMALL_PERTURBATION = 1e6, 2.0


def check_predict(case):
    """A forecast has `prediction_length` later rows a series, finite and with ordered bounds."""
    rows = case.forecast
    num_steps = case.untrained.prediction_length
    if not (rows.groupby(ID).size() == num_steps).all():
        raise AssertionError(f"a series has other than {num_steps} rows")
    table = frames.values(rows)
    if not np.isfinite(table.to_numpy("float64")).all():
        raise AssertionError(f"{np.mean(~np.isfinite(table.to_numpy())):.0%} is not finite")
    for low in (column for column in table.columns if "lo-" in column):
        if (table[low] > table[low.replace("lo-", "hi-")]).any():
            raise AssertionError(f"{low} is above its upper bound")
    last = case.frame.groupby(ID)[TIME].max() if case.is_long else case.frame.index.max()
    first = rows.groupby(ID)[TIME].min()
    if not (first > (last.loc[first.index] if case.is_long else last)).all():
        raise AssertionError("a forecast begins before its series has ended")


def check_order(case):
    """The order of the rows does not matter."""
    shuffled = case.frame.sample(frac=1, random_state=0)
    actual = case.predict(case.trained, shuffled)
    assert_rows_close(actual, case.forecast, TOLERANCE, "the forecast of shuffled rows")


def check_neighbours(case):
    """A series has the same forecast alone and among others."""
    names = case.forecast[ID].unique()
    if not case.is_long or len(names) == 1:
        raise NotApplicable("the frame holds one series")
    for name in (names[0], names[-1]):
        future = None if case.future is None else frames.one_series(case.future, name)
        alone = case.predict(case.trained, frames.one_series(case.frame, name), future)
        among = frames.one_series(case.forecast, name)
        assert_rows_close(alone, among, TOLERANCE, "the forecast of a series alone")


def _perturbed(case, cutoffs, size):
    """The frame with other values after the cutoffs, in all columns that must not be known."""
    known_ahead = case.option("future")
    columns = [*case.targets, *case.option("past")]
    rows = frames.is_after(case.frame, cutoffs)
    frame = frames.changed(case.frame, columns, rows, lambda x: size * (1 + x))
    # What is known ahead is known for the horizon, and no further.
    rows = frames.is_after(case.frame, cutoffs, case.untrained.prediction_length)
    return frames.changed(frame, known_ahead, rows, lambda x: size * (1 + x))


def _check_later_rows(case, before, backtest, size):
    cutoffs = before.groupby(ID)["cutoff"].min()
    after = backtest(_perturbed(case, cutoffs, size))
    first = [rows[rows["cutoff"] == rows[ID].map(cutoffs)] for rows in (after, before)]
    assert_rows_close(*first, TOLERANCE, "a forecast from before the change")


def check_later_rows(case):
    """Nothing after an origin changes the forecast from it."""
    size = SMALL_PERTURBATION if case.option("scaler").is_identity else PERTURBATION
    _check_later_rows(case, case.backtested, lambda x: case.backtest(case.trained, x), size)


def check_later_rows_when_refitting(case):
    """Nothing after an origin changes the forecast of the model that is trained before it."""
    _check_later_rows(
        case,
        case.refitted,
        lambda frame: case.backtest(case.untrained.clone(), frame, refit=True),
        SMALL_PERTURBATION,
    )


def _by_hand(case, cutoffs, forecaster=None):
    """Forecast from the rows up to the cutoffs, by the forecaster given or one trained on them."""
    frame = case.frame
    if case.is_long:  # a series that is too short for a backtest trains no model either
        frame = frame[frame[ID].isin(cutoffs.index)]
    rows = frames.is_after(frame, cutoffs)
    before, after = frame[~rows], frame[rows]
    if case.is_long and not before.groupby(ID)[TIME].max().equals(cutoffs.rename(TIME)):
        raise NotApplicable("a series has no row at an origin")
    if forecaster is None:
        forecaster = case.fit(frame=before)
    future = case.option("future")
    if not future:
        return forecaster.predict(before, static=case.static)
    keys = [ID, TIME] if case.is_long else []
    later = after[keys + list(future)]
    return forecaster.predict(before, future=later, static=case.static)


def _each_cutoff(rows):
    """Pairs of the cutoffs of each series and the rows from there, origin by origin."""
    origin = rows.groupby(ID)["cutoff"].rank(method="dense").astype(int)
    for _, part in rows.groupby(origin):
        yield part.groupby(ID)["cutoff"].first(), part.drop(columns=["cutoff", "y"])


def check_backtest(case):
    """A backtest's rows are what `predict` says of the rows up to each cutoff."""
    for cutoffs, rows in _each_cutoff(case.backtested):
        actual = _by_hand(case, cutoffs, case.trained)
        assert_rows_close(rows, actual, TOLERANCE, "the backtest")


def check_refit(case):
    """`backtest(refit=True)` is training by hand on the rows up to each cutoff."""
    for cutoffs, rows in _each_cutoff(case.refitted):
        assert_rows_close(rows, _by_hand(case, cutoffs), 1e-4, "the backtest")


def check_equivariance(case):
    """Scaling and shifting the data does the same to the forecast, where the scaler promises it."""
    kind = case.option("scaler").kind
    if kind is None:
        raise NotApplicable("scaler=None promises nothing")
    # A gap that is filled by zero stays where it is.
    scale, shift = 40.0, 0.0 if kind == "mean_abs" or case.option("fill") == "zero" else 7.0
    everywhere = np.ones(len(case.frame), bool)
    # Of some standard deviations: float32 resolves what is left of the data.
    shift *= float(np.nanstd(case.frame[case.targets].to_numpy("float64")))
    frame = frames.changed(case.frame, case.targets, everywhere, lambda x: scale * x + shift)
    actual = case.predict(case.trained, frame)
    expected = frames.values(case.forecast) * scale + shift
    assert_rows_close(actual, expected.reset_index(), 2e-4, "the forecast of scaled data")


def check_histories(case):
    """`forecast_histories`, which the service calls, agrees with `predict`."""
    inputs = [tensor.name for tensor in case.trained.model.inputs]
    if set(inputs) - {"history", "decoder_inputs"}:
        raise NotApplicable(f"arrays of {', '.join(inputs[1:])} are the caller's to make")
    if frames.has_gaps(case.frame):
        raise NotApplicable("the frame has gaps")
    context_length = case.trained.model.inputs[0].shape[1]
    windows = frames.windows_of(case.frame, case.targets, context_length)
    point = next(column for column in case.forecast.columns if column not in frames.KEYS)
    rows = case.forecast.sort_values([ID, TIME])
    for name, window in windows.items():
        part = rows if name is None else frames.one_series(rows, name)
        if part.empty:  # left out: it has no value
            continue
        forecast = case.trained.forecast_histories({"history": window[None]})["forecast"][0]
        expected = part.pivot(index=TIME, columns=ID, values=point)
        channels = case.targets if name is None else [name]
        actual = pd.DataFrame(forecast, expected.index, channels)[expected.columns]
        difference = (actual - expected).abs().max().max() / expected.abs().max().max()
        if not difference <= TOLERANCE:
            raise AssertionError(f"forecast_histories differs from predict by {difference:.1e}")
