"""Checks that a forecast depends only on the past of its series."""

import functools
import itertools

import numpy as np
import pandas as pd

from kerastrans.data.frames import ID, TIME
from kerastrans.evaluation.columns import read_columns
from kerastrans.testing import frames
from kerastrans.testing.frames import assert_rows_close
from kerastrans.testing.reports import NotApplicable

TOLERANCE = 1e-5
# Values are replaced by (1 + value) times this factor. A model that trains on later rows, or reads
# them unscaled, would diverge or overflow with the first factor; the second keeps counts small.
PERTURBATION, SMALL_PERTURBATION = 1e6, 2.0
# Pairs of a scale and a shift in standard deviations; float64 still resolves the last.
TRANSFORMS = (40.0, 7.0), (40.0, 0.0), (1e-8, 0.0), (1e8, 0.0), (1.0, 1e8)


def check_predict(case):
    """Check that a forecast has the right rows, finite values and ordered bounds."""
    rows = case.forecast
    num_steps = case.untrained.prediction_length
    if not (rows.groupby(ID).size() == num_steps).all():
        raise AssertionError(f"a series does not have {num_steps} rows")
    table = frames.values(rows)
    _assert_finite(rows, "the forecast")
    bounds = list(read_columns(rows).intervals.values())  # each inside the following ones
    ordered = [*(low for low, _ in reversed(bounds)), *(high for _, high in bounds)]
    for below, above in itertools.pairwise(ordered):
        if (table[below] > table[above]).any():
            raise AssertionError(f"{below} is above {above}")
    last = case.frame.groupby(ID)[TIME].max() if case.is_long else case.frame.index.max()
    first = rows.groupby(ID)[TIME].min()
    if not (first > (last.loc[first.index] if case.is_long else last)).all():
        raise AssertionError("a forecast begins before the end of its series")


def check_order_of_rows(case):
    """Check that the order of the rows does not matter."""
    shuffled = case.frame.sample(frac=1, random_state=0)
    actual = case.predict(case.trained, shuffled)
    assert_rows_close(actual, case.forecast, TOLERANCE, "the forecast of shuffled rows")


