"""Encoding of raw inputs inside of an exported file: time stamps, numbers and categories."""

import functools
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from keras import ops

from kerastrans.data.covariates import KINDS, Covariates
from kerastrans.data.missing import move_steps
from kerastrans.data.time.clock import Clock
from kerastrans.export.calendar import Calendar
from kerastrans.export.widths import Widths

LAST_TIME = "last_time"


@dataclass(frozen=True)
class Input:
    """Input of an exported file.

    Attributes:
        shape: Shape without the batch axis, None for any number of steps.
        dtype: Name of the data type; "int32" for texts, which are codes in the graph.
        length: Number of last steps that are read; None for an input without a time axis.
        texts: Tuple of the texts whose codes are 1, 2 ...; any other text has the code 0. None for
            an input of numbers.
    """

    shape: tuple
    dtype: str = "float32"
    length: int | None = None
    texts: tuple | None = None


@dataclass(frozen=True)
class Encodings:
    """Encodings of a forecaster that an exported file repeats.

    Attributes:
        clock: `Clock`; None for a model that reads no time stamps.
        calendar: bool, whether calendar features follow the future covariates.
        covariates: `Covariates`.
        widths: `Widths` of conformal intervals; None without them.
        mixes_channels: bool, whether the forecast of a channel may depend on other channels.
    """

    clock: Clock | None = None
    calendar: bool = False
    covariates: Covariates = field(default_factory=Covariates)
    widths: Widths | None = None
    mixes_channels: bool = True


class Encoder:
    """Raw inputs of a file, and the function from them to the inputs of a model.

    Args:
        encodings: `Encodings`.
        symbols: Dict of the names of the model's inputs to their KerasTensors.
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        missing: Names of the model's inputs that take NaN for a missing value; in others it is 0.

    Raises:
        ValueError: If the calendar cannot be computed in a graph, see `Calendar`.
    """

    def __init__(self, encodings, symbols, context_length, prediction_length, missing):
        self.encodings, self.symbols, self.missing = encodings, symbols, missing
        self.lengths = dict.fromkeys(("history", "past"), context_length)
        self.lengths["future"] = context_length + prediction_length
        self.calendar = None
        if encodings.clock is not None and (encodings.calendar or "position" in symbols):
            # A history that ends with missing values begins earlier.
            self.calendar = Calendar(encodings.clock, 2 * context_length - 1, prediction_length)

    @functools.cached_property
    def inputs(self):
        """Dict of name -> `Input`, the history first."""
        encoded = {f"{kind}_covariates" for kind in KINDS if self._columns(kind)}
        encoded |= {"future_covariates"} if self.encodings.calendar else set()
        encoded |= {"position"} if self.calendar else set()
        inputs = {}
        for name, x in self.symbols.items():
            if name not in encoded:
                length = self.lengths.get(name.removesuffix("_covariates"))
                shape = x.shape[1:] if length is None else (None, *x.shape[2:])
                inputs[name] = Input(tuple(shape), x.dtype, length)
        for kind in KINDS:
            inputs |= self._raw(kind)
        if self.calendar:
            inputs[LAST_TIME] = Input((), "int64")
        if self.encodings.widths:
            keys = self.encodings.widths.keys.items()
            inputs |= {name: Input((), "int32", texts=texts) for name, texts in keys}
        return inputs

    def _columns(self, kind):
        return getattr(self.encodings.covariates, kind)

    def _raw(self, kind):
        """Return the raw inputs of the columns of one kind: numbers, and categories."""
        numbers, texts = self._split(kind)
        length = self.lengths.get(kind)
        time = () if length is None else (None,)
        inputs = {}
        if numbers:
            inputs[f"{kind}_covariates"] = Input((*time, len(numbers)), "float32", length)
        if texts:
            known = _texts_of(texts)
            inputs[f"{kind}_categories"] = Input((*time, len(texts)), "int32", length, known)
        return inputs

    def _split(self, kind):
        """Return the columns of numbers and those of categories."""
        columns = self._columns(kind)
        return [x for x in columns if not x.size], [x for x in columns if x.size]

    def describe(self):
        """Return the names of the columns of each input and the rule of the clock, for JSON."""
        columns = {}
        for kind in KINDS:
            for name, group in zip(("covariates", "categories"), self._split(kind), strict=True):
                if group:
                    columns[f"{kind}_{name}"] = [column.name for column in group]
        facts = {"columns": columns} if columns else {}
        texts = {name: list(x.texts) for name, x in self.inputs.items() if x.texts is not None}
        if texts:
            facts["codes"] = texts
        if self.calendar:
            facts["clock"] = self.calendar.describe()
        if self.encodings.widths:
            facts["levels"] = list(self.encodings.widths.levels)
        return facts

    def __call__(self, inputs, gaps=None):
        """Return the model's inputs by name, and whether the time stamps fit, None without any.

        Args:
            inputs: Dict of tensors by the names of `inputs`, of the lengths that are read.
            gaps: `(batch, 1, 1)`, number of steps from the last one of each history to
                `last_time`; None for 0.
        """
        encoded = {name: inputs[name] for name in self.symbols if name in inputs}
        if "position" in encoded and gaps is not None:
            encoded["position"] = encoded["position"] - gaps[:, 0, 0]
        for kind in KINDS:
            if self._columns(kind):
                encoded[f"{kind}_covariates"] = self._encode(kind, inputs)
        if self.calendar is None:
            return encoded, None
        features, first, fits = self.calendar(inputs[LAST_TIME])
        extra = self.lengths["history"] - 1
        if gaps is not None:
            features, first = move_steps(features, gaps, extra, ops), first - gaps[:, 0, 0]
        features, first = features[:, extra:], first + extra
        if "position" in self.symbols:
            encoded["position"] = ops.cast(first, self.symbols["position"].dtype)
        if self.encodings.calendar:
            known = [encoded[x] for x in ("future_covariates",) if self._columns("future")]
            encoded["future_covariates"] = ops.concatenate([*known, features], axis=-1)
        return encoded, fits

    def _encode(self, kind, inputs):
        """Return the encoded columns of one kind in their order."""
        numbers, texts = self._split(kind)
        columns = {}
        for i, column in enumerate(numbers):
            x = (inputs[f"{kind}_covariates"][..., i] - column.mean) / column.std
            may_miss = f"{kind}_covariates" in self.missing
            columns[column.name] = x if may_miss else ops.where(ops.isnan(x), 0.0, x)
        known = _texts_of(texts)
        for i, column in enumerate(texts):
            codes = np.append(0, column.encode(pd.Series(known, dtype=object)))
            codes = ops.convert_to_tensor(codes, "float32")
            columns[column.name] = ops.take(codes, inputs[f"{kind}_categories"][..., i])
        return ops.stack([columns[column.name] for column in self._columns(kind)], axis=-1)


def _texts_of(columns):
    """Return the texts of all categories of some columns, and other spellings of booleans."""
    texts = dict.fromkeys(text for column in columns for text in column.categories)
    if any(set(column.categories) <= {"False", "True"} for column in columns):
        texts |= dict.fromkeys(("false", "FALSE", "0", "true", "TRUE", "1"))
    return tuple(texts)
