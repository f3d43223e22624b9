"""The public names, which are imported on first use."""

from .coverage import coverage_by_series as coverage_by_series
from .group_intervals import GroupIntervals as GroupIntervals
from .intervals import ConformalIntervals as ConformalIntervals
from .offsets import (
    adaptive_offsets as adaptive_offsets,
    are_skewed as are_skewed,
    conformity_scores as conformity_scores,
    count_effective as count_effective,
    split_offsets as split_offsets,
    windows_needed as windows_needed,
)