def check_neighbours(case):
    """Check that a series' forecast does not depend on the other series in the frame."""
    names = case.forecast[ID].unique()
    if not case.is_long or len(names) == 1:
        raise NotApplicable("the frame contains a single series")
    for name in dict.fromkeys((names[0], names[len(names) // 2], names[-1])):
        future = None if case.future is None else frames.one_series(case.future, name)
        separate = case.predict(case.trained, frames.one_series(case.frame, name), future)
        together = frames.one_series(case.forecast, name)
        assert_rows_close(separate, together, TOLERANCE, "the forecast of a single series")


def _change_later_rows(case, cutoffs, size):
    """Return the frame with other values after the cutoffs in all columns unknown by then."""
    future_columns = case.option("future")
    columns = [*case.targets, *case.option("past")]
    rows = frames.is_after(case.frame, cutoffs)
    frame = frames.change_rows(case.frame, columns, rows, lambda x: size * (1 + x))
    # Future covariates are known up to the horizon, and change only after it.
    rows = frames.is_after(case.frame, cutoffs, case.untrained.prediction_length)
    return frames.change_rows(frame, future_columns, rows, lambda x: size * (1 + x))


def _check_later_rows(case, before, backtest, size):
    """Check that the forecasts from the first origins stay the same if later rows change."""
    cutoffs, _ = next(_each_cutoff(before))
    after = backtest(_change_later_rows(case, cutoffs, size))
    first = [rows[rows["cutoff"] == rows[ID].map(cutoffs)] for rows in (after, before)]
    assert_rows_close(*first, TOLERANCE, "a forecast from before the change")


def check_later_rows(case):
    """Check that rows after an origin do not change the forecast from it."""
    size = SMALL_PERTURBATION if case.option("scaler").is_identity else PERTURBATION
    _check_later_rows(case, case.backtested, lambda x: case.backtest(case.trained, x), size)


def check_later_rows_when_refitting(case):
    """Check that rows after an origin do not change a model that is trained before it."""
    _check_later_rows(
        case,
        case.refitted,
        lambda frame: case.backtest(case.trained, frame, refit=True),
        SMALL_PERTURBATION,
    )


def _predict_from(case, cutoffs, forecaster=None):
    """Forecast from the rows up to the cutoffs, with a model trained on them if none is given."""
    frame = case.frame
    if case.is_long:  # series that are too short for a backtest are not used for training either
        frame = frame[frame[ID].isin(cutoffs.index)]
    rows = frames.is_after(frame, cutoffs)
    before, after = frame[~rows], frame[rows]
    if case.is_long and not (before.groupby(ID)[TIME].max() == cutoffs).all():
        raise NotApplicable("a series has no row at an origin")
    if forecaster is None:
        forecaster = case.fit(frame=before)
    future = case.option("future")
    if not future:
        return forecaster.predict(before, static=case.static)
    if frames.has_gaps(after):
        raise NotApplicable("the covariates of a step to forecast are missing")
    keys = [ID, TIME] if case.is_long else []
    future_rows = after[keys + list(future)]
    return forecaster.predict(before, future=future_rows, static=case.static)


def _each_cutoff(rows):
    """Yield the cutoffs of the series at each origin, the earliest first, and its rows.

    Origins are counted from the last: a short series has no early ones.
    """
    origin = rows.groupby(ID)["cutoff"].rank(method="dense", ascending=False).astype(int)
    for _, part in rows.groupby(-origin):
        yield part.groupby(ID)["cutoff"].first(), part.drop(columns=["cutoff", "y"])


def check_backtest(case):
    """Check that a backtest equals `predict` on the rows up to each cutoff."""
    for cutoffs, rows in _each_cutoff(case.backtested):
        actual = _predict_from(case, cutoffs, case.trained)
        assert_rows_close(rows, actual, TOLERANCE, "the backtest")


def check_refit(case):
    """Check that `backtest(refit=True)` equals training on the rows up to each cutoff."""
    for cutoffs, rows in _each_cutoff(case.refitted):
        assert_rows_close(rows, _predict_from(case, cutoffs), 1e-4, "the backtest")


def check_equivariance(case):
    """Check that scaling and shifting the data does the same to the forecast, if claimed."""
    kind = case.option("scaler").kind
    if kind is None:
        raise NotApplicable("scaler=None does not claim equivariance")
    if case.option("bounds"):
        raise NotApplicable("bounds do not scale with the data")
    all_rows = np.ones(len(case.frame), bool)
    deviation = float(np.nanstd(case.frame[case.targets].to_numpy("float64")))
    for scale, shift in TRANSFORMS:
        # Missing values that are filled with zero cannot be shifted.
        if shift and (kind == "mean_abs" or case.option("fill") == "zero"):
            continue
        offset = shift * deviation
        transform = functools.partial(_transform, scale=scale, offset=offset)
        frame = frames.change_rows(case.frame, case.targets, all_rows, transform)
        rows = frames.values(case.predict(case.trained, frame))
        actual = ((rows - offset) / scale).reset_index()
        what = f"the forecast of data times {scale:g} plus {shift:g} standard deviations"
        assert_rows_close(actual, case.forecast, 2e-4, what)


def _transform(x, scale, offset):
    return scale * x + offset


def check_plain_values(case):
    """Check that the forecasts of constant, all-zero and perfectly seasonal series are finite."""
    functions = {
        "constant": lambda x: np.full(len(x), 5.0),
        "perfectly seasonal": lambda x: np.arange(len(x)) % 7.0,
        "all-zero": np.zeros_like,
    }
    for name, function in functions.items():
        rows = case.predict(case.trained, _with_values(case, function))
        _assert_finite(rows, f"the forecast of {name} series")


def check_training_on_zeros(case):
    """Check that a model that was trained on series of zeros forecasts them with finite values."""
    frame = _with_values(case, np.zeros_like)
    rows = case.predict(case.fit(frame=frame), frame)
    _assert_finite(rows, "the forecast after training on zeros")


def _with_values(case, function):
    """Return the frame with other values in all rows."""
    if case.option("bounds"):
        raise NotApplicable("the values may be out of bounds")
    return frames.change_rows(case.frame, case.targets, np.ones(len(case.frame), bool), function)


def _assert_finite(rows, what):
    """Raise AssertionError unless a forecast and its intervals are finite."""
    is_finite = np.isfinite(frames.values(rows).to_numpy("float64"))
    if not is_finite.all():
        raise AssertionError(f"{np.mean(~is_finite):.0%} of {what} is not finite")


def check_histories(case):
    """Check that `forecast_histories`, which the service calls, agrees with `predict`."""
    inputs = [tensor.name for tensor in case.trained.model.inputs]
    if set(inputs) - {"history", "decoder_inputs"}:
        raise NotApplicable(f"the caller must provide the arrays {', '.join(inputs[1:])}")
    if frames.has_gaps(case.frame):
        raise NotApplicable("the frame has gaps")
    context_length = case.trained.model.inputs[0].shape[1]
    windows = frames.last_windows(case.frame, case.targets, context_length)
    point = next(column for column in case.forecast.columns if column not in frames.KEYS)
    rows = case.forecast.sort_values([ID, TIME])
    for name, window in windows.items():
        part = rows if name is None else frames.one_series(rows, name)
        if part.empty:  # a series without values is left out
            continue
        forecast = case.trained.forecast_histories({"history": window[None]})["forecast"][0]
        expected = part.pivot(index=TIME, columns=ID, values=point)
        channels = case.targets if name is None else [name]
        actual = pd.DataFrame(forecast, expected.index, channels)[expected.columns]
        difference = (actual - expected).abs().max().max() / expected.abs().max().max()
        if not difference <= TOLERANCE:
            raise AssertionError(f"forecast_histories differs from predict by {difference:.1e}")
