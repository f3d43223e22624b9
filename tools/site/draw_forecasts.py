"""Draw each architecture's forecast of the last three days of departures from Kennedy airport.

    KERAS_BACKEND=jax python -m tools.site.draw_forecasts [names, or --missing]

Small sizes, three epochs, nothing tuned: what the forecast looks like, not how good it can be.
"""

import sys
from pathlib import Path

import matplotlib

from kerastrans import Forecaster, datasets, plotting, zoo

FOLDER = Path(__file__).parents[2] / "docs" / "images" / "architectures"
CONTEXT, HORIZON, EPOCHS, DAYS = 168, 24, 3, 3
SIZES = {"d_model": 32, "num_heads": 4, "ff_dim": 64, "hidden_dim": 64, "dropout": 0.1}
LESS = {"timesnet": {"num_blocks": 1, "num_kernels": 1, "num_periods": 2}}  # it takes half an hour


def main(names):
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "kerastrans"})
    flights = datasets.load("nyc_departures")
    for name in drawn(names, "forecast"):
        rows = forecast(name, flights)
        figure = plotting.plot_fan(rows, flights, series=["JFK"], unit="flights/h")
        figure.set_size_inches(7, 2.8)
        figure.savefig(FOLDER / f"{name}-forecast.svg", metadata={"Date": None})
        print(f"drew {name}", flush=True)


def drawn(names, picture):
    """The names given, or all; "--missing" stands for those without a picture of this kind."""
    if names == ["--missing"]:
        return [x for x in zoo.names() if not (FOLDER / f"{x}-{picture}.svg").exists()]
    return names or zoo.names()


def forecast(name, flights):
    """The forecasts of the last days, by a model that saw none of the last 28."""
    known = zoo.info(name).defaults
    sizes = {size: value for size, value in SIZES.items() if known.get(size) is not None}
    forecaster = Forecaster(name, CONTEXT, HORIZON, **sizes, **LESS.get(name, {}))
    forecaster.fit(flights[: -28 * HORIZON], epochs=EPOCHS, batch_size=64, verbose=0)
    return forecaster.backtest(flights, windows=DAYS, step=HORIZON)


if __name__ == "__main__":
    main(sys.argv[1:])
