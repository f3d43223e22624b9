"""How far the default fit stays behind the better of its trained model and kerastrans-zero 2.

    KERAS_BACKEND=jax python -m benchmarks.accuracy.regret --sets illness,m4_weekly --seed 1

`auto` is trained on each set whatever its rule says, see `training.comparison.Comparison.decide`,
and the trained model, untrained kerastrans-zero 2 and their average forecast the windows before
those of the published test. A row has what the rule keeps, and what it kept before it knew averages
and compared decoders. One row a set and seed is added to results/regret.csv; what is there is not
run again. At the end, the regret of both rules is printed.
"""

import argparse
import time
import warnings
from dataclasses import replace
from pathlib import Path

import pandas as pd

from benchmarks.accuracy.task_list import OWN, TASKS, Task, split
from benchmarks.accuracy.tasks import LEVELS, score
from benchmarks.accuracy.zero_validation import HELD
from benchmarks.common import RESULTS, append_row, keys_of, names
from kerastrans import Forecaster, from_pretrained
from kerastrans.forecasting.training import fit
from kerastrans.forecasting.training.comparison import AVERAGE, PUBLISHED, TRAINED, Comparison
from kerastrans.models.pretrained.shipped import DEFAULT

SETS = {**TASKS, **HELD, "exchange_rate": Task(OWN, "exchange_rate", 30, 10, 5, "exchange_rate")}
SETS["m3_short"] = Task("M3", "m3_short", 12, 1, 12, "monthly")  # many series of 39 rows
DATED = (*(name for name, task in TASKS.items() if task.is_dated), "illness", "labour")
DATED += ("exchange_rate",)
MODELS = (TRAINED, PUBLISHED, AVERAGE)
SCORES = ("mase", "sql", "coverage-80")
FIGURES = ("loss_change", "standard_error", "average_change")
COLUMNS = ("set", "seed", "model", "time_limit", "epochs", "cpu_seconds", "windows", *FIGURES)
COLUMNS += ("kept", "kept_before", *(f"{model} {x}" for x in SCORES for model in MODELS))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=names, default=tuple(SETS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--time-limit", type=float, default=120, help="of a training, seconds")
    parser.add_argument("--output", type=Path, default=RESULTS / "regret.csv")
    options = parser.parse_args()
    for name in options.sets:
        if (name, str(options.seed)) not in keys_of(options.output, ("set", "seed")):
            row = {"set": name, **measure(SETS[name], options.seed, options.time_limit)}
            append_row(options.output, COLUMNS, row, line_end="\n")
            print(*row.values(), flush=True)
    print(regrets(pd.read_csv(options.output)).to_string())


def measure(task, seed, time_limit):
    """Return a row of the table."""
    frame = task.load()
    if task.name == "m3_short":
        frame = frame.groupby("unique_id").tail(63).reset_index(drop=True)
    frame, _ = split(frame, task.horizon * task.windows)
    shortest = int(frame.groupby("unique_id").size().min())
    task = replace(task, windows=min(task.windows, max(1, shortest // (3 * task.horizon))))
    train, _ = split(frame, task.horizon * task.windows)
    options = {} if task.name in DATED else {"calendar": False}
    options |= {"prediction_length": task.horizon, "future": task.future}
    reasons, verdicts = [], []
    reason, decide = fit.reason_not_to_train, Comparison.decide

    def keep_trained(*args):
        verdicts.append(decide(*args))
        return replace(verdicts[-1], kept=TRAINED)

    fit.reason_not_to_train = lambda data: reasons.append(reason(data))
    Comparison.decide = keep_trained
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            start = time.process_time()
            trained = Forecaster(seed=seed, **options).fit(train, time_limit=time_limit, verbose=0)
            seconds = time.process_time() - start
            zero = from_pretrained(DEFAULT, task.horizon, future=task.future, verbose=False)
            rows = {TRAINED: rows_of(trained, frame, task), PUBLISHED: rows_of(zero, frame, task)}
    finally:
        fit.reason_not_to_train, Comparison.decide = reason, decide
    keys, (verdict,) = ["unique_id", "ds", "cutoff"], verdicts
    rows[PUBLISHED] = rows[TRAINED][keys].merge(rows[PUBLISHED], on=keys)
    columns = [x for x in rows[TRAINED] if x == "m" or x.startswith("m-")]
    rows[AVERAGE] = rows[TRAINED].copy()
    rows[AVERAGE][columns] = (rows[TRAINED][columns] + rows[PUBLISHED][columns]) / 2
    found = {model: score(x, frame, task) for model, x in rows.items()}
    row = {"seed": seed, "model": trained.fitted.config.architecture, "time_limit": time_limit}
    row |= {"epochs": len(trained.history.epoch), "cpu_seconds": f"{seconds:.1f}"}
    row |= {"windows": verdict.windows, **{x: f"{getattr(verdict, x):.4f}" for x in FIGURES}}
    is_ahead = verdict.loss_change < -verdict.standard_error
    before = TRAINED if is_ahead or trained.fitted.decodes else PUBLISHED
    row["kept"], row["kept_before"] = (PUBLISHED,) * 2 if reasons[0] else (verdict.kept, before)
    return row | {f"{y} {x}": f"{found[y][x]:.4f}" for x in SCORES for y in MODELS}


def rows_of(forecaster, frame, task):
    """Return the rows of a backtest, whose forecasts are in columns that begin with "m"."""
    options = {"windows": task.windows, "step": task.horizon, "levels": LEVELS}
    rows, alias = forecaster.backtest(frame, **options), forecaster.alias
    if f"{alias}-median" in rows:
        rows = rows.assign(**{alias: rows[f"{alias}-median"]}).drop(columns=f"{alias}-median")
    return rows.rename(columns=lambda x: x.replace(alias, "m", 1) if x.startswith(alias) else x)


def regrets(table):
    """Return the mean and the worst regret of the rules in percent, and of keeping one model."""
    rules = {"rule": table["kept"], "former rule": table["kept_before"]}
    rules |= {model: pd.Series(model, table.index) for model in MODELS}
    found = {}
    for name, kept in rules.items():
        for x in SCORES[:2]:
            scores = table[[f"{model} {x}" for model in MODELS]].set_axis(MODELS, axis=1)
            chosen = pd.Series([scores.at[i, model] for i, model in kept.items()])
            regret = 100 * (chosen / scores[[TRAINED, PUBLISHED]].min(axis=1) - 1)
            found[name, x] = {"mean": regret.mean(), "worst": regret.max(), "runs": len(table)}
    return pd.DataFrame(found).T.round(2)


if __name__ == "__main__":
    main()
