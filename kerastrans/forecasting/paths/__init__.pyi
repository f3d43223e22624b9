"""Written by tools/checks/stubs.py from kerastrans/forecasting/paths/__init__.py."""

from kerastrans.forecasting.paths import aggregates as aggregates
from kerastrans.forecasting.paths.aggregates import aggregate_paths as aggregate_paths, backtest_aggregates as backtest_aggregates
from kerastrans.forecasting.paths import events as events
from kerastrans.forecasting.paths.events import find_first_passages as find_first_passages, find_peaks as find_peaks
from kerastrans.forecasting.paths import simulation as simulation
