"""Frames of Polars, PyArrow and other libraries at the public functions that take pandas frames."""

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import pandas as pd

P = ParamSpec("P")
R = TypeVar("R")


def takes_native_frames(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function take frames of any library that narwhals knows.

    Arguments that are such frames become pandas frames. If the function returns a pandas frame, the
    caller receives a frame of the library of the first of them. Frames of pandas are passed on
    unchanged.

    Example:
        >>> import pyarrow
        >>> double = takes_native_frames(lambda frame: 2 * frame)
        >>> double(pyarrow.table({"y": [1, 2]})).to_pydict()
        {'y': [2, 4]}
    """

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        libraries: list[Any] = []
        read: Any = [_read(x, libraries) for x in args]
        named: Any = {name: _read(x, libraries) for name, x in kwargs.items()}
        result = function(*read, **named)
        if not libraries or not isinstance(result, pd.DataFrame):
            return result
        return _write(result, libraries[0])

    return wrapper


def _read(value: Any, libraries: list[Any]) -> Any:
    """Return a native frame as a pandas frame, and remember its library; other values unchanged."""
    module = type(value).__module__.partition(".")[0]
    if module in ("builtins", "pandas", "pathlib", "kerastrans", "numpy", "keras"):
        return value
    import narwhals as nw

    frame = nw.from_native(value, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return value
    libraries.append(frame.implementation)
    try:
        return frame.to_pandas()
    except ModuleNotFoundError as error:
        raise ImportError(
            f"a frame of {module} requires {error.name}: pip install {error.name}."
        ) from None


def _write(frame: pd.DataFrame, library: Any) -> Any:
    """Return a pandas frame as a frame of another library."""
    import narwhals as nw

    table = nw.from_native(frame, eager_only=True).to_arrow()
    return nw.from_arrow(table, backend=library).to_native()
