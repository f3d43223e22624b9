"""Forecasts and backtests of a folder of Parquet files with Ray."""

import functools
import shutil
from pathlib import Path

import pandas as pd

from kerastrans.data.frames import ID, TIME
from kerastrans.data.parquet import list_partitions, read_partition
from kerastrans.forecasting.presets.catalog import load_trained
from kerastrans.utils.files import new_file
from kerastrans.utils.validation import NoSeriesError, check_positive_integers, import_extra

RETRIES = 3  # times a file is retried if its worker dies
_load = functools.cache(load_trained)  # once per worker process


def forecast_partitions(trained, source, target, *, backtest=None, num_workers=None, levels=None):
    """Forecast all series of a folder of Parquet files, and write one output file per input file.

    The files are distributed to Ray workers, which load the forecaster once each. A file is written
    completely or not at all, so that an interrupted run can be resumed: files that already exist in
    `target` are skipped. If a worker dies, its file is retried.

    Args:
        trained: Name of a preset, or path of a folder that `Forecaster.save` wrote. All workers
            must be able to read it.
        source: Path of a folder of .parquet files, each a long frame of complete series.
        target: Path of the folder to write to; the files have the same relative paths.
        backtest: Dict of arguments of `Forecaster.backtest`, to write its rows instead of
            forecasts; None for forecasts.
        num_workers: int, number of files to process at once; by default the number of cores.
        levels: Percents of the intervals, as in `Forecaster.predict`.

    Returns:
        Dict: "files", the number of files written; "skipped", the number of files skipped;
        "series", the number of series; and "faults", a dict of series that were left out -> reason.
        For a file without a valid series, an empty file is written.

    Raises:
        ImportError: If the extra `scale` is not installed.
        FileNotFoundError: If `source` has no .parquet file.
        ValueError: If the target is inside the source.
        RuntimeError: If files failed, after all other files are written.
    """
    ray = import_extra("ray", "forecasting partitions", "scale")
    source, target = Path(source).resolve(), Path(target).resolve()
    if target.is_relative_to(source):
        raise ValueError(f"target must be outside of source, got {target} inside {source}.")
    paths = [path.relative_to(source) for path in list_partitions(source)]
    waiting = [path for path in paths if not (target / path).exists()]
    if not ray.is_initialized():
        ray.init(include_dashboard=False, log_to_driver=False, configure_logging=False)
    if num_workers is None:
        num_workers = max(1, int(ray.cluster_resources().get("CPU", 1)))
    check_positive_integers(num_workers=num_workers)
    trained = str(Path(trained).resolve()) if Path(trained).exists() else str(trained)
    work = ray.remote(num_cpus=1, max_retries=RETRIES)(_forecast_partition)
    result = {"files": 0, "skipped": len(paths) - len(waiting), "series": 0, "faults": {}}
    running, failed, waiting = {}, {}, waiting[::-1]
    while waiting or running:
        while waiting and len(running) < num_workers:
            path = waiting.pop()
            task = work.remote(trained, source / path, target / path, backtest, levels)
            running[task] = path
        (done, *_), _ = ray.wait(list(running))
        path = running.pop(done)
        try:
            count, faults = ray.get(done)
        except ray.exceptions.RayError as error:
            failed[str(path)] = str(error).strip().splitlines()[-1]
            continue
        result["files"] += 1
        result["series"] += count
        result["faults"] |= faults
    for path in paths:  # unfinished files of workers that died
        for unfinished in (target / path).parent.glob(f".{path.name}-*"):
            shutil.rmtree(unfinished)
    if failed:
        path, why = next(iter(failed.items()))
        raise RuntimeError(f"{len(failed)} of {len(paths)} files failed, {path}: {why}")
    return result


def _forecast_partition(trained, source, target, backtest, levels):
    """Forecast a file; return the number of its series, and the faults of series left out."""
    forecaster = _load(trained)
    frame = read_partition(source)
    options = {} if levels is None else {"levels": levels}
    try:
        if backtest is None:
            rows = forecaster.predict(frame, **options)
        else:
            rows = forecaster.backtest(frame, **backtest, **options)
        faults = forecaster.faults
    except NoSeriesError as error:  # write an empty file, so that the next run skips it
        rows = pd.DataFrame(columns=[ID, TIME, forecaster.alias])
        faults = error.faults or {source.name: str(error)}
    try:
        with new_file(target) as unfinished:
            rows.to_parquet(unfinished, index=False)
    except OSError:
        if not target.exists():
            raise
        # Another run has written the file in the meantime.
    return rows[ID].nunique(), dict(faults)
