"""Histories and horizons that are cut, and the distributions that are forecast."""

import copy
from dataclasses import replace

import numpy as np
import pandas as pd

from kerastrans.data.frames import ID, TARGET, TIME, is_wide
from kerastrans.forecasting.inference.explanation import check_explains
from tools.checks import lattice
from tools.checks.fuzz import models
from tools.checks.fuzz.case import (
    DoesNotApplyError,
    affine,
    is_last,
    only_if,
    relation,
    values_of,
)
from tools.checks.lattice import HORIZON

PATHS = 100
TAIL_LIMIT = 1e-4  # for quantiles, which move more than parameters where a density is small


# Histories.


@relation("last rows only")
def last_rows(case):
    names, length = case.ordinary(), case.forecaster.context_length
    only_if(not case.mixes() or len(names) == len(case.data.names), "a channel is not ordinary")
    data = case.data.map(lambda x: x[is_last(x, length)], "frame")
    return case.difference(case.forecast(replace(data, names=names)), names)


@relation("values before the context")
def before_context(case):
    names = case.ordinary()
    only_if(not case.mixes() or len(names) == len(case.data.names), "a channel is not ordinary")
    only_if(case.recipe.bounds == "no", "bounds")

    def change(frame):
        is_early = ~is_last(frame, case.forecaster.context_length)
        return frame.assign(**{x: frame[x].mask(is_early, 7.0) for x in values_of(case.data)})

    data = case.data.map(change, "frame")
    return case.difference(case.forecast(replace(data, names=names)), names)


@relation("no row = a row without a value")
def gaps(case):
    only_if(not is_wide(case.data.frame), "a wide frame")
    recipe = case.recipe
    has_columns = recipe.past or recipe.future or recipe.category or recipe.bounds == "columns"
    only_if(not has_columns, "covariates are missing too")
    only_if(recipe.fill != "zero", "a missing value at the end is a value")
    is_inside = case.data.frame[TARGET].notna() | ~case.data.frame.duplicated(ID, keep="last")
    return case.difference(case.forecast(case.data.map(lambda x: x[is_inside], "frame")))


@relation("missing end = earlier end")
def missing_end(case):
    only_if(case.recipe.fill != "zero", "a missing value is a value")
    only_if(not case.draws, "draws depend on the number of steps")
    only_if("late" not in case.recipe.kinds, "a series ends with missing values already")
    frame, count = case.data.frame, 2
    is_late = is_last(frame, count)
    absent = frame.assign(**{x: frame[x].mask(is_late) for x in values_of(case.data)})
    cut = replace(case.data, frame=frame[~is_late])
    if case.data.future is not None:
        rows = frame[is_late][case.data.future.columns]
        cut = replace(cut, future=pd.concat([rows, case.data.future]))
    found = case.forecast(replace(case.data, frame=absent))[:, : HORIZON - count]
    return case.difference(found, base=case.forecast(cut)[:, count:])


# Times.


@relation("fewer steps")
def fewer_steps(case):
    only_if(not case.draws, "draws depend on the number of steps")
    found = case.forecast(prediction_length=3)
    return case.difference(found, base=case.base[:, :3])


@relation("more steps")
def more_steps(case):
    has_columns = case.data.future is not None or case.recipe.past
    only_if(not has_columns, "covariates of later steps are not known")
    only_if(not case.draws, "draws depend on the number of steps")
    is_exact = case.recipe.head in (None, "point", "quantiles")
    only_if(is_exact, "other distributions become samples")
    names, steps = case.ended(), HORIZON + 3
    found = case.forecast(replace(case.data, names=names), prediction_length=steps)
    return case.difference(found[:, :HORIZON], names)


def _backtest(case, frame, windows):
    rows = case.forecaster.backtest(frame, windows=windows, static=case.data.static)
    last = rows.groupby(ID)["cutoff"].transform("min" if windows > 1 else "max")
    return lattice.read_rows(case.forecaster, rows[rows["cutoff"] == last], case.data.names)


