"""The same data in other forms, beside other series, and in other units."""

import functools
import io
from dataclasses import replace

import numpy as np
import pandas as pd

from kerastrans.data.frames import ID, TARGET, TIME, is_wide, to_long
from tools.checks import lattice
from tools.checks.fuzz.case import (
    affine,
    only_if,
    relation,
)

FEW = 20  # known values of a window, below which the level has a share in its scale


def on_frames(name, change, *parts, is_long=False):
    """Add the relation that changed frames, which hold the same data, have the same forecast."""

    @relation(name)
    def same_data(case):
        only_if(not (is_long and is_wide(case.data.frame)), "a wide frame")
        return case.difference(case.forecast(case.data.map(change, *parts)))


def _other_index(frame):
    return frame.set_axis(np.arange(len(frame))[::-1] * 7 + 3)


def _nullable(frame):
    return frame.astype({x: "Float64" for x in frame.columns if frame[x].dtype == float})


def _categories(frame):
    return frame.astype({x: "category" for x in frame.columns if frame[x].dtype.kind in "OTU"})


def _texts(frame):
    return frame.assign(**{TIME: frame[TIME].dt.strftime("%Y-%m-%d %H:%M")})


def _seconds(frame):
    if is_wide(frame):
        return frame.set_axis(frame.index.as_unit("s").rename(TIME))
    return frame.assign(**{TIME: frame[TIME].dt.as_unit("s")}) if TIME in frame else frame


def _csv(frame):
    if TIME not in frame:
        return frame
    return pd.read_csv(io.StringIO(frame.to_csv(index=False)), float_precision="round_trip")


on_frames("rows in any order", lambda x: x.sample(frac=1, random_state=1))
on_frames("columns in any order", lambda x: x[x.columns[::-1]])
on_frames("series in any order", lambda x: x.sort_values(ID, ascending=False), is_long=True)
on_frames("any index", _other_index, is_long=True)
on_frames("one more column", lambda x: x.assign(more=1.0), is_long=True)
on_frames("nullable numbers", _nullable)
on_frames("categories", _categories, is_long=True)
on_frames("times as text", _texts, "frame", "future", is_long=True)
on_frames("times in seconds", _seconds)
on_frames("read from CSV", _csv, is_long=True)


@relation("polars and pyarrow")
def other_libraries(case):
    import polars
    import pyarrow

    only_if(not is_wide(case.data.frame), "a wide frame")
    found = []
    arrow = functools.partial(pyarrow.Table.from_pandas, preserve_index=False)
    for convert in (polars.from_pandas, arrow):
        data = case.data.map(convert)
        rows = case.forecaster.predict(data.frame, **data.given())
        rows = rows.to_pandas()
        found.append(case.difference(lattice.read_rows(case.forecaster, rows, case.data.names)))
    return max(found)


@relation("wide frame = long frame")
def wide_as_long(case):
    only_if(is_wide(case.data.frame) and not case.mixes(), "a long frame, or channels are mixed")
    columns = [x for x in ("past", "known", "kind", "cap") if x in case.data.frame]
    long = replace(case.data.map(lambda x: to_long(x, columns), "frame"), future=None)
    if case.data.future is not None:
        rows = to_long(case.data.future, case.data.future.columns, case.data.names)
        long = replace(long, future=rows)
    return case.difference(case.forecast(long))


@relation("input untouched, same answer again")
def twice(case):
    before = case.data.map(lambda x: x.copy(deep=True))
    found = case.difference(case.forecast())
    for part in ("frame", "future", "static"):
        if case.data.has(part):
            pd.testing.assert_frame_equal(getattr(before, part), getattr(case.data, part))
    return found


# What other series are there.


@relation("each series alone")
def alone(case):
    only_if(not is_wide(case.data.frame), "a wide frame without a column is refused")
    return case.difference(lattice.by_predict(case.forecaster, case.data, None))


def _with_series(data, name, change):
    """Return long data with a copy of the first series under another name, changed."""

    def add(frame):
        rows = frame[frame[ID] == data.names[0]].assign(**{ID: name})
        return pd.concat([frame, change(rows)], ignore_index=True)

    return data.map(add)


@relation("other series beside it")
def neighbours(case):
    only_if(not is_wide(case.data.frame), "a wide frame")

    def huge(rows):
        return rows.assign(**{TARGET: rows[TARGET] * 1e6}) if TARGET in rows else rows

    def silent(rows):
        return rows.assign(**{TARGET: np.nan}) if TARGET in rows else rows

    data = _with_series(_with_series(case.data, "huge", huge), "silent", silent)
    found = case.difference(case.forecast(data))
    assert list(case.forecaster.faults) == ["silent"], case.forecaster.faults
    return found


@relation("a series twice")
def duplicated(case):
    only_if(not is_wide(case.data.frame), "a wide frame")
    only_if(not case.knows_names, "intervals belong to names")
    data = replace(_with_series(case.data, "zz", lambda x: x), names=("zz",))
    return case.difference(case.forecast(data), case.data.names[:1])


@relation("other names")
def renamed(case):
    only_if(not is_wide(case.data.frame), "a wide frame")
    only_if(not case.knows_names, "intervals belong to names")
    data = case.data.map(lambda x: x.assign(**{ID: "9" + x[ID]}))
    names = case.ended()
    return case.difference(case.forecast(replace(data, names=[f"9{x}" for x in names])), names)


# Units.


def _times(case, factor):
    only_if(case.forecaster.fitted.equivariance, "windows are not scaled")
    found = case.forecast(affine(case, factor)) / factor
    return case.difference(found)


for _factor in (2.0**12, 2.0**-24, 3.7):
    relation(f"times {_factor:g}")(functools.partial(_times, factor=_factor))


@relation("plus a constant")
def plus(case):
    only_if(case.forecaster.fitted.equivariance == "affine", "windows are not centred")
    only_if(case.recipe.bounds == "no", "bounds do not move")
    enough = np.isfinite(case.contexts).sum(axis=1) >= FEW
    changes = np.ptp(np.nan_to_num(case.contexts, nan=np.nanmin(case.contexts)), axis=1) > 0
    places = np.flatnonzero(enough & changes)
    only_if(len(places) and not case.mixes(), "few values or constants: the level is a scale")
    found = []
    for place in places:
        offset, name = 2.0**6 * case.units[place], case.data.names[place]
        moved = case.forecast(replace(affine(case, 1.0, offset), names=(name,))) - offset
        found.append(case.difference(moved, [name]))
    return max(found)
