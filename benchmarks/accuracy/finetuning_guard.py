"""What `fit` keeps of kerastrans_zero on published tasks, and whether that was right.

A task's rows before its first test window are given to `fit`, whose guard decides on windows that
it holds out of them. The test windows are then forecast by the published weights and by what `fit`
kept; with `--others` by the trained weights too if they were not kept. One row per task and
learning rate is added to results/finetuning_guard.csv; what is there is not run again.

    KERAS_BACKEND=jax python -m benchmarks.accuracy.finetuning_guard    # an hour on one core
"""

import argparse
import itertools
import warnings

import keras

import kerastrans
from benchmarks.accuracy.task_list import TASKS, split
from benchmarks.accuracy.tasks import LEVELS, score
from benchmarks.common import RESULTS, append_row, keys_of, names
from kerastrans.utils.environment import environment
from tests.helpers.weights import ZERO_1

DEFAULT_TASKS = (
    *("australian_tourism", "hospital", "nyc_departures", "epf_np", "epf_pjm", "epf_fr"),
    "etth1_24",
)
RATES = (1e-4, 2e-3)  # the default, and the best of pretrained_finetuning.csv
SCORES = ("mase", "sql")
KEY = ("task", "rate", "seed")
COLUMNS = (
    *KEY,
    *("kept", "windows", "loss_change", "standard_error"),
    *(f"{score}_{weights}" for score in SCORES for weights in ("published", "trained", "kept")),
    *("mase_change", "sql_change", "epochs"),
)


def published(task, rate, seed):
    options = {"optimizer": keras.optimizers.Adam(rate, clipnorm=1.0), "seed": seed}
    return kerastrans.from_pretrained(ZERO_1, task.horizon, verbose=False, **options)


def test_scores(forecaster, frame, task):
    """Mean MASE and SQL of the test windows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        options = {"windows": task.windows, "step": task.horizon, "levels": LEVELS}
        return score(forecaster.backtest(frame, **options), frame, task)


def run(task, rate, seed, seconds, others):
    frame = task.load()[["unique_id", "ds", "y"]]
    train, _ = split(frame, task.horizon * task.windows)
    options = {"time_limit": seconds, "verbose": 0}
    forecaster = published(task, rate, seed).fit(train, **options)
    verdict, history = forecaster.fine_tuning, forecaster.history
    by = {"published": test_scores(published(task, rate, seed), frame, task)}
    if verdict["kept"] == "trained":
        by["trained"] = test_scores(forecaster, frame, task)
    elif others and history is not None:
        other = published(task, rate, seed).fit(train, restore_published=False, **options)
        by["trained"] = test_scores(other, frame, task)
    by["kept"] = by[verdict["kept"]]
    row = {"task": task.name, "rate": rate, "seed": seed, **verdict}
    row["epochs"] = len(history.epoch) if history is not None else 0
    row |= {f"{x}_{weights}": scores[x] for x in SCORES for weights, scores in by.items()}
    row |= {f"{x}_change": by["kept"][x] / by["published"][x] - 1 for x in SCORES}
    return {name: f"{x:.4g}" if isinstance(x, float) else x for name, x in row.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", type=names, default=DEFAULT_TASKS, help="comma-separated")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60, help="time limit of a training")
    parser.add_argument("--rates", type=names, default=RATES, help="comma-separated")
    parser.add_argument(
        "--others", action="store_true", help="also score trained weights that were not kept"
    )
    options = parser.parse_args()
    path = RESULTS / "finetuning_guard.csv"
    for rate, name in itertools.product(map(float, options.rates), options.tasks):
        key = (name, f"{rate:.4g}", str(options.seed))
        if key not in keys_of(path, KEY):
            row = run(TASKS[name], rate, options.seed, options.seconds, options.others)
            append_row(path, COLUMNS, row)
            print(row, flush=True)
    print(environment())


if __name__ == "__main__":
    main()