def _until(data, count):
    """Return the data without the last rows, whose covariates are those of the future."""
    frame, is_late = data.frame, is_last(data.frame, count)
    future = None if data.future is None else frame[is_late][data.future.columns]
    return replace(data, frame=frame[~is_late], future=future)


@relation("last window of a backtest = predict")
def last_window(case):
    only_if(case.recipe.calibration != "adaptive", "adaptive intervals are updated")
    found = _backtest(case, case.data.frame, 1)
    return case.difference(found, base=case.forecast(_until(case.data, HORIZON)))


@relation("outcomes after an origin")
def leak(case):
    only_if(case.recipe.bounds == "no", "bounds")
    only_if("short" not in case.recipe.kinds, "a series is too short for two origins")
    frame, is_late = case.data.frame, is_last(case.data.frame, 2 * HORIZON)
    columns = [*values_of(case.data), *(["past"] if case.recipe.past else [])]
    changed = frame.assign(**{x: frame[x].mask(is_late, 9.0) for x in columns})
    return case.difference(_backtest(case, changed, 2), base=_backtest(case, frame, 2))


# Distributions.


@relation("intervals are in order", 1e-9)
def in_order(case):
    only_if(case.base.shape[-1] > 1, "no intervals")
    levels = [50, 80]
    rows = case.forecaster.predict(case.data.frame, **case.data.given(), levels=levels)
    alias = case.forecaster.alias
    middle = f"{alias}-median" if f"{alias}-median" in rows else alias
    order = [f"{alias}-lo-80", f"{alias}-lo-50", middle, f"{alias}-hi-50", f"{alias}-hi-80"]
    parts = dict(iter(rows.groupby(ID)))
    crossings = [
        np.diff(parts[name][order].to_numpy(), axis=1).min() / unit
        for name, unit in zip(case.data.names, case.units, strict=True)
    ]
    return float(-min(0, *crossings))


@relation("probabilities of thresholds fall", 1e-9)
def thresholds(case):
    only_if(case.base.shape[-1] > 1, "no distribution")
    values = np.quantile(case.base[0], (0.0, 0.3, 0.7, 1.0)).tolist()
    only_if(len(set(values)) == 4, "equal thresholds")
    rows = case.forecaster.predict(case.data.frame, **case.data.given(), exceeds=values)
    chances = rows[[x for x in rows if "-exceeds-" in x]].to_numpy()
    assert ((chances >= 0) & (chances <= 1)).all()
    return float(np.diff(chances, axis=1).max(initial=0))


@relation("within bounds", 0.0)
def within_bounds(case):
    only_if(case.recipe.bounds != "no", "no bounds")
    assert np.isfinite(case.base).all()
    return float(max(0.0, -case.base.min()))


def _paths(case, data=None, **options):
    data = data or case.data
    paths = case.forecaster.simulate(data.frame, **data.given(), num_paths=PATHS, seed=1, **options)
    parts = dict(iter(paths.groupby(ID)))
    rows = [
        parts[x].pivot_table(index=TIME, columns="path", values=case.forecaster.alias).to_numpy()
        for x in data.names
    ]
    return np.stack(rows)


@relation("paths have the quantiles of predict", 2 / PATHS)
def quantiles_of_paths(case):
    only_if(case.base.shape[-1] > 1, "no distribution")
    only_if(not case.draws, "a sample of its own")
    is_moved = case.recipe.head in models.COUNTS and case.recipe.calibration != "no"
    only_if(not is_moved, "counts that are moved with bounds are rounded")
    places = [case.data.names.index(name) for name in case.ended()]
    paths, base, found = _paths(case)[places], case.base[places], []
    for bound, share in ((base[..., 1:2], 0.1), (base[..., 2:3], 0.9)):
        slack = 1e-6 * case.units[places, None, None]
        below = (paths < bound - slack).mean(axis=2)
        up_to = (paths <= bound + slack).mean(axis=2)
        found += [(below - share).max(), (share - up_to).max()]
    return float(max(found))


