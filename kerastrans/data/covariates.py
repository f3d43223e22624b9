"""What is known besides the series itself: past, future-known and static columns, as numbers."""

from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from kerastrans.data.frames import ID
from kerastrans.data.scaling import StandardScaler

KINDS = ("past", "future", "static")


@dataclass(frozen=True)
class Column:
    """How one column becomes numbers: standardised, or the number of its category.

    Attributes:
        name: of the column.
        mean, std: of a numeric column's training rows; a value that is missing becomes 0.
        categories: of any other column, those seen in training, as text; a category has its place
            in the list plus 1, and one that was not seen, or is missing, is 0.
    """

    name: str
    mean: float = 0.0
    std: float = 1.0
    categories: tuple | None = None

    @classmethod
    def of(cls, column, name):
        """From a column's training rows."""
        if pd.api.types.is_complex_dtype(column):
            raise ValueError(f"covariate {name!r} must be real numbers or text, not complex.")
        if pd.api.types.is_bool_dtype(column) or not pd.api.types.is_numeric_dtype(column):
            return cls(name, categories=tuple(sorted(column.dropna().astype(str).unique())))
        values = column.to_numpy("float64", na_value=np.nan)
        values = values[np.isfinite(values)]
        if not len(values):
            raise ValueError(f"covariate {name!r} has no finite value in the rows that train.")
        scaler = StandardScaler.fit(values[:, None])
        return cls(name, scaler.mean.item(), scaler.std.item())

    @property
    def size(self):
        """0 for a numeric column; otherwise the number of its codes, that of "unseen" included."""
        return 0 if self.categories is None else len(self.categories) + 1

    def encode(self, column):
        """Values as float32 `(rows,)`; a missing number stays NaN."""
        if self.categories is not None:
            categories = pd.Index(self.categories, dtype=object)
            codes = categories.get_indexer(self._as_text(column)) + 1
            return np.where(column.isna(), 0, codes).astype("float32")
        if not pd.api.types.is_numeric_dtype(column):
            raise ValueError(
                f"covariate {self.name!r} is read as numbers, got {column.dtype}, such as "
                f"{column.iloc[0]!r}."
            )
        values = column.to_numpy("float64", na_value=np.nan)
        with np.errstate(over="ignore"):
            scaled = ((values - self.mean) / self.std).astype("float32")
        if np.isinf(scaled).any():
            raise ValueError(
                f"covariate {self.name!r} has the value {values[np.isinf(scaled)][0]}, too large "
                f"beside a mean of {self.mean:g} and a deviation of {self.std:g} in training."
            )
        return scaled

    def _as_text(self, column):
        """The values as text: of booleans however a file or database has them, of 1.0 as "1"."""
        if pd.api.types.is_float_dtype(column) and (column.dropna() % 1 == 0).all():
            column = column.astype("Int64")
        text = column.astype(str).astype(object)
        if set(self.categories) <= set(_BOOLEANS.values()):
            text = text.str.lower().map(_BOOLEANS)
        return text


_BOOLEANS = {"false": "False", "0": "False", "true": "True", "1": "True"}


