"""Transformers of other packages on our tasks: the same windows, context, time and scores.

    python -m venv peers && peers/bin/pip install torch transformers neuralforecast darts
    python -m benchmarks.accuracy.transformer_peers --python peers/bin/python --time-limit 300

One row a task, peer and seed is added to results/transformers.csv, where tasks.py writes ours with
`--output`; what is there is not run again.
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import pandas as pd

from benchmarks.accuracy.task_list import TASKS, TRANSFORMER_TASKS, split
from benchmarks.accuracy.tasks import COLUMNS, KEY, LEVELS, SCORES, score
from benchmarks.common import RESULTS, append_row, keys_of, names
from kerastrans.data.time.frequency import infer_frequency
from kerastrans.forecasting.training.defaults import choose_hold_out

CONTEXTS = {"hospital": 12}  # months: 24 leave no training windows before the held-out end
PEERS = ("neuralforecast", "darts", "transformers")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", required=True, help="interpreter that has the peers")
    parser.add_argument("--peers", type=names, default=PEERS)
    parser.add_argument("--tasks", type=names, default=TRANSFORMER_TASKS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--time-limit", type=float, default=300, help="of a training, seconds")
    parser.add_argument("--output", type=Path, default=RESULTS / "transformers.csv")
    options = parser.parse_args()
    for name in options.tasks:
        for peer in options.peers:
            if (name, peer, str(options.seed)) in keys_of(options.output, KEY):
                continue
            row = run(options.python, TASKS[name], peer, options.seed, options.time_limit)
            append_row(options.output, COLUMNS, row)
            print(*(f"{row[column]}" for column in COLUMNS[:-2]), flush=True)


def run(python, task, peer, seed, time_limit):
    """Train a peer, forecast and score: a row of the table.

    Args:
        python: str, interpreter that has the peer.
        task: `Task`.
        peer: str, one of `PEERS`.
        seed: int.
        time_limit: float, seconds of a training.
    """
    frame = task.load().sort_values(["unique_id", "ds"], ignore_index=True)
    train, _ = split(frame, task.horizon * task.windows)
    lengths = train.groupby("unique_id").size().to_numpy()
    columns = {0.5: peer} | {
        (50 + side * level / 2) / 100: f"{peer}-{name}-{level}"
        for level in LEVELS
        for side, name in ((-1, "lo"), (1, "hi"))
    }
    case = {
        "frame": frame,
        "train": train,
        "freq": infer_frequency(frame["ds"][: lengths[0]]),
        "horizon": task.horizon,
        "windows": task.windows,
        "future": task.future,
        "context": CONTEXTS.get(task.name, 336),
        "held_out": max(task.horizon, choose_hold_out(lengths, task.horizon).steps),
        "quantiles": sorted(columns),
        "seed": seed,
        "time_limit": time_limit,
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "case.pickle")
        pd.to_pickle(case | {"folder": folder}, path)
        script = Path(__file__).with_name("transformer_peer.py")
        command = [python, script, peer, path]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr[-2000:])
        seconds = json.loads(done.stdout.splitlines()[-1])
        found = pd.read_pickle(path)
    found = found.rename(columns={f"q{q:g}": name for q, name in columns.items()})
    scores = score(found, frame, task)
    return {
        "task": task.name,
        "model": peer,
        "seed": seed,
        **{name: f"{scores[name]:.4f}" if name in scores else "" for name in SCORES},
        "settings": f"context {case['context']}; {peer} {seconds['version']}",
        "fit_seconds": f"{seconds['fit']:.1f}",
        "forecast_seconds": f"{seconds['forecast']:.1f}",
        "backend": "torch",
        "keras": "",
    }


if __name__ == "__main__":
    main()
