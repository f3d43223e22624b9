"""Written by tools/checks/stubs.py from kerastrans/forecasting/conformal/__init__.py."""

from kerastrans.forecasting.conformal.coverage import coverage_by_series as coverage_by_series
from kerastrans.forecasting.conformal.group_intervals import GroupIntervals as GroupIntervals
from kerastrans.forecasting.conformal.intervals import ConformalIntervals as ConformalIntervals
from kerastrans.forecasting.conformal.offsets import adaptive_offsets as adaptive_offsets, are_skewed as are_skewed, conformity_scores as conformity_scores, count_effective as count_effective, split_offsets as split_offsets, windows_needed as windows_needed
