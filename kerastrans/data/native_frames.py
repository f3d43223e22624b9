"""polars and pyarrow frames as arguments and results of functions of pandas frames."""

import functools
import inspect
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import narwhals as nw
import pandas as pd

from kerastrans.data.frames import ID, TIME
from kerastrans.data.tables.reader import READ_AS, Reading
from kerastrans.data.time.date_formats import is_text, read_text, read_times
from kerastrans.utils.peer_words import answer

P = ParamSpec("P")
R = TypeVar("R")


def takes_any_frame(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function of pandas frames so that it takes polars and pyarrow frames too.

    Frames are converted to pandas, also in lists and dicts. Returned frames are converted to the
    kind of the first such argument, unless they have an index that names their rows, as tables of
    scores do. An unknown argument is answered with the known one, see
    `kerastrans.utils.peer_words`. A frame with "ds" and without "unique_id" is wide: "ds" becomes
    its index. Text in "ds" is read as time stamps; if it can be read in two ways, the attribute
    `read_as` of the method's object decides, if there is one. The attrs of the frame have the
    format, as those of `kerastrans.data.read_table` do.

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
        kinds, like = [], (getattr(args[0], READ_AS, None) if "self" in known and args else None)
        args = [_to_pandas(x, kinds, like) for x in args]
        kwargs = {name: _to_pandas(x, kinds, like) for name, x in kwargs.items()}
        result = function(*args, **kwargs)
        return _from_pandas(result, kinds[0]) if kinds else result

    return wrapper


def _to_pandas(value, kinds, like):
    """Return a value with its frames as pandas frames, and append the kinds of others to a list.

    Args:
        value: Any argument.
        kinds: List.
        like: Dict of how related frames were read, or None.
    """
    if isinstance(value, dict):
        return {name: _to_pandas(x, kinds, like) for name, x in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_to_pandas(x, kinds, like) for x in value)
    if isinstance(value, pd.DataFrame):
        return _with_times(value, like)
    if not hasattr(value, "columns"):
        return value
    frame = nw.from_native(value, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return value
    kinds.append(frame.implementation)
    try:
        frame = frame.to_pandas()
    except ImportError:
        raise ImportError(
            'polars frames require pyarrow: pip install "kerastrans[polars]".'
        ) from None
    frame = _with_times(frame, like)
    if TIME in frame.columns and ID not in frame.columns:
        return frame.set_index(read_times(frame.pop(TIME)))
    return frame


def _with_times(frame, like):
    """Return a frame with time stamps in the place of text in "ds"."""
    if list(frame.columns).count(TIME) != 1 or not is_text(frame[TIME]):
        return frame
    date_format, times = read_text(frame[TIME], (like or {}).get("date_format"))
    frame = frame.assign(**{TIME: times})
    found = Reading(date_column=TIME, date_format=date_format).to_dict()
    frame.attrs = {READ_AS: found} | frame.attrs
    return frame


def _from_pandas(value, kind):
    """Return a value with its pandas frames without an index as frames of a kind."""
    if isinstance(value, dict):
        return {name: _from_pandas(x, kind) for name, x in value.items()}
    if not isinstance(value, pd.DataFrame) or not isinstance(value.index, pd.RangeIndex):
        return value
    frame = nw.from_native(value)
    return frame.to_polars() if kind.is_polars() else frame.to_arrow()
