"""The public names, which are imported on first use."""

from . import aggregates as aggregates
from .aggregates import (
    aggregate_paths as aggregate_paths,
    backtest_aggregates as backtest_aggregates,
)
from . import events as events
from .events import find_first_passages as find_first_passages, find_peaks as find_peaks
from . import simulation as simulation
