"""A forecaster and its data, and the register of relations that its forecasts keep."""

import functools
import warnings

import numpy as np
import pandas as pd

from kerastrans import heads
from kerastrans.data.frames import ID, TARGET, TIME, is_wide
from kerastrans.forecasting.inference.adaptation import to_univariate
from tools.checks import lattice
from tools.checks.fuzz import models
from tools.checks.lattice import CONTEXT, PYTHON_LIMIT

RELATIONS = {}  # by name: function of a `Case` and its limit


class DoesNotApplyError(Exception):
    """Raised by a relation with the reason why it promises nothing here."""


def relation(name, limit=PYTHON_LIMIT):
    """Add a function to `RELATIONS`."""

    def add(function):
        RELATIONS[name] = function, limit
        return function

    return add


def only_if(condition, reason):
    """Raise DoesNotApplyError with a reason unless a condition holds."""
    if not condition:
        raise DoesNotApplyError(reason)


class Case:
    """A forecaster and its data, with what is asked of them often.

    Args:
        recipe: `Recipe`.
    """

    def __init__(self, recipe):
        self.recipe, self.data = recipe, models.make_data(recipe)
        self.forecaster = models.make_forecaster(recipe, self.data)
        self.config = self.forecaster.fitted.config

    @functools.cached_property
    def base(self):
        """What the forecaster forecasts, `(series, steps, parts)`."""
        return lattice.forecast(self.forecaster, self.data)

    @functools.cached_property
    def contexts(self):
        """The last values of each series, `(series, CONTEXT)`, NaN where missing."""
        frame = self.data.frame
        if is_wide(frame):
            return frame[list(self.data.names)].to_numpy()[-CONTEXT:].T
        parts = dict(iter(frame.groupby(ID)))
        rows = [parts[name].sort_values(TIME)[TARGET].to_numpy() for name in self.data.names]
        return np.stack([np.pad(x, (CONTEXT, 0), constant_values=np.nan)[-CONTEXT:] for x in rows])

    @functools.cached_property
    def units(self):
        """The amplitude of each series in its context, or its level."""
        amplitude = np.nanmax(self.contexts, axis=1) - np.nanmin(self.contexts, axis=1)
        units = np.where(amplitude > 0, amplitude, np.nanmax(np.abs(self.contexts), axis=1))
        return np.where(units > 0, units, 1.0)

    def difference(self, found, names=None, base=None):
        """Return the largest difference from the forecasts, of some of the series."""
        places = [self.data.names.index(x) for x in names or self.data.names]
        base = self.base[places] if base is None else base
        found, base = np.broadcast_arrays(found, base[..., : np.shape(found)[-1]])
        if not np.array_equal(np.isnan(found), np.isnan(base)):
            return np.inf
        error = np.abs(found - base).max(axis=(1, 2), initial=0, where=~np.isnan(base))
        return float((error / self.units[places]).max())

    def forecast(self, data=None, forecaster=None, **options):
        """Return what a forecaster forecasts of some data, by default those of the case."""
        return lattice.forecast(forecaster or self.forecaster, data or self.data, **options)

    def mixes(self):
        """Return whether a channel has no forecast without the others."""
        if not is_wide(self.data.frame) or self.config.mixes_channels:
            return is_wide(self.data.frame)
        try:
            to_univariate(self.forecaster.fitted)
        except ValueError:  # each channel has its weights or its intervals
            return True
        return False

    @property
    def knows_names(self):
        """Whether intervals or their units belong to names of series."""
        intervals = self.forecaster.fitted.intervals
        return intervals is not None and (intervals.by == ID or intervals.sizes is not None)

    @property
    def draws(self):
        """Whether the forecast is a sample."""
        return isinstance(self.forecaster.fitted.head, heads.Samples)

    def ordinary(self):
        """Return the series whose contexts have no equal and no missing neighbours.

        Only in such contexts is the scale that of the context alone, see docs/how/windows.md.
        """
        steps = np.diff(self.contexts, axis=1)
        is_ordinary = (np.isfinite(steps) & (steps != 0)).all(axis=1)
        names = [x for x, good in zip(self.data.names, is_ordinary, strict=True) if good]
        only_if(names, "no context without equal or missing neighbours")
        return names

    def ended(self):
        """Return the series that do not end with missing values.

        Paths over a missing end are drawn by the names of series, and arrays have fewer values
        before it.
        """
        is_known = np.isfinite(self.contexts[:, -1]) | (self.recipe.fill == "zero")
        return [x for x, good in zip(self.data.names, is_known, strict=True) if good]

    def retrained(self, data):
        """Return a forecaster of the same recipe that is trained on other data."""
        only_if(not self.recipe.is_published, "published weights are not trained")
        return models.make_forecaster(self.recipe, data)


def measure(case, name):
    """Return the largest difference of a relation, or the reason why it does not apply."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return RELATIONS[name][0](case)
        except DoesNotApplyError as reason:
            return str(reason)


def values_of(data):
    """Return the columns of the values of the series."""
    return list(data.names) if is_wide(data.frame) else [TARGET]


def is_last(frame, count):
    """Return which rows are the last ones of their series, a Series of bools."""
    if is_wide(frame):
        return pd.Series(np.arange(len(frame)) >= len(frame) - count, frame.index)
    return frame.groupby(ID).cumcount(ascending=False) < count


def affine(case, factor, offset=0.0):
    """Return the data with other values of the series, and their bounds."""
    columns = [*values_of(case.data), "cap"]

    def change(frame):
        return frame.assign(**{x: frame[x] * factor + offset for x in columns if x in frame})

    return case.data.map(change)