@relation("paths in other units")
def paths_in_units(case):
    only_if(case.base.shape[-1] > 1, "no distribution")
    only_if(case.forecaster.fitted.equivariance, "windows are not scaled")
    found = _paths(case, affine(case, 2.0**12)) / 2.0**12
    return case.difference(found, base=_paths(case))


@relation("bounds have their probabilities", 1e-4)
def chances(case):
    only_if(case.base.shape[-1] > 1, "no distribution")
    only_if(not case.draws and case.recipe.head not in models.COUNTS, "steps of probability")
    only_if(case.recipe.bounds == "no", "bounds have a probability of their own")
    values = case.base[0, 0, 1:].tolist()
    rows = case.forecaster.predict(case.data.frame, **case.data.given(), exceeds=values)
    columns = [name for name in rows if "-exceeds-" in name]
    found = rows.loc[rows[ID] == case.data.names[0], columns].to_numpy()[0]
    return float(np.abs(found - (0.9, 0.1)).max())


@relation("paths of some of the series", TAIL_LIMIT)
def paths_of_some(case):
    only_if(case.base.shape[-1] > 1, "no distribution")
    only_if(not is_wide(case.data.frame), "a wide frame without a column is refused")
    is_learnt = case.forecaster.fitted.dependence is not None or case.draws
    only_if(is_learnt, "the dependence is learnt from the given series")
    data = case.data.only(case.data.names[:1])
    found = _paths(case, data)
    return case.difference(found, data.names, base=_paths(case)[:1])


@relation("explain sums to the forecast")
def explained(case):
    try:
        check_explains(case.forecaster.fitted, case.forecaster.alias)
    except ValueError:
        raise DoesNotApplyError("not kerastrans_zero") from None
    only_if(not case.forecaster.fitted.intervals, "the point moves with calibrated bounds")
    future = {x: y for x, y in case.data.given().items() if x == "future"}
    rows = case.forecaster.explain(case.data.frame, **future)
    sums = rows.groupby([ID, TIME])["contribution"].sum().unstack(TIME).loc[list(case.data.names)]
    assert sums.loc[case.ended()].notna().all(axis=None)  # after a missing end, later steps are not
    sums = sums.to_numpy()[..., None]
    return case.difference(sums, base=np.where(np.isnan(sums), np.nan, case.base[..., :1]))


def _calibrated(case, data):
    """Return a copy of the forecaster that is calibrated on other data."""
    only_if(case.recipe.calibration != "no", "not calibrated")
    other = copy.deepcopy(case.forecaster)
    models.calibrate(case.recipe, other, data)
    return other


@relation("calibrated on rows and series in any order")
def calibrated_in_order(case):
    data = case.data.map(lambda x: x.sample(frac=1, random_state=2), "frame")
    return case.difference(case.forecast(forecaster=_calibrated(case, data)))


@relation("calibrated in other units")
def calibrated_in_units(case):
    only_if(case.forecaster.fitted.equivariance, "windows are not scaled")
    data = affine(case, 2.0**10)
    return case.difference(case.forecast(data, _calibrated(case, data)) / 2.0**10)


def _importances(case, data):
    recipe = case.recipe
    only_if(recipe.past or recipe.future or recipe.category or recipe.static, "no covariates")
    options = {"windows": 3, "step": 1, "repeats": 1, "static": data.static}
    rows = case.forecaster.covariate_importances(data.frame, **options)
    assert np.isfinite(rows["increase"]).all()
    return rows.set_index(["kind", "variable"])["increase"]


@relation("importances of rows and series in any order")
def importances(case):
    data = case.data.map(lambda x: x.sample(frac=1, random_state=4))
    return float((_importances(case, data) - _importances(case, case.data)).abs().max())


@relation("importances in other units")
def importances_in_units(case):
    only_if(case.forecaster.fitted.equivariance, "windows are not scaled")
    found = _importances(case, affine(case, 2.0**12))
    return float((found - _importances(case, case.data)).abs().max())
