"""Types of public arguments that have no name of their own."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

PathLike: TypeAlias = str | os.PathLike[str]
Columns: TypeAlias = Sequence[str]
Levels: TypeAlias = Sequence[float] | float  # percents of intervals
CovariateSizes: TypeAlias = Mapping[str, Sequence[int]]  # "past", "future", "static"
# Keras has no types that a checker reads.
Tensor: TypeAlias = Any  # a KerasTensor, a tensor of the backend or an array
ModelOrName: TypeAlias = Any  # of an architecture; or a function that builds one
HeadOrName: TypeAlias = Any  # see `kerastrans.heads.get`