@dataclass(frozen=True)
class Covariates:
    """The columns of each kind: `past`, `future` (known for the horizon) and `static`.

    Make one with `Covariates.of(frame, static, past=..., future=...)`.

    Example:
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"price": [1.0, 3.0], "day": ["work", "holiday"]})
        >>> Covariates.of(frame, future=["price", "day"]).encode(frame, "future")
        array([[-1.,  2.],
               [ 1.,  1.]], dtype=float32)
    """

    past: tuple = ()
    future: tuple = ()
    static: tuple = ()

    @classmethod
    def of(cls, frame, static=None, *, past=(), future=()):
        """Read the columns named in `past` and `future` of a frame, and all of a static one.

        Raises:
            ValueError: a column that the frame does not have, is in both lists, or is empty.
        """
        return cls.named(static, past=past, future=future).read(frame, static)

    @classmethod
    def named(cls, static=None, *, past=(), future=()):
        """The same columns by their names alone, to be `read`.

        Raises:
            ValueError: a column that is in both lists.
        """
        both = set(past) & set(future)
        if both:
            raise ValueError(f"{sorted(both)} cannot be both past and future covariates.")
        names = [] if static is None else [c for c in static.columns if c != ID]
        return cls(*(tuple(map(Column, kind)) for kind in (past, future, names)))

    def read(self, frame, static=None, rows=slice(None)):
        """These columns with the mean and deviation, or the categories, of some rows of a frame.

        Args:
            frame: with the past and the future columns.
            static: frame with the static ones, of which all rows count.
            rows: which rows of `frame` count, a slice or bools.

        Raises:
            ValueError: a column that the frame does not have, or that is empty in these rows.
        """
        timed = [column.name for column in (*self.past, *self.future)]
        missing = [name for name in timed if name not in frame.columns]
        if missing:
            raise ValueError(f"covariates {missing} are no columns: {list(frame.columns)}.")
        past, future = (
            tuple(Column.of(frame[column.name][rows], column.name) for column in kind)
            for kind in (self.past, self.future)
        )
        fixed = tuple(Column.of(static[column.name], column.name) for column in self.static)
        return Covariates(past, future, fixed)

    def encode(self, frame, kind):
        """The columns of one kind, `(rows, columns)`, float32."""
        columns = getattr(self, kind)
        missing = [c.name for c in columns if c.name not in frame.columns]
        if missing:
            raise ValueError(f"{kind} covariates {missing} are missing: {list(frame.columns)}.")
        if not columns:
            return np.zeros((len(frame), 0), "float32")
        codes = [c.encode(frame[c.name]) for c in columns]
        for column, code in zip(columns, codes, strict=True):
            values = frame[column.name].dropna()
            # Text may be a new category; numbers are another way to write the known ones.
            is_numeric = pd.api.types.is_numeric_dtype(values)
            if is_numeric and column.size and len(values) and not code.any():
                known = ", ".join(map(repr, column.categories[:5]))
                raise ValueError(
                    f"covariate {column.name!r} has no value that was seen in training, got "
                    f"{values.iloc[0]}; known are {known}."
                )
        return np.stack(codes, axis=-1)

    def encode_static(self, static, names):
        """Static covariates `(series, columns)`, and the places of the series that have none.

        Args:
            static: frame with "unique_id" and these columns, one row a series; None if there are
                none.
            names: `(series,)`, ids of the series.
        """
        if not self.static:
            return np.zeros((len(names), 0), "float32"), []
        if static is None or ID not in static.columns:
            columns = [c.name for c in self.static]
            raise ValueError(f"static covariates {columns} are missing: give static, with {ID!r}.")
        if static[ID].duplicated().any():
            twice = static[ID][static[ID].duplicated()].iloc[0]
            raise ValueError(f"static must have one row a series, {twice!r} has several.")
        place = pd.Index(static[ID]).get_indexer(names)
        return self.encode(static, "static")[place], np.flatnonzero(place < 0).tolist()

    def sizes(self, num_calendar=0):
        """`{kind: sizes of its columns}` for a model; calendar features come after the future's.

        A size is 0 for numbers and otherwise the number of categories; kinds without columns are
        left out.
        """
        sizes = {kind: tuple(c.size for c in getattr(self, kind)) for kind in KINDS}
        sizes["future"] += (0,) * num_calendar
        return {kind: size for kind, size in sizes.items() if size}

    def to_dict(self):
        """JSON-ready; `from_dict` reads it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, config):
        """Covariates from what `to_dict` returned."""

        def column(config):
            categories = config["categories"]
            return Column(**{**config, "categories": categories and tuple(categories)})

        return cls(**{kind: tuple(map(column, config[kind])) for kind in KINDS})
