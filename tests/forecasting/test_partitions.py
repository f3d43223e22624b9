"""Partitions on a local Ray cluster: no series is lost or duplicated if a worker is killed."""

import os
import signal
import sys
import threading
import time

import numpy as np
import pandas as pd
import pytest

from kerastrans import Forecaster
from kerastrans.forecasting import partitions
from kerastrans.forecasting.partitions import forecast_partitions
from tests.helpers.parquet import SIZES, series, write

pytest.importorskip("ray")
FILES = 6


@pytest.fixture(scope="module")
def cluster():
    import ray

    ray.shutdown()  # a cluster that another test started
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield ray
    ray.shutdown()


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained") / "nlinear"
    forecaster = Forecaster("nlinear", **SIZES).fit(series(0, 3), epochs=1, verbose=0)
    forecaster.save(folder)
    return folder


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "source"
    folder.mkdir()
    write(folder, [series(5 * i, 5) for i in range(FILES)])
    return folder


def read(folder):
    return pd.concat(map(pd.read_parquet, sorted(folder.glob("*.parquet"))), ignore_index=True)


@pytest.mark.slow
def test_every_series_is_forecast_once_and_as_in_one_process(cluster, trained, source, tmp_path):
    target = tmp_path / "target"
    found = forecast_partitions(trained, source, target)
    assert (found["files"], found["skipped"], found["series"]) == (FILES, 0, 5 * FILES)
    rows = read(target)
    assert not rows.duplicated(["unique_id", "ds"]).any()
    here = Forecaster.load(trained).predict(read(source))
    both = rows.merge(here, on=["unique_id", "ds"])
    assert len(both) == len(rows) == len(here)
    np.testing.assert_allclose(both["nlinear_x"], both["nlinear_y"], rtol=1e-5, atol=1e-5)


@pytest.mark.slow
def test_an_interrupted_run_resumes(cluster, trained, source, tmp_path):
    target = tmp_path / "target"
    target.mkdir()
    (target / "part-2.parquet").write_text("made before")
    found = forecast_partitions(trained, source, target, backtest={"windows": 2})
    assert (found["files"], found["skipped"]) == (FILES - 1, 1)
    assert (target / "part-2.parquet").read_text() == "made before"
    assert pd.read_parquet(target / "part-1.parquet")["cutoff"].nunique() == 2


def worker_processes():
    """Return the process ids of the Ray workers that run a task."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/cmdline") as file:
                    if file.read().startswith("ray::_forecast_partition"):
                        found.append(int(entry))
            except OSError:
                continue
    return found


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="finds the worker in /proc")
@pytest.mark.slow
def test_a_killed_worker_loses_and_duplicates_no_series(cluster, trained, source, tmp_path):
    target, killed = tmp_path / "target", []

    def kill():
        until = time.monotonic() + 60
        while not killed and time.monotonic() < until:
            for pid in worker_processes()[:1]:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)

    killer = threading.Thread(target=kill)
    killer.start()
    found = forecast_partitions(trained, source, target)
    killer.join()
    assert len(killed) == 1
    assert (found["files"], found["series"]) == (FILES, 5 * FILES)
    rows = read(target)
    assert len(rows) == 5 * FILES * SIZES["prediction_length"]
    assert not rows.duplicated(["unique_id", "ds"]).any()
    assert not list(target.glob(".*"))  # no unfinished file


@pytest.mark.slow
def test_an_unreadable_file_is_reported_and_the_others_are_written(
    cluster, trained, source, tmp_path
):
    (source / "part-0.parquet").write_text("no parquet")
    with pytest.raises(RuntimeError, match=r"1 of 6 files failed, part-0\.parquet: .*cannot read"):
        forecast_partitions(trained, source, tmp_path / "target")
    assert len(list((tmp_path / "target").glob("*.parquet"))) == FILES - 1


@pytest.mark.slow
def test_a_file_without_a_valid_series_is_processed_once(cluster, trained, source, tmp_path):
    faulty = series(100, 2).assign(y=np.nan)
    faulty.to_parquet(source / "faulty.parquet")
    faulty[:0].to_parquet(source / "nothing.parquet")
    target = tmp_path / "target"
    found = forecast_partitions(trained, source, target)
    assert (found["files"], found["series"]) == (FILES + 2, 5 * FILES)
    assert set(found["faults"]) == {*faulty["unique_id"], "nothing.parquet"}
    assert len(pd.read_parquet(target / "faulty.parquet")) == 0
    assert forecast_partitions(trained, source, target)["files"] == 0


def test_a_target_inside_the_source_is_refused(trained, source):
    with pytest.raises(ValueError, match="target must be outside of source, got"):
        forecast_partitions(trained, source, source / "forecasts")


def test_a_file_written_by_another_run_is_not_overwritten(trained, source, tmp_path):
    target = tmp_path / "part-0.parquet"
    first = partitions._forecast_partition(trained, source / "part-0.parquet", target, None, None)
    written = target.read_bytes()
    again = partitions._forecast_partition(trained, source / "part-0.parquet", target, None, None)
    assert again == first
    assert target.read_bytes() == written
