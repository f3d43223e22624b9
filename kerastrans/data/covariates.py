"""Covariates: past, future and static columns, encoded as numbers."""

from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from kerastrans.data.frames import ID, check_has_columns, is_real
from kerastrans.data.scaling import StandardScaler
from kerastrans.utils.user_warnings import warn_user
from kerastrans.utils.validation import list_names, quote

KINDS = ("past", "future", "static")
FAR = 3  # times the distance of training rows from their mean


@dataclass(frozen=True)
class Column:
    """Encoding of one column: standardised numbers, or codes of categories.

    Attributes:
        name: Name of the column.
        mean, std: Mean and standard deviation of the training rows of a numeric column. Published
            weights have 0 and 1: the values of each series are less their mean, see `centered`.
        reach: Largest distance of a training row from the mean, in standard deviations; None if it
            is not known.
        categories: Categories in the training rows of any other column, as text. The code of a
            category is its place in this list plus 1; an unknown or missing category is 0.
    """

    name: str
    mean: float = 0.0
    std: float = 1.0
    categories: tuple | None = None
    reach: float | None = None

    @classmethod
    def of(cls, column, name):
        """Return the encoding of a column, given its training rows."""
        if pd.api.types.is_complex_dtype(column):
            raise ValueError(f"covariate {name!r} must be real numbers or text, not complex.")
        if pd.api.types.is_datetime64_any_dtype(column) or column.dtype.kind == "m":
            raise ValueError(f"covariate {name!r} must be numbers or text, got {column.dtype}.")
        if pd.api.types.is_bool_dtype(column) or not pd.api.types.is_numeric_dtype(column):
            return cls(name, categories=tuple(sorted(column.dropna().astype(str).unique())))
        values = column.to_numpy("float64", na_value=np.nan)
        values = values[np.isfinite(values)]
        if not len(values):
            raise ValueError(f"covariate {name!r} has no finite value in the training rows.")
        scaler = StandardScaler.fit(values[:, None])
        reach = np.abs((values - scaler.mean) / scaler.std).max().item()
        return cls(name, scaler.mean.item(), scaler.std.item(), reach=reach)

    @property
    def is_fitted(self):
        """False for the numbers of published weights, which fit no encoding."""
        return self != Column(self.name)

    @property
    def size(self):
        """0 for a numeric column, otherwise the number of codes, including that of "unknown"."""
        return 0 if self.categories is None else len(self.categories) + 1

    def encode(self, column):
        """Return the encoded values `(rows,)`; a missing number stays NaN.

        They are float32, or float64 numbers of published weights, which are not centred yet.
        """
        if self.categories is not None:
            categories = pd.Index(self.categories, dtype=object)
            codes = categories.get_indexer(self._as_text(column)) + 1
            return np.where(column.isna(), 0, codes).astype("float32")
        if not pd.api.types.is_numeric_dtype(column):
            hint = ""
            if not self.is_fitted:
                hint = " Give its texts as categories of from_pretrained, or with --categories."
            wrong = column[pd.to_numeric(column, errors="coerce").isna() & column.notna()]
            example = column.iloc[0] if wrong.empty else wrong.iloc[0]
            raise ValueError(
                f"covariate {self.name!r} must be numeric, got {column.dtype}, such as "
                f"{quote(example)}.{hint}"
            )
        values = column.to_numpy("float64", na_value=np.nan)
        with np.errstate(over="ignore"):
            scaled = ((values - self.mean) / self.std).astype("float32")
        if np.isinf(scaled).any():
            raise ValueError(
                f"covariate {self.name!r} has the value {values[np.isinf(scaled)][0]}, too large "
                f"for a mean of {self.mean:g} and a deviation of {self.std:g} in training."
            )
        return scaled if self.is_fitted else values

    def _as_text(self, column):
        """The values as text: of booleans however a file or database has them, of 1.0 as "1"."""
        if pd.api.types.is_float_dtype(column) and (column.dropna() % 1 == 0).all():
            column = column.astype("Int64")
        text = column.astype(str).astype(object)
        if set(self.categories) <= set(_BOOLEANS.values()):
            text = text.str.lower().map(_BOOLEANS)
        return text


_BOOLEANS = {"false": "False", "0": "False", "true": "True", "1": "True"}


def texts_of(frame, names):
    """Return the texts of those columns of a frame that are not numbers, a dict of sorted lists."""
    texts = {name: frame[name].dropna() for name in names if not is_real(frame[name])}
    return {name: sorted(x.astype(str).unique()) for name, x in texts.items()}


