"""Forecasts and backtests of more series than one process takes, partition by partition, on Ray."""

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
_load = functools.cache(load_trained)  # once in each worker's process


def forecast_partitions(trained, source, target, *, backtest=None, num_workers=None, levels=None):
    """Forecast every series of a folder of Parquet files; one file out for each file in.

    The files are shared out to Ray's workers, each of which loads the forecaster once. A file is
    written whole or not at all, so that a run that was interrupted goes on where it stopped: what
    stands in `target` is not made again. The file of a worker that dies is given to another.

    Args:
        trained: preset, or folder that `Forecaster.save` wrote; every worker must reach it.
        source: folder of .parquet files, each a long frame of whole series.
        target: folder to write, with the same paths below it.
        backtest: None, or dict of the arguments of `Forecaster.backtest`, whose rows are then
            written instead of the forecast's.
        num_workers: int, files at work at once; None for as many as the cluster has cores.
        levels: of the intervals, as in `Forecaster.predict`.

    Returns:
        Dict: "files" made now, "skipped" that stood there, "series", and "faults", a dict of the
        series that were left out and why; a file without a usable series is written without rows.

    Raises:
        ImportError: the extra `scale` is missing.
        FileNotFoundError: no .parquet file in `source`.
        ValueError: a target inside the source.
        RuntimeError: files that failed, the others are written.
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
    found = {"files": 0, "skipped": len(paths) - len(waiting), "series": 0, "faults": {}}
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
        found["files"] += 1
        found["series"] += count
        found["faults"] |= faults
    for path in paths:  # what a worker that died had begun to write
        for unfinished in (target / path).parent.glob(f".{path.name}-*"):
            shutil.rmtree(unfinished)
    if failed:
        path, why = next(iter(failed.items()))
        raise RuntimeError(f"{len(failed)} of {len(paths)} files failed, {path}: {why}")
    return found


def _forecast_partition(trained, source, target, backtest, levels):
    """One file; returns how many series it has now, and the faults of the others."""
    forecaster = _load(trained)
    frame = read_partition(source)
    options = {} if levels is None else {"levels": levels}
    try:
        if backtest is None:
            rows = forecaster.predict(frame, **options)
        else:
            rows = forecaster.backtest(frame, **backtest, **options)
        faults = forecaster.faults
    except NoSeriesError as error:  # written all the same, so that no run tries it again
        rows = pd.DataFrame(columns=[ID, TIME, forecaster.alias])
        faults = error.faults or {source.name: str(error)}
    try:
        with new_file(target) as unfinished:
            rows.to_parquet(unfinished, index=False)
    except OSError:
        if not target.exists():
            raise
        # Another run on the same target has written it meanwhile.
    return rows[ID].nunique(), dict(faults)
