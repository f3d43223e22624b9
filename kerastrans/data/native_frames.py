"""polars and pyarrow frames as arguments and results of functions of pandas frames."""

import functools
import inspect
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import narwhals as nw
import numpy as np
import pandas as pd

from kerastrans.data.frames import ID, TIME
from kerastrans.data.tables.reader import READ_AS, Reading, reading_of
from kerastrans.data.time.date_formats import is_text, read_counts, read_text, read_times
from kerastrans.data.time.dates import STEPS
from kerastrans.utils.lazy import install
from kerastrans.utils.peer_words import answer

CUTOFF = "cutoff"  # column of backtests
NUMBERS = ("decimal", "floating", "integer", "mixed-integer-float")  # in columns of objects
P = ParamSpec("P")
R = TypeVar("R")


def takes_any_frame(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function of pandas frames so that it takes polars and pyarrow frames too.

    Frames are converted to pandas, also in lists and dicts. Returned frames are converted to the
    kind of the first frame, and their ids and times to its types, unless they have an index that
    names their rows, as tables of scores do. Periods are read as their first moments, integers in
    "ds" as steps, see `read_counts`, and numbers among objects, such as decimals and None, as
    floats. An unknown argument is answered with the
    known one, see `kerastrans.utils.peer_words`. A frame with "ds" and without "unique_id" is wide:
    "ds" becomes its index. Text in "ds" is read as time stamps; if it can be read in two ways, the
    attribute `read_as` of the method's object decides, if there is one. The attrs of the frame have
    the format, as those of `kerastrans.data.read_table` do.

    Example:
        >>> import pyarrow
        >>> takes_any_frame(lambda frame: 2 * frame)(pyarrow.table({"y": [1, 2]}))["y"].to_pylist()
        [2, 4]
    """
    known = inspect.signature(function).parameters
    takes_any = any(x.kind is inspect.Parameter.VAR_KEYWORD for x in known.values())

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        unknown = [name for name in kwargs if name not in known and not takes_any]
        if unknown:
            names = [name for name in known if name != "self"]
            raise TypeError(
                f"{function.__name__} has no argument {unknown[0]!r}: {answer(unknown[0], names)}"
            )
        given, like = [], dict(("self" in known and args and getattr(args[0], READ_AS, None)) or {})
        args = [_to_pandas(x, given, like) for x in args]
        kwargs = {name: _to_pandas(x, given, like) for name, x in kwargs.items()}
        result = function(*args, **kwargs)
        return _as_given(result, *given[0]) if given else result

    return wrapper


def _to_pandas(value, given, like):
    """Return a value with its frames as pandas frames, and append what they were to a list.

    Args:
        value: Any argument.
        given: List of pairs: the library of a frame, and a dict of its types of ids and times.
        like: Dict of how related frames were read. The format of text is added to it.
    """
    if isinstance(value, dict):
        return {name: _to_pandas(x, given, like) for name, x in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_to_pandas(x, given, like) for x in value)
    if isinstance(value, pd.DataFrame):
        given.append((nw.Implementation.PANDAS, _types_of(value)))
        return _read_columns(value, like)
    if not hasattr(value, "columns"):
        return value
    frame = nw.from_native(value, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return value
    given.append((frame.implementation, dict(frame.schema)))
    try:
        frame = frame.to_pandas()
    except ImportError:
        raise ImportError(f"polars frames require pyarrow: {install('polars')}.") from None
    frame = _read_columns(frame, like)
    if TIME in frame.columns and ID not in frame.columns:
        return frame.set_index(read_times(frame.pop(TIME)))
    return frame


def _types_of(frame):
    """Return the types of the ids and times of a pandas frame, a dict; times may be its index."""
    steps = {TIME: nw.Int64()} if (reading_of(frame) or Reading()).date_format == STEPS else {}
    if isinstance(frame.index, pd.DatetimeIndex | pd.PeriodIndex):
        frame = frame.index[:0].to_frame(name=TIME)
    names = [name for name in (ID, TIME) if list(frame.columns).count(name) == 1]
    periods = {x: frame[x].dtype for x in names if isinstance(frame[x].dtype, pd.PeriodDtype)}
    return dict(nw.from_native(frame[names].head(0)).schema) | periods | steps


def _read_columns(frame, like):
    """Return a frame with numbers, text and time stamps in the place of objects and periods."""
    if isinstance(frame.index, pd.PeriodIndex):
        frame = frame.set_axis(frame.index.to_timestamp())
    if not frame.columns.is_unique:
        return frame  # refused later, by name
    columns = {}
    for name, dtype in frame.dtypes.items():
        if isinstance(dtype, pd.PeriodDtype):
            columns[name] = frame[name].dt.to_timestamp()
        elif name in (TIME, CUTOFF) and getattr(frame.get(TIME), "dtype", dtype).kind in "iu":
            columns[name] = read_counts(frame[name])
        elif name == ID and isinstance(dtype, pd.CategoricalDtype):
            columns[name] = frame[name].astype(dtype.categories.dtype)
        elif dtype.kind == "O" and pd.api.types.infer_dtype(frame[name]) in NUMBERS and name != ID:
            columns[name] = pd.to_numeric(frame[name])
    frame = frame.assign(**columns) if columns else frame
    if TIME not in frame or not is_text(frame[TIME]):
        return frame
    date_format, times = read_text(frame[TIME], like.get("date_format"))
    like.setdefault("date_format", date_format)
    frame = frame.assign(**{TIME: times})
    found = Reading(date_column=TIME, date_format=date_format).to_dict()
    frame.attrs = {READ_AS: found} | frame.attrs
    return frame


def _as_given(value, library, types):
    """Return a value with its frames without an index in a library, with the types of a frame.

    Args:
        value: Any result.
        library: `narwhals.Implementation`.
        types: Dict of names -> types; time stamps under "cutoff" have those under "ds".
    """
    if isinstance(value, dict):
        return {name: _as_given(x, library, types) for name, x in value.items()}
    if not isinstance(value, pd.DataFrame) or not isinstance(value.index, pd.RangeIndex):
        return value
    for name in (TIME, CUTOFF):
        if name in value and getattr(types.get(TIME), "is_integer", bool)():
            value = value.assign(**{name: value[name].astype("datetime64[ns]").astype("int64")})
    frame = nw.from_native(value)
    if not library.is_pandas():
        frame = nw.from_native(frame.to_polars() if library.is_polars() else frame.to_arrow())
    for name in (ID, TIME, CUTOFF):
        dtype = types.get(TIME if name == CUTOFF else name)
        if name not in value or dtype is None:
            continue
        if isinstance(dtype, pd.PeriodDtype):
            frame = nw.from_native(frame.to_native().assign(**{name: value[name].astype(dtype)}))
        elif _is_of(dtype, value[name]) or (
            name == ID and dtype == nw.String and not library.is_pandas()
        ):
            frame = frame.with_columns(nw.col(name).cast(dtype))
    return frame.to_native()


def _is_of(dtype, column):
    """Return whether a column of ids or times has values of a narwhals type."""
    if isinstance(dtype, nw.Enum):
        return column.isin(dtype.categories).all()
    if dtype.is_integer():  # and holds them: a forecast may be beyond the largest of a short type
        integers = pd.api.types.infer_dtype(column) == "integer"
        return integers and column.max() <= np.iinfo(str(dtype).lower()).max
    return dtype.is_temporal() or isinstance(dtype, nw.Categorical)
