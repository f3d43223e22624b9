"""Type aliases for public arguments."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from narwhals.typing import IntoDataFrame

PathLike: TypeAlias = str | os.PathLike[str]
Columns: TypeAlias = Sequence[str]
Levels: TypeAlias = Sequence[float] | float  # percents of intervals
Backtests: TypeAlias = Mapping[str, IntoDataFrame] | IntoDataFrame
CovariateSizes: TypeAlias = Mapping[str, Sequence[int]]  # "past", "future", "static"
# Keras provides no types for type checkers.
Tensor: TypeAlias = Any  # a KerasTensor, a tensor of the backend or an array
ModelOrName: TypeAlias = Any  # model, name of an architecture, or function that builds a model
HeadOrName: TypeAlias = Any  # see `kerastrans.heads.get`
