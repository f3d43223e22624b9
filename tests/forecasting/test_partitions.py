"""Partitions on a local Ray cluster: no series is lost or duplicated if a worker is killed."""

import os
import shutil
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
from tests.forecasting.test_forecast_function import table_of, with_covariates
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
    target, options = tmp_path / "target", {"backtest": {"windows": 2}}
    forecast_partitions(trained, source, target, **options)
    assert pd.read_parquet(target / "part-1.parquet")["cutoff"].nunique() == 2
    before = written(target)
    (target / "part-2.parquet").unlink()
    (target / "part-3.parquet").write_text("damaged")
    found = forecast_partitions(trained, source, target, **options)
    assert (found["files"], found["skipped"], found["series"]) == (2, FILES - 2, 10)
    assert changed(target, before) == ["part-2.parquet", "part-3.parquet"]


def written(folder):
    """Names of files -> the moments when they were written."""
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("*.parquet")}


def changed(folder, before):
    return sorted(name for name, when in written(folder).items() if before.get(name) != when)


@pytest.mark.slow
def test_what_is_older_than_its_input_or_arguments_is_written_again(
    cluster, trained, source, tmp_path
):
    target = tmp_path / "target"

    def run(**options):
        before = written(target)
        found = forecast_partitions(trained, source, target, **options)
        assert found["skipped"] == FILES - found["files"]
        assert len(changed(target, before)) == found["files"]
        return changed(target, before)

    names = sorted(path.name for path in source.iterdir())
    assert run() == names
    assert run() == []
    later = series(0, 5, length=88)  # as a daily job appends them
    later.to_parquet(source / "part-0.parquet")
    os.utime(source / "part-0.parquet", (0, 0))  # its time says nothing
    assert run() == ["part-0.parquet"]
    rows = pd.read_parquet(target / "part-0.parquet")
    assert rows["ds"].min() > later["ds"].max()
    os.utime(source / "part-1.parquet")  # the same content
    assert run() == []
    assert run(levels=[50]) == names
    assert "nlinear-lo-50" in read(target)
    assert "nlinear-lo-80" not in read(target)
    assert run(levels=(50,)) == []
    assert run(levels=[50], if_exists="replace") == names
    assert run() == names
    assert run(backtest={}) == names
    assert run(backtest={"windows": 2}) == names
    with pytest.raises(FileExistsError, match=r"part-0\.parquet exists: choose another name"):
        run(backtest={"windows": 2}, if_exists="error")
    assert run(backtest={"windows": 2}) == []


@pytest.mark.slow
def test_workers_read_the_forecaster_that_lies_there_now(cluster, source, tmp_path):
    models = tmp_path / "models"
    for name in ("last_value", "seasonal_naive"):
        options = {"season": 24} if name == "seasonal_naive" else {}
        Forecaster(name, 24, 8, alias="m", **options).fit(series(0, 3)).save(models / name)
    models_and_targets = [("last_value", "first"), ("seasonal_naive", "second")]
    for name, target in [*models_and_targets, ("last_value", "second")]:  # the last one is stale
        shutil.rmtree(tmp_path / "trained", ignore_errors=True)
        shutil.copytree(models / name, tmp_path / "trained")
        found = forecast_partitions(tmp_path / "trained", source, tmp_path / target)
        assert found["files"] == FILES
        rows = read(tmp_path / target).merge(
            Forecaster.load(models / name).predict(read(source)), on=["unique_id", "ds"]
        )
        assert len(rows) == 5 * FILES * 8
        np.testing.assert_allclose(rows["m_x"], rows["m_y"], rtol=1e-5)
    with pytest.raises(ValueError, match="unknown preset 'no such preset'"):
        forecast_partitions("no such preset", source, tmp_path / "third")


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
def test_a_file_without_a_valid_series_fails_and_has_no_output(cluster, trained, source, tmp_path):
    target = tmp_path / "target"
    series(100, 2).to_parquet(source / "part-7.parquet")
    found = forecast_partitions(trained, source, target)
    assert (found["files"], found["series"]) == (FILES + 1, 5 * FILES + 2)
    faulty = series(100, 2).assign(y=np.nan)
    faulty.to_parquet(source / "part-7.parquet")
    faulty[:0].to_parquet(source / "part-8.parquet")
    pd.concat([faulty, series(200, 1)]).to_parquet(source / "part-9.parquet")
    for options in ({}, {"backtest": {"windows": 2}}):
        message = r"^2 of 9 files failed, part-[78]\.parquet: .*NoSeriesError: [^\n]*$"
        with pytest.raises(RuntimeError, match=message):
            forecast_partitions(trained, source, target, **options)
        # The output of former rows is removed, too.
        assert sorted(written(target)) == [f"part-{i}.parquet" for i in (0, 1, 2, 3, 4, 5, 9)]
        assert read(target)["unique_id"].nunique() == 5 * FILES + 1


def test_a_target_inside_the_source_is_refused(trained, source):
    with pytest.raises(ValueError, match="target must be outside of source, got"):
        forecast_partitions(trained, source, source / "forecasts")


def test_a_file_written_by_another_run_is_not_overwritten(trained, source, tmp_path, monkeypatch):
    new_file, target = partitions.new_file, tmp_path / "part-0.parquet"
    function = partitions.forecast_function(trained)
    call = function, source / "part-0.parquet", target
    assert partitions._forecast_partition(*call, False) == (5, {})
    before = target.read_bytes()
    assert partitions._forecast_partition(*call, False) == (0, {})
    assert target.read_bytes() == before

    def late(path):
        path.write_text("of another run")
        return new_file(path)

    monkeypatch.setattr(partitions, "new_file", late)
    assert partitions._forecast_partition(*call, True) == (5, {})
    assert target.read_text() == "of another run"


def test_an_unknown_answer_to_existing_files_is_refused(trained, source, tmp_path):
    message = "if_exists must be one of 'resume', 'replace', 'error', got 'skip'"
    with pytest.raises(ValueError, match=message):
        forecast_partitions(trained, source, tmp_path / "target", if_exists="skip")


@pytest.mark.slow
def test_parts_hold_covariates_of_the_steps_to_forecast_and_static_ones(cluster, tmp_path):
    forecaster, frame, known = with_covariates()
    forecaster.save(tmp_path / "trained")
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    table = table_of(frame, known)
    write(source, [pd.concat([table, table[:30].assign(unique_id="c", y=np.nan)])])
    options = {"ray_options": {"num_cpus": 0.5}}
    assert forecast_partitions(tmp_path / "trained", source, target, **options)["series"] == 2
    expected = forecaster.predict(frame, **known)
    pd.testing.assert_frame_equal(read(target), expected, rtol=1e-5)
    forecast_partitions(tmp_path / "trained", source, target, simulate={"num_paths": 3})
    assert read(target).groupby("unique_id")["path"].nunique().tolist() == [3, 3]
    assert pd.read_parquet(target / "part-0.parquet").attrs["faults"].keys() == {"c"}
