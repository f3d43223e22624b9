"""Forecasts of the parts of a table that an engine distributes, and of Parquet files with Ray."""

import contextlib
import functools
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from kerastrans.data.frames import ID, TARGET, TIME, split_known, split_static
from kerastrans.data.parquet import list_partitions, read_partition
from kerastrans.evaluation.columns import interval_columns, median_column
from kerastrans.forecasting.presets.catalog import load_trained
from kerastrans.forecasting.presets.sources import open_preset
from kerastrans.utils.files import new_file
from kerastrans.utils.identity import fingerprint
from kerastrans.utils.types import Levels
from kerastrans.utils.user_warnings import warn_user
from kerastrans.utils.validation import (
    NoSeriesError,
    check_choice,
    check_integer,
    check_new,
    import_extra,
)

RETRIES = 3  # times a file is retried if its worker dies
FAULTS = "faults"  # attribute of a written frame: dict of series that were left out -> reason
MADE_FROM = "made_from"  # attribute of a written frame: fingerprint of its input and arguments


@dataclass(frozen=True)
class ForecastFunction:
    """Forecasts of the series of a frame, for an engine that calls it with one part at a time.

    See `forecast_function`. It can be pickled; a forecaster in a folder is loaded once per process.

    Attributes:
        trained: Path of a folder, name of a preset, or trained `Forecaster`.
        identity: Fingerprint of the files, None for a `Forecaster`.
        method: "predict", "backtest" or "simulate".
        options: Dict of arguments of the method.
    """

    trained: Any
    identity: str | None
    method: str
    options: dict

    def __call__(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of whole series, none if no series of the part can be forecast."""
        try:
            return self.forecast(frame)[0]
        except NoSeriesError as error:
            warn_user(str(error))
            return self.schema

    def forecast(self, frame):
        """Return the rows of whole series, and a dict of series that were left out -> reason."""
        forecaster, known = self.forecaster, {}
        config, covariates = forecaster.config, forecaster.fitted.covariates
        if covariates.static:
            names = [column.name for column in covariates.static]
            known["static"], frame = split_static(frame, names)
        if config.future or config.limits:
            frame, known["future"] = split_known(frame, [TARGET])
        if self.method == "backtest":
            known.pop("future", None)
        rows = getattr(forecaster, self.method)(frame, **known, **self.options)
        return rows, dict(forecaster.faults)

    @property
    def forecaster(self):
        """The trained `Forecaster`."""
        return self.trained if self.identity is None else _load(self.trained, self.identity)

    @property
    def schema(self) -> pd.DataFrame:
        """Rows as `predict` returns them, without any: what Dask calls meta."""
        if self.method != "predict":
            raise ValueError(f"the schema is that of predict, got {self.method!r}.")
        state, alias = self.forecaster.fitted, self.forecaster.alias
        levels, output = sorted(state.levels(self.options.get("levels"))), state.head
        is_mean = levels and output.has_parameter_axis and not output.point_is_median
        numbers = [alias, *[median_column(alias)] * bool(is_mean)]
        numbers += [name for level in levels for name in interval_columns(alias, level)]
        types = {ID: "str", TIME: "datetime64[ns]", **dict.fromkeys(numbers, "float64")}
        return pd.DataFrame({name: pd.Series(dtype=dtype) for name, dtype in types.items()})

    def ddl(self, id_type: str = "string") -> str:
        """Return the schema in SQL's words, as Spark takes it; ids may be of another type."""
        words = dict.fromkeys(self.schema, "double") | {ID: id_type, TIME: "timestamp"}
        return ", ".join(f"`{name}` {word}" for name, word in words.items())


# Once per process, as long as the files are the same.
_load = functools.lru_cache(maxsize=1)(lambda trained, identity: load_trained(trained))


def forecast_function(
    trained: Any,
    *,
    levels: Levels | None = None,
    backtest: Mapping[str, Any] | None = None,
    simulate: Mapping[str, Any] | None = None,
) -> ForecastFunction:
    """Return a function of a frame for Spark, Dask, Ray Data, DuckDB or polars.

    It takes a long frame of pandas with whole series. If the model has covariates that are known
    in advance, the rows after the last known value of each series, with an empty "y", hold those of
    the steps to forecast; static covariates are columns with one value in each series.

    Args:
        trained: Path of a folder that `Forecaster.save` wrote, name of a preset, or trained
            `Forecaster`, such as `kerastrans.from_pretrained` returns.
        levels: Percents of the intervals, as in `Forecaster.predict`.
        backtest: Dict of arguments of `Forecaster.backtest`, to return its rows; or None.
        simulate: Dict of arguments of `Forecaster.simulate`, to return its paths; or None.

    Raises:
        ValueError: If a preset is unknown, or both `backtest` and `simulate` are given.

    Example:
        >>> import kerastrans
        >>> zero = kerastrans.from_pretrained("kerastrans_zero_2", 12, freq="MS", verbose=False)
        >>> forecast = forecast_function(zero, levels=[80])
        >>> frame = kerastrans.datasets.load("air_passengers").set_axis(["y"], axis=1)
        >>> frame = frame.rename_axis("ds").reset_index().assign(unique_id="air")
        >>> len(forecast(frame)), list(forecast.schema)[2:]
        (12, ['kerastrans_zero_2', 'kerastrans_zero_2-lo-80', 'kerastrans_zero_2-hi-80'])
    """
    if backtest is not None and simulate is not None:
        raise ValueError("give backtest or simulate, not both.")
    asked = {"backtest": backtest, "simulate": simulate, "predict": {}}
    method, options = next((name, x) for name, x in asked.items() if x is not None)
    options = dict(options) | ({} if levels is None else {"levels": levels})
    if not isinstance(trained, str | Path):
        return ForecastFunction(trained, None, method, options)
    return ForecastFunction(*_identify(trained), method, options)


def forecast_partitions(
    trained,
    source,
    target,
    *,
    backtest=None,
    simulate=None,
    num_workers=None,
    levels=None,
    if_exists="resume",
    ray_options=None,
):
    """Forecast all series of a folder of Parquet files, and write one output file per input file.

    The files are distributed to Ray workers, which load the forecaster once each. A file is written
    completely or not at all, so that an interrupted run can be resumed. Each output keeps the
    fingerprint of the content of its input, of the forecaster and of the arguments: the same call
    writes again what was made from other ones. If a worker dies, its file is retried.

    Args:
        trained: Name of a preset, or path of a folder that `Forecaster.save` wrote. All workers
            must be able to read it.
        source: Path of a folder of .parquet files, each a long frame of complete series, with
            covariates of the steps to forecast and static ones as in `forecast_function`.
        target: Path of the folder to write to; the files have the same relative paths. Files
            without an input stay as they are.
        backtest: Dict of arguments of `Forecaster.backtest`, to write its rows instead of
            forecasts; None for forecasts.
        simulate: Dict of arguments of `Forecaster.simulate`, to write its paths, likewise.
        num_workers: int, number of files to process at once; by default the number of cores.
        levels: Percents of the intervals, as in `Forecaster.predict`.
        if_exists: "resume" to skip outputs that were made from the same input, forecaster and
            arguments, and to replace all others; "replace" to replace all; "error" to refuse a
            target that has one of them.
        ray_options: Dict of options of the Ray tasks, such as `{"num_gpus": 1}`; by default each
            takes one core.

    Returns:
        Dict: "files", the number of files written; "skipped", the number of files skipped;
        "series", the number of series; and "faults", a dict of series that were left out -> reason,
        which the attrs of each output have too.

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
    function = forecast_function(str(trained), levels=levels, backtest=backtest, simulate=simulate)
    if not ray.is_initialized():
        ray.init(include_dashboard=False, log_to_driver=False, configure_logging=False)
    if num_workers is None:
        num_workers = max(1, int(ray.cluster_resources().get("CPU", 1)))
    check_integer("num_workers", num_workers, 1)
    options = {"num_cpus": 1, "max_retries": RETRIES, **(ray_options or {})}
    work = ray.remote(**options)(_forecast_partition)
    result = {"files": 0, "skipped": 0, "series": 0, "faults": {}}
    running, failed, waiting = {}, {}, paths[::-1]
    while waiting or running:
        while waiting and len(running) < num_workers:
            path = waiting.pop()
            running[work.remote(function, source / path, target / path, if_exists == "replace")] = (
                path
            )
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


def _forecast_partition(function, source, target, replaces):
    """Call a `ForecastFunction` with the frame of a file, and write the rows that it returns.

    Returns:
        Number of series, 0 if the output is skipped, and the faults of series left out.
    """
    made = fingerprint([function.identity, function.method, function.options, source])
    with contextlib.suppress(ValueError):  # there is no such file, or it is damaged
        if not replaces and read_partition(target, []).attrs.get(MADE_FROM) == made:
            return 0, {}
    target.unlink(missing_ok=True)  # nothing older stays if this fails
    rows, faults = function.forecast(read_partition(source))
    rows.attrs |= {MADE_FROM: made, FAULTS: {str(name): why for name, why in faults.items()}}
    # Another run may write the file in the meantime.
    with contextlib.suppress(FileExistsError), new_file(target) as unfinished:
        rows.to_parquet(unfinished, index=False)
    return rows[ID].nunique(), faults