@dataclass(frozen=True)
class Covariates:
    """Encodings of the covariates of each kind: `past`, `future` (known ahead) and `static`.

    Create one with `Covariates.of(frame, static, past=..., future=...)`.

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
        """Fit encodings of the `past` and `future` columns of a frame and all static columns.

        Raises:
            ValueError: If a column is not in the frame, is in both lists, or is empty.
        """
        return cls.named(static, past=past, future=future).read(frame, static)

    @classmethod
    def named(cls, static=None, *, past=(), future=()):
        """Return covariates with names only, whose encodings `read` fits.

        Raises:
            ValueError: If a column is in both lists.
        """
        both = set(past) & set(future)
        if both:
            raise ValueError(f"{sorted(both)} cannot be both past and future covariates.")
        names = [] if static is None else [c for c in static.columns if c != ID]
        return cls(*(tuple(map(Column, kind)) for kind in (past, future, names)))

    def read(self, frame, static=None, rows=slice(None)):
        """Return the same columns with encodings fitted to some rows of a frame.

        Args:
            frame: DataFrame with the past and the future columns.
            static: DataFrame with the static columns; all of its rows are used.
            rows: Rows of `frame` to use, a slice or bools.

        Raises:
            ValueError: If a column is not in the frame, or is empty in these rows.
        """
        timed = [column.name for column in (*self.past, *self.future)]
        check_has_columns(frame, timed, "covariates")
        past, future = (
            tuple(Column.of(frame[column.name][rows], column.name) for column in kind)
            for kind in (self.past, self.future)
        )
        for name in (x.name for x in (*past, *future) if x.reach == 0):
            warn_user(f"covariate {name!r} never changes in the training rows: leave it out.")
        fixed = tuple(Column.of(static[column.name], column.name) for column in self.static)
        return Covariates(past, future, fixed)

    def encode(self, frame, kind):
        """Return the encoded columns of one kind, `(rows, columns)`, see `Column.encode`."""
        columns = getattr(self, kind)
        missing = [c.name for c in columns if c.name not in frame.columns]
        if missing:
            known = list_names(frame.columns)
            raise ValueError(f"{kind} covariates {missing} are missing: the columns are {known}.")
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
            is_new, how, then = code == 0, "that were not seen", ": they are read as missing"
            if not column.size:
                is_new = np.abs(code) > FAR * (np.inf if column.reach is None else column.reach)
                how, then = "far outside of those", ""
            new = frame[column.name][is_new & frame[column.name].notna()]
            if len(new):
                text = f"covariate {column.name!r} has {len(new)} values {how} in training, such as"
                warn_user(f"{text} {quote(new.tolist()[0])}{then}.")
        return np.stack(codes, axis=-1)

    def centered(self, values, kind, begins):
        """Return encoded columns of series as float32, those of published weights less their mean.

        Args:
            values: `(rows, columns)`, encoded columns of one kind, series by series.
            kind: "past" or "future".
            begins: `(series,)`, first row of each series.
        """
        is_raw = np.array([not x.is_fitted for x in getattr(self, kind)], bool)
        if not is_raw.any():
            return values
        known = np.isfinite(values) & is_raw
        total, number = np.add.reduceat([np.where(known, values, 0.0), known], begins, axis=1)
        lengths = np.diff(begins, append=len(values))
        means = (total / np.maximum(number, 1)).repeat(lengths, axis=0)
        return (values - means).astype("float32")

    def find_static(self, static, names):
        """Return the row of each series in the frame of static covariates, -1 if it has none.

        Args:
            static: DataFrame with "unique_id" and these columns, one row per series, or None.
            names: `(series,)`, ids of the series.
        """
        if not self.static:
            return np.zeros(len(names), int)
        if static is None or ID not in static.columns:
            columns = [c.name for c in self.static]
            raise ValueError(f"static covariates {columns} are missing: give static, with {ID!r}.")
        if static[ID].duplicated().any():
            twice = static[ID][static[ID].duplicated()].iloc[0]
            raise ValueError(f"static must have one row per series, {twice!r} has several.")
        return pd.Index(static[ID]).get_indexer(names)

    def encode_static(self, static, rows):
        """Return the encoded static covariates `(series, columns)` in these rows of the frame."""
        if not self.static:
            return np.zeros((len(rows), 0), "float32")
        return self.encode(static, "static")[rows]

    def sizes(self, num_calendar=0):
        """Return `{kind: sizes of its columns}` for a model.

        The size of a column is 0 for numbers, otherwise the number of categories. Calendar features
        are appended to the future columns. Kinds without columns are left out.
        """
        sizes = {kind: tuple(c.size for c in getattr(self, kind)) for kind in KINDS}
        sizes["future"] += (0,) * num_calendar
        return {kind: size for kind, size in sizes.items() if size}

    def to_dict(self):
        """Return the covariates as a dict for JSON, which `from_dict` reads."""
        return asdict(self)

    @classmethod
    def from_dict(cls, config):
        """Return the covariates of a dict that `to_dict` returned."""

        def column(config):
            categories = config["categories"]
            return Column(**{**config, "categories": categories and tuple(categories)})

        return cls(**{kind: tuple(map(column, config[kind])) for kind in KINDS})
