"""Frames, splits, scaling, windows and teacher-forcing pairs."""

from kerastrans.data.frames import check_frame, read_csv
from kerastrans.data.scaling import StandardScaler, WindowScaler
from kerastrans.data.splits import chronological_split
from kerastrans.data.windows import (
    random_sequences,
    sliding_windows,
    teacher_forcing_pairs,
    window_dataset,
)

__all__ = [
    "StandardScaler",
    "WindowScaler",
    "check_frame",
    "chronological_split",
    "random_sequences",
    "read_csv",
    "sliding_windows",
    "teacher_forcing_pairs",
    "window_dataset",
]
