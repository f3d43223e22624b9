"""How long a training step takes, beside the same architecture in neuralforecast (PyTorch).

Ours is `model.fit` as a user writes it, on windows that the pipeline cuts batch by batch. The peer
is measured twice: its own `fit` as its user writes it (two lengths, so that what a call costs once
drops out), and the bare step (forward, loss, backward, Adam) on tensors that lie ready. All take
turns in one run, on the same sizes, and each figure is the median of the rounds.

    pip install -e ".[jax,benchmarks]"
    python -m benchmarks.speed.training  # writes benchmarks/results/training-<backend>.csv

With `--name jax-memory-kept` and the environment variables of the README, which both sides inherit,
the C library keeps the pages that a step gives back. On TensorFlow `--jit-compile` (and `--name
tensorflow-xla`) has XLA compile the step, which Keras leaves to the user on a CPU.
"""

import argparse
import csv
import json
import statistics
import subprocess
import sys
import time

import keras
import numpy as np

from benchmarks.common import RESULTS
from kerastrans import zoo
from kerastrans.data import window_dataset
from kerastrans.utils.environment import environment

CHANNELS, HORIZON, SEED = 7, 96, 0
COLUMNS = [
    "model",
    "context_length",
    "batch",
    "ours",
    "peer_fit",
    "peer_step",
    "ratio_fit",
    "ratio_step",
    "pipeline",
    "windows_per_s",
]

# name: (context_length, batch, steps a turn, our hyperparameters, the peer's class and arguments)
CASES = {
    "dlinear": (336, 128, 64, {}, "DLinear", {"moving_avg_window": 25}),
    "patchtst": (
        336,
        128,
        8,
        {"d_model": 16, "num_heads": 4, "ff_dim": 128, "num_blocks": 3, "dropout": 0.3},
        "PatchTST",
        {
            "hidden_size": 16,
            "n_heads": 4,
            "linear_hidden_size": 128,
            "encoder_layers": 3,
            "patch_len": 16,
            "stride": 8,
            "dropout": 0.3,
        },
    ),
    "itransformer": (
        96,
        32,
        64,
        {"d_model": 256, "num_heads": 8, "ff_dim": 256, "num_blocks": 2, "dropout": 0.1},
        "iTransformer",
        {"n_series": CHANNELS, "hidden_size": 256, "n_heads": 8, "d_ff": 256, "e_layers": 2},
    ),
    "nhits": (
        336,
        128,
        32,
        {"downsampling": (4, 2, 1), "pool_sizes": (2, 2, 1), "hidden_dim": 512},
        "NHITS",
        {"n_freq_downsample": [4, 2, 1], "n_pool_kernel_size": [2, 2, 1]},
    ),
    "tsmixer": (
        336,
        32,
        64,
        {"ff_dim": 64, "num_blocks": 2, "dropout": 0.9},
        "TSMixer",
        {"n_series": CHANNELS, "ff_dim": 64, "n_block": 2, "dropout": 0.9},
    ),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default=",".join(CASES), help="comma-separated")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--name", default=keras.backend.backend(), help="of the table")
    parser.add_argument("--jit-compile", action="store_const", const=True, default="auto")
    options = parser.parse_args()

    rows = [
        compare(name, options.rounds, options.jit_compile) for name in options.models.split(",")
    ]
    path = RESULTS / f"training-{options.name}.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    means = {
        f"geometric_mean_{key}": round(statistics.geometric_mean(row[key] for row in rows), 3)
        for key in ("ratio_fit", "ratio_step")
    }
    summary = {
        **means,
        "rounds": options.rounds,
        "environment": environment(),
    }
    path.with_suffix(".json").write_text(json.dumps(summary, indent=2) + "\n")
    print(f"{means}, written to {path}")


def compare(name, rounds, jit_compile):
    """Ours and the peer's step by turns: a row of the table, times in milliseconds."""
    context_length, batch, steps, hyperparameters, peer_class, peer_arguments = CASES[name]
    ours, pipeline = our_round(name, context_length, batch, hyperparameters, steps, jit_compile)
    peer = start_peer(peer_class, peer_arguments, context_length, batch, steps)
    turns = {
        "ours": ours,
        "pipeline": pipeline,
        "peer_step": lambda: peer("steps", steps),
        "once": lambda: peer("fit", 1),
        "peer_fit": lambda: peer("fit", 1 + steps),
    }
    times = {key: [] for key in turns}
    for turn in turns.values():
        turn()  # warm-up, compilation
    for _ in range(rounds):
        for key, turn in turns.items():
            start = time.perf_counter()
            turn()
            times[key].append((time.perf_counter() - start) / steps * 1e3)
    medians = {key: statistics.median(values) for key, values in times.items()}
    medians["peer_fit"] -= medians.pop("once")
    row = {
        "model": name,
        "context_length": context_length,
        "batch": batch,
        **{key: round(value, 2) for key, value in medians.items()},
        "ratio_fit": round(medians["ours"] / medians["peer_fit"], 3),
        "ratio_step": round(medians["ours"] / medians["peer_step"], 3),
        "windows_per_s": round(batch / medians["ours"] * 1e3),
    }
    print({column: row[column] for column in COLUMNS}, flush=True)
    return row


def our_round(name, context_length, batch, hyperparameters, steps, jit_compile):
    """Functions that run `steps` of `fit`, and as many batches of the pipeline alone."""
    keras.utils.set_random_seed(SEED)
    model = zoo.build(name, context_length, HORIZON, CHANNELS, **hyperparameters)
    model.compile(keras.optimizers.Adam(1e-4), "mse", jit_compile=jit_compile)
    rows = context_length + HORIZON + batch * steps - 1
    series = np.random.default_rng(SEED).standard_normal((rows, CHANNELS)).astype("float32")
    windows = window_dataset(
        series, context_length, HORIZON, batch_size=batch, shuffle=True, seed=SEED
    )

    def pipeline():
        for inputs, targets in windows:
            np.asarray(inputs), np.asarray(targets)

    return lambda: model.fit(windows, verbose=0, shuffle=False), pipeline


def start_peer(peer_class, arguments, context_length, batch, steps):
    """Function `(what, steps)` that has the peer's process train: see training_peer.py.

    A process of its own: the compilers in TensorFlow and in neuralforecast's packages cannot
    share one.
    """
    task = {
        "model": peer_class,
        "arguments": {"h": HORIZON, "input_size": context_length, **arguments},
        "batch": batch,
        "channels": CHANNELS,
        "rows": context_length + HORIZON + batch * steps - 1,
        "seed": SEED,
    }
    command = [sys.executable, "-m", "benchmarks.speed.training_peer", json.dumps(task)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )

    def turn(what, steps):
        process.stdin.write(f"{what} {steps}\n")
        for line in process.stdout:
            if line == "done\n":
                return
        raise SystemExit(f"the peer's {peer_class} failed, see above.")

    return turn


if __name__ == "__main__":
    main()
