"""From how many rows on does a trained model forecast a series better than kerastrans_zero_2?

`auto` uses kerastrans_zero_2, without training, if the series hold fewer than 100 forecasts that
do not overlap. Here TiDE, its choice for short series, is trained on the first rows of real hourly
and daily series, from 41 to 250 forecasts of 12 steps, and both forecast the next 120 rows from ten
origins. Prices come with their two covariates, known ahead. The rows are training rows of each data
set: no test row is read.

    python -m benchmarks.accuracy.fallback    # adds to benchmarks/results/fallback.csv
"""

import time
import warnings

import pandas as pd

from benchmarks.common import RESULTS, append_row, keys_of
from kerastrans import Forecaster, backtesting, datasets, from_pretrained
from kerastrans.models.pretrained.shipped import DEFAULT

OUTPUT = RESULTS / "fallback.csv"
HORIZON, WINDOWS, TIME_LIMIT = 12, 10, 600  # a limit that no fit reaches
ROWS = (500, 1000, 1800, 3000)
SERIES = {
    "etth1": ("HUFL", "MUFL", "LUFL", "OT"),
    "nyc_departures": None,
    "exchange_rate": ("0", "1"),
}
PRICES = ("epf_np", "epf_fr", "epf_pjm")  # long frames, the covariates in their last columns
MEASURES = ("mae", "wql", "coverage-80")
COLUMNS = ("series", "rows", *(f"{m} {x}" for x in ("zero", "tide") for m in MEASURES), "seconds")


def measure(frame, rows, future=()):
    """Return the scores of both models after training on the first rows of a frame of one series.

    Args:
        frame: Wide frame, or long frame with covariates.
        rows: int, rows to train on.
        future: Names of covariates that are known ahead.
    """
    zero = published(frame, future)
    tide = Forecaster("tide", prediction_length=HORIZON, calendar=True, future=future)
    started = time.perf_counter()
    tide.fit(frame[:rows], verbose=0, time_limit=TIME_LIMIT)
    seconds = round(time.perf_counter() - started, 1)
    found = {**scores("zero", zero, frame), **scores("tide", tide, frame)}
    return {"rows": rows, "seconds": seconds, **found}


def published(frame, future):
    """Return the published weights that `auto` uses, with the options of the frequency."""
    times = pd.DatetimeIndex(frame.get("ds", frame.index))
    options = {"freq": pd.infer_freq(times), "verbose": False}
    return from_pretrained(DEFAULT, HORIZON, future=future, **options)


def scores(name, forecaster, frame):
    """Return the scores of the last windows, by column."""
    rows = forecaster.backtest(frame, windows=WINDOWS, levels=(20, 40, 60, 80, 95))
    found = backtesting.score(rows).iloc[0]
    return {f"{measure} {name}": round(found[measure], 4) for measure in MEASURES}


def main():
    warnings.simplefilter("ignore")
    done = keys_of(OUTPUT, ("series", "rows"))
    for rows in ROWS:
        for series, frame, future in _cases(rows + WINDOWS * HORIZON):
            if (series, str(rows)) not in done:
                row = {"series": series} | measure(frame, rows, future)
                append_row(OUTPUT, COLUMNS, row, line_end="\n")
                print(row, flush=True)


def _cases(rows):
    """Yield `(label, frame, covariates known ahead)` of the series that have so many rows."""
    for name, columns in SERIES.items():
        frame = datasets.load(name)[:rows]
        for column in (columns or frame.columns[:1]) if len(frame) == rows else ():
            yield f"{name} {column}", frame[[column]], ()
    for name in PRICES:
        frame = datasets.load(name)[:rows]
        yield f"{name} y", frame, tuple(frame.columns[3:])


if __name__ == "__main__":
    main()
