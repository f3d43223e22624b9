"""Forecasts and backtests of a folder of Parquet files with Ray."""

import contextlib
import functools
import shutil
from pathlib import Path

from kerastrans.data.frames import ID
from kerastrans.data.parquet import list_partitions, read_partition
from kerastrans.forecasting.presets.catalog import load_trained
from kerastrans.forecasting.presets.sources import open_preset
from kerastrans.utils.files import new_file
from kerastrans.utils.identity import fingerprint
from kerastrans.utils.validation import check_choice, check_integer, check_new, import_extra

RETRIES = 3  # times a file is retried if its worker dies
MADE_FROM = "made_from"  # attribute of a written frame: fingerprint of its input and arguments


# Once per worker process, as long as the files are the same.
_load = functools.lru_cache(maxsize=1)(lambda trained, identity: load_trained(trained))


def forecast_partitions(
    trained, source, target, *, backtest=None, num_workers=None, levels=None, if_exists="resume"
):
    """Forecast all series of a folder of Parquet files, and write one output file per input file.

    The files are distributed to Ray workers, which load the forecaster once each. A file is written
    completely or not at all, so that an interrupted run can be resumed. Each output keeps the
    fingerprint of the content of its input, of the forecaster and of the arguments: the same call
    writes again what was made from other ones. If a worker dies, its file is retried.

    Args:
        trained: Name of a preset, or path of a folder that `Forecaster.save` wrote. All workers
            must be able to read it.
        source: Path of a folder of .parquet files, each a long frame of complete series.
        target: Path of the folder to write to; the files have the same relative paths. Files
            without an input stay as they are.
        backtest: Dict of arguments of `Forecaster.backtest`, to write its rows instead of
            forecasts; None for forecasts.
        num_workers: int, number of files to process at once; by default the number of cores.
        levels: Percents of the intervals, as in `Forecaster.predict`.
        if_exists: "resume" to skip outputs that were made from the same input, forecaster and
            arguments, and to replace all others; "replace" to replace all; "error" to refuse a
            target that has one of them.

    Returns:
        Dict: "files", the number of files written; "skipped", the number of files skipped;
        "series", the number of series; and "faults", a dict of series that were left out -> reason.

    Raises:
        ImportError: If the extra `scale` is not installed.
        FileNotFoundError: If `source` has no .parquet file.
        FileExistsError: If `if_exists` is "error" and an output exists.
        ValueError: If the target is inside the source, a preset or `if_exists` is unknown.
        RuntimeError: If files failed, such as files without a valid series, after all other files
            are written. A file that failed has no output.
    """
    ray = import_extra("ray", "forecasting partitions", "scale")
    check_choice("if_exists", if_exists, ("resume", "replace", "error"))
    source, target = Path(source).resolve(), Path(target).resolve()
    if target.is_relative_to(source):
        raise ValueError(f"target must be outside of source, got {target} inside {source}.")
    paths = [path.relative_to(source) for path in list_partitions(source)]
    for path in paths if if_exists == "error" else ():
        check_new(target / path)
    options = {**(backtest or {}), **({} if levels is None else {"levels": levels})}
    call = *_identify(trained), "predict" if backtest is None else "backtest", options
    if not ray.is_initialized():
        ray.init(include_dashboard=False, log_to_driver=False, configure_logging=False)
    if num_workers is None:
        num_workers = max(1, int(ray.cluster_resources().get("CPU", 1)))
    check_integer("num_workers", num_workers, 1)
    work = ray.remote(num_cpus=1, max_retries=RETRIES)(_forecast_partition)
    result = {"files": 0, "skipped": 0, "series": 0, "faults": {}}
    running, failed, waiting = {}, {}, paths[::-1]
    while waiting or running:
        while waiting and len(running) < num_workers:
            path = waiting.pop()
            running[work.remote(*call, source / path, target / path, if_exists == "replace")] = path
        (done, *_), _ = ray.wait(list(running))
        path = running.pop(done)
        try:
            count, faults = ray.get(done)
        except ray.exceptions.RayError as error:
            failed[str(path)] = str(error).strip().splitlines()[-1]
            continue
        result["files" if count else "skipped"] += 1
        result["series"] += count
        result["faults"] |= faults
    for path in paths:  # unfinished files of workers that died
        for unfinished in (target / path).parent.glob(f".{path.name}-*"):
            shutil.rmtree(unfinished)
    if failed:
        path, why = next(iter(failed.items()))
        raise RuntimeError(f"{len(failed)} of {len(paths)} files failed, {path}: {why}")
    return result


def _identify(trained):
    """Return the absolute path or the name of a forecaster, and the fingerprint of its files."""
    if Path(trained).exists():
        return str(Path(trained).resolve()), fingerprint(Path(trained))
    with open_preset(str(trained)) as folder:
        return str(trained), fingerprint(folder)


def _forecast_partition(trained, identity, method, options, source, target, replaces):
    """Call a method of a forecaster with the frame of a file, and write the rows that it returns.

    Returns:
        Number of series, 0 if the output is skipped, and the faults of series left out.
    """
    made = fingerprint([identity, method, options, source])
    with contextlib.suppress(ValueError):  # there is no such file, or it is damaged
        if not replaces and read_partition(target, []).attrs.get(MADE_FROM) == made:
            return 0, {}
    target.unlink(missing_ok=True)  # nothing older stays if this fails
    forecaster = _load(trained, identity)
    rows = getattr(forecaster, method)(read_partition(source), **options)
    rows.attrs[MADE_FROM] = made
    # Another run may write the file in the meantime.
    with contextlib.suppress(FileExistsError), new_file(target) as unfinished:
        rows.to_parquet(unfinished, index=False)
    return rows[ID].nunique(), dict(forecaster.faults)
