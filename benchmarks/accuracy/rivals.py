"""How far kerastrans-zero 2 is from the model that `auto` trains, held out and on later windows.

    KERAS_BACKEND=jax python -m benchmarks.accuracy.rivals --tasks m4_hourly,hospital

`fit` compares both on its held-out windows, see `training.comparison.Comparison`; here the trained
model is kept whatever the verdict. Both then forecast the windows before those of the published
test, which neither has seen. One row a task and seed is added to results/rivals.csv.
"""

import argparse
import warnings
from dataclasses import asdict, replace
from pathlib import Path

from benchmarks.accuracy.task_list import TASKS
from benchmarks.accuracy.tasks import run
from benchmarks.common import RESULTS, append_row, keys_of, names
from kerastrans.forecasting.training.comparison import TRAINED, Comparison

ZERO = "kerastrans_zero_2"
LEFT_OUT = ("epf_np", "epf_pjm", "epf_fr")  # whose model decodes, and has no rival
SCORES = ("mase", "sql", "coverage-80")
COLUMNS = (
    *("task", "seed", "model", "windows", "loss_change", "standard_error"),
    *(f"{name} {score}" for score in SCORES for name in ("trained", ZERO)),
)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", type=names, default=tuple(x for x in TASKS if x not in LEFT_OUT))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--time-limit", type=float, default=300, help="of a training, seconds")
    parser.add_argument("--output", type=Path, default=RESULTS / "rivals.csv")
    options = parser.parse_args()
    for name in options.tasks:
        if (name, str(options.seed)) not in keys_of(options.output, ("task", "seed")):
            row = measure(TASKS[name], options.seed, options.time_limit)
            append_row(options.output, COLUMNS, row)
            print(*row.values(), flush=True)


def measure(task, seed, time_limit):
    """Return a row of the table."""
    verdicts, check = [], Comparison.check

    def keep_trained(comparison, state):
        verdicts.append(check(comparison, state))
        return replace(verdicts[-1], kept=TRAINED)

    Comparison.check = keep_trained
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            models = "auto", ZERO
            trained, zero = (run(task, x, seed, time_limit, 1) for x in models)
    finally:
        Comparison.check = check
    verdict = asdict(verdicts[0])
    row = {"task": task.name, "seed": seed, "model": trained["settings"].split(",")[0]}
    row |= {"windows": verdict["windows"]}
    row |= {x: f"{verdict[x]:.4f}" for x in ("loss_change", "standard_error")}
    for score in SCORES:
        row |= {f"trained {score}": trained[score], f"{ZERO} {score}": zero[score]}
    return row


if __name__ == "__main__":
    main()
