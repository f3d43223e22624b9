"""Write a submission file for fev-bench.

python -m benchmarks.accuracy.fev_submission --output mine.csv
"""

import argparse
from pathlib import Path

import pandas as pd

from kerastrans.leaderboards.forecasting import MODELS
from kerastrans.models.pretrained.shipped import DEFAULT
from kerastrans.utils.files import new_file
from kerastrans.utils.validation import (
    check_can_create,
    check_positive,
    check_positive_integers,
    check_seed,
)

FOLDER = "https://raw.githubusercontent.com/autogluon/fev/refs/heads/main/benchmarks/fev_bench"


def evaluate(tasks, model=DEFAULT, seed=0, time_limit=900):
    """Return the rows of a submission, one per task.

    Args:
        tasks: List of `fev.Task`.
        model: Name of a model, see `KerastransModel`.
        seed: int.
        time_limit: float, seconds of a training.
    """
    from kerastrans.leaderboards.fev_model import KerastransModel

    adapter = KerastransModel(model, seed, time_limit)
    rows = []
    for task in tasks:
        predictions = adapter.fit_predict(task)
        row = task.evaluation_summary(
            predictions,
            model_name=model,
            training_time_s=adapter.training_time,
            inference_time_s=adapter.inference_time,
            trained_on_this_dataset=False,
        )
        print(f"{task.task_name}: {row['eval_metric']} {row['test_error']:.4f}", flush=True)
        rows.append(row)
    return pd.DataFrame(rows)


def main(arguments=None):
    """Read the command line, run the tasks, and write a CSV file."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.fev_submission")
    parser.add_argument("--model", choices=MODELS, default=DEFAULT)
    parser.add_argument(
        "--benchmark",
        default=f"{FOLDER}/tasks.yaml",
        help="file or address of the tasks (default: fev-bench, 100 tasks, which are downloaded)",
    )
    parser.add_argument("--num-tasks", type=int, help="only so many tasks")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--time-limit", type=float, default=900, help="of a training, in seconds")
    parser.add_argument("--output", type=Path, required=True, help="CSV file to write")
    options = parser.parse_args(arguments)
    try:
        _write(options)
    except (ImportError, OSError, ValueError) as error:
        parser.exit(2, f"{parser.prog}: error: {error}\n")


def _write(options):
    """Check the options, run the tasks, and write their table."""
    if options.num_tasks is not None:
        check_positive_integers(num_tasks=options.num_tasks)
    check_positive(time_limit=options.time_limit)
    check_seed(options.seed)
    check_can_create(options.output)
    from kerastrans.leaderboards.fev_model import fev

    tasks = fev.Benchmark.from_yaml(options.benchmark).tasks[: options.num_tasks]
    table = evaluate(tasks, options.model, options.seed, options.time_limit)
    with new_file(options.output) as path:
        table.to_csv(path, index=False)
    print(f"written to {options.output}")


if __name__ == "__main__":
    main()
