"""The tasks of fev-bench that are here, run and scored by the package `fev` itself.

    pip install -e ".[leaderboards]"
    KERAS_BACKEND=jax python -m benchmarks.accuracy.fev_tasks --models kerastrans_zero_2

The series are those of `task_list.py`, written as Parquet files; `fev` cuts the windows, calls the
adapter, which reads the covariates, and scores. results/fev_tasks.csv has its scores next to those
of tasks.csv, to four decimals, and what is there is not run again.
"""

import argparse
import tempfile
from pathlib import Path

from benchmarks.accuracy.task_list import TASKS
from benchmarks.common import RESULTS, append_row, keys_of, names, read_rows

DECILES = [round(0.1 * i, 1) for i in range(1, 10)]
FEV_TASKS = tuple(name for name, task in TASKS.items() if task.benchmark == "fev-bench")
COLUMNS = ("task", "model", "mase_fev", "mase_ours", "sql_fev", "sql_ours", "fev")


def as_fev(task, folder):
    """The task as `fev.Task`, whose series are in a file in this folder."""
    from kerastrans.leaderboards.fev_model import fev

    path = Path(folder) / f"{task.name}.parquet"
    columns = {"unique_id": "id", "ds": "timestamp", "y": "target"}
    frame = task.load()[[*columns, *task.future]].rename(columns=columns)
    frame.to_parquet(path, index=False)
    return fev.Task(
        dataset_path=str(path),
        task_name=task.name,
        horizon=task.horizon,
        num_windows=task.windows,
        seasonality=task.season,
        eval_metric="SQL",
        extra_metrics=["MASE"],
        quantile_levels=DECILES,
        known_dynamic_columns=list(task.future),
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=names, default=("kerastrans_zero_2",))
    parser.add_argument("--tasks", type=names, default=FEV_TASKS)
    parser.add_argument("--time-limit", type=float, default=900, help="of a training, seconds")
    options = parser.parse_args()
    from benchmarks.accuracy.fev_submission import evaluate

    path = RESULTS / "fev_tasks.csv"
    ours = {
        (x["task"], x["model"]): x for x in read_rows(RESULTS / "tasks.csv") if x["seed"] == "0"
    }
    for name in options.tasks:
        for model in options.models:
            if (name, model) in keys_of(path, ("task", "model")):
                continue
            expected = ours.get((name, f"{model}+covariates")) or ours.get((name, model), {})
            with tempfile.TemporaryDirectory() as folder:
                task = as_fev(TASKS[name], folder)
                found = evaluate([task], model, time_limit=options.time_limit).iloc[0]
            row = {"task": name, "model": model, "fev": found["fev_version"]}
            for score in ("mase", "sql"):
                row[f"{score}_fev"] = f"{found[score.upper()]:.4f}"
                known = expected.get(score)
                row[f"{score}_ours"] = f"{float(known):.4f}" if known else ""
            append_row(path, COLUMNS, row)
            print(row, flush=True)


if __name__ == "__main__":
    main()
