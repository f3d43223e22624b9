"""Copies, other doors, ensembles, and training again."""

import copy
import pickle
import tempfile
from dataclasses import replace
from pathlib import Path

import kerastrans
from kerastrans.data.frames import ID, is_wide
from tools.checks import lattice
from tools.checks.fuzz.case import (
    DoesNotApplyError,
    affine,
    only_if,
    relation,
)

# Copies, doors, ensembles.


@relation("copied and pickled")
def copied(case):
    others = copy.deepcopy(case.forecaster), pickle.loads(pickle.dumps(case.forecaster))
    return max(case.difference(case.forecast(forecaster=x)) for x in others)


@relation("ensemble of one")
def ensemble(case):
    only_if(case.recipe.model != "ensemble", "an ensemble already")
    only_if(case.recipe.calibration == "no", "calibrated")
    only_if(not case.draws, "an ensemble has quantiles of other draws")
    try:
        one = kerastrans.combine([case.forecaster], "mean", alias=case.forecaster.alias)
    except ValueError as error:
        raise DoesNotApplyError(str(error)) from None
    names = case.ended()
    return case.difference(case.forecast(replace(case.data, names=names), one)[..., :1], names)


def _door(case, door):
    with tempfile.TemporaryDirectory() as folder:
        return lattice.DOORS[door](case.forecaster, case.data, Path(folder))


def _ended(case, found):
    """Return the difference of the series that do not end with missing values."""
    names = case.ended()
    return case.difference(found[[case.data.names.index(x) for x in names]], names)


@relation("arrays")
def arrays(case):
    only_if(case.recipe.calibration == "no", "calibrated")
    only_if(case.recipe.model != "kerastrans_zero_2", "arrays have no clock to choose a season by")
    return _ended(case, _door(case, "arrays"))


@relation("service")
def service(case):
    only_if(case.recipe.calibration == "no", "calibrated")
    only_if(case.recipe.model != "kerastrans_zero_2", "arrays have no clock to choose a season by")
    return _ended(case, _door(case, "service"))


@relation("saved and loaded")
def reloaded(case):
    return case.difference(_door(case, "reloaded"))


@relation("cloned and refitted")
def refitted(case):
    only_if(case.recipe.model != "ensemble", "an ensemble")
    only_if(case.recipe.calibration == "no", "calibrated")
    return case.difference(_door(case, "cloned and refitted"))


# Training.


@relation("trained on rows and series in any order")
def trained_in_order(case):
    data = case.data.map(lambda x: x.sample(frac=1, random_state=3))
    return case.difference(case.forecast(forecaster=case.retrained(data)))


@relation("trained in other units")
def trained_in_units(case):
    only_if(case.forecaster.fitted.equivariance, "windows are not scaled")
    data = affine(case, 2.0**10)
    found = case.forecast(data, forecaster=case.retrained(data)) / 2.0**10
    return case.difference(found)


@relation("trained with other names")
def trained_with_names(case):
    data = case.data
    names = {x: f"a{x}" for x in data.names}
    if is_wide(data.frame):
        data = data.map(lambda x: x.rename(columns=names), "frame")
    else:
        data = data.map(lambda x: x.assign(**{ID: x[ID].map(names)}))
    data, ended = replace(data, names=tuple(names.values())), case.ended()
    found = case.forecast(replace(data, names=[names[x] for x in ended]), case.retrained(data))
    return case.difference(found, ended)
