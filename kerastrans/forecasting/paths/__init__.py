"""Joint sample paths of any forecaster, and what is read from them.

`Forecaster.simulate` draws the paths. Rows with the same "path" belong together, so that a sum, a
peak or the time of an event is computed path by path, and its distribution is that over the paths.

    paths = forecaster.simulate(frame, num_paths=500)
    weeks = aggregate_paths(paths, "W", quantiles=[0.1, 0.5, 0.9])
"""

from kerastrans.utils.lazy import names_of

__getattr__, __dir__, __all__ = names_of(
    __name__,
    {
        "aggregates": ("aggregate_paths", "backtest_aggregates"),
        "events": ("find_first_passages", "find_peaks"),
        "simulation": (),
    },
)
