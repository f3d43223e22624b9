"""Forecasts and backtests of a folder of Parquet files on Ray."""

import functools
import shutil
from pathlib import Path

import pandas as pd

from kerastrans.data.frames import ID, TIME
from kerastrans.data.parquet import list_partitions, read_partition
from kerastrans.forecasting.presets.catalog import load_trained
from kerastrans.utils.files import new_file
from kerastrans.utils.validation import NoSeriesError, check_positive_integers, import_extra

RETRIES = 3
_load = functools.cache(load_trained)  # once per worker process


def forecast_partitions(trained, source, target, *, backtest=None, num_workers=None, levels=None):
    """Forecast all series of a folder of Parquet files, and write one file for each file.

    The files are distributed to the workers of Ray, each of which loads the forecaster once. A file
    is written completely or not at all, so that an interrupted run can be resumed: files that
    already exist in `target` are skipped. If a worker dies, its file is retried.

    Args:
        trained: Name of a preset, or folder that `Forecaster.save` wrote and every worker can read.
        source: Path of a folder of .parquet files, each a long frame of whole series.
        target: Path of the folder to write; the files have the same relative paths.
        backtest: Dict of arguments of `Forecaster.backtest`, to write its rows instead of
            forecasts; None for forecasts.
        num_workers: int, number of files processed at once; by default the number of cores.
        levels: Percents of the intervals, as in `Forecaster.predict`.

    Returns:
        Dict: the numbers of "files" written, of files "skipped" and of "series", and "faults", a
        dict of series that were left out -> reason. A file without a valid series is written
        without rows.

    Raises:
        ImportError: If the extra `scale` is not installed.
        FileNotFoundError: If `source` has no .parquet file.
        ValueError: If the target is inside the source.
        RuntimeError: If files failed; the others are written.
    """
    ray = import_extra("ray", "forecasting partitions", "scale")
    source, target = Path(source).resolve(), Path(target).resolve()
    if target.is_relative_to(source):
        raise ValueError(f"the target {target} is inside the source, whose files it would join.")
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
    """Forecast a file; return the number of its series, and the faults of others."""
    forecaster = _load(trained)
    frame = read_partition(source)
    options = {} if levels is None else {"levels": levels}
    try:
        if backtest is None:
            rows = forecaster.predict(frame, **options)
        else:
            rows = forecaster.backtest(frame, **backtest, **options)
        faults = forecaster.faults
    except NoSeriesError as error:  # an empty file is written, so that it is not tried again
        rows = pd.DataFrame(columns=[ID, TIME, forecaster.alias])
        faults = error.faults or {source.name: str(error)}
    try:
        with new_file(target) as unfinished:
            rows.to_parquet(unfinished, index=False)
    except OSError:
        if not target.exists():
            raise
        # Another run has written it in the meantime.
    return rows[ID].nunique(), dict(faults)
