"""Joint sample paths of any forecaster, and what is read from them.

`Forecaster.simulate` draws the paths. Rows with the same "path" belong together, so that a sum, a
peak or the time of an event is computed path by path, and its distribution is that over the paths.

    paths = forecaster.simulate(frame, num_paths=500)
    weeks = aggregate_paths(paths, "W", quantiles=[0.1, 0.5, 0.9])
"""

from kerastrans.forecasting.paths.aggregates import aggregate_paths
from kerastrans.forecasting.paths.events import find_first_passages, find_peaks

__all__ = ["aggregate_paths", "find_first_passages", "find_peaks"]
