"""Is a Transformer better on tokens of quantised values than on patches with a distribution?

    python -m benchmarks.accuracy.token_values  # adds to results/token_values.csv

A token is one value of the window, standardised and rounded to the centre of a bin, as in Chronos
(Ansari et al., 2024). The model has the blocks, width and training on every position of
`decoder_transformer`, embeddings in place of patches, a softmax over the bins, and cross-entropy as
its loss. It draws its forecasts with the samplers of the token Transformer. Windows, time limit and
scores are those of `tasks.py --validation`: the windows before those of the test, whose rows are
not read. `decoder_transformer` is measured too, with and without the calendar that tokens lack.
"""

import argparse
import time

import keras
import numpy as np
import pandas as pd
from keras import layers

from benchmarks.accuracy import tasks
from benchmarks.accuracy.task_list import TASKS, split
from benchmarks.common import RESULTS, append_row, keys_of, names
from kerastrans.decoding.cached_decoder import cached_decoder
from kerastrans.decoding.samplers import RandomSampler
from kerastrans.forecasting.training.defaults import choose_hold_out
from kerastrans.models.decoder_transformer import _Block
from kerastrans.text.tokens import END

OUTPUT = RESULTS / "token_values.csv"
CONTEXT, NUM_SAMPLES, BATCH, STEPS, PATIENCE = 336, 100, 64, 50, 5
SIZES = {"num_heads": 4, "d_model": 64, "ff_dim": 128, "dropout": 0.1}
NUM_BLOCKS, REACH = 2, 6.0  # bins cover that many standard deviations on either side
FIRST = END + 1  # tokens before it are those of texts
VARIANTS = {"decoder_transformer": {}, "decoder_transformer calendar=False": {"calendar": False}}


def build(num_bins, horizon):
    """Return the model that is trained, and the one that is decoded; they share their weights."""
    source = keras.Input((CONTEXT,), dtype="int32", name="source")
    target = keras.Input((None,), dtype="int32", name="target")
    embedding = layers.Embedding(FIRST + num_bins, SIZES["d_model"])
    prompt, x = embedding(source)[:, :-1], embedding(target)
    for i in range(NUM_BLOCKS):
        block = _Block(**SIZES, name=f"decoder_{i}")
        prompt, x = block(prompt), block(x, prompt)
    norm, project = layers.LayerNormalization(), layers.Dense(FIRST + num_bins)
    inside, logits = project(norm(prompt)), project(norm(x))
    trained = keras.Model([source, target], {"inside": inside, "ahead": logits})
    return trained, keras.Model([source, target], logits)


def quantise(windows, num_bins):
    """Return the tokens of windows `(windows, time)`, and the statistics that undo them."""
    history = windows[:, :CONTEXT]
    center, scale = history.mean(1, keepdims=True), history.std(1, keepdims=True) + 1e-6
    places = (windows - center) / scale * num_bins / (2 * REACH) + num_bins / 2
    return FIRST + np.clip(places.astype("int32"), 0, num_bins - 1), center, scale


def fit(values, held_out, horizon, num_bins, seed, time_limit):
    """Train on windows of series `(series, time)`; the last `held_out` steps choose the epoch."""
    keras.utils.set_random_seed(seed)
    started, rng, length = time.perf_counter(), np.random.default_rng(seed), CONTEXT + horizon
    trained, model = build(num_bins, horizon)
    losses = {
        name: keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        for name in ("inside", "ahead")
    }
    trained.compile(keras.optimizers.Adam(1e-3), losses)

    def arrays(rows, starts):
        tokens, *_ = quantise(values[rows[:, None], starts[:, None] + np.arange(length)], num_bins)
        inputs = [tokens[:, :CONTEXT], tokens[:, CONTEXT - 1 : -1]]
        return inputs, {"inside": tokens[:, 1:CONTEXT], "ahead": tokens[:, CONTEXT:]}

    end = values.shape[1]
    chosen = np.arange(end - held_out - CONTEXT, end - length + 1, max(1, horizon // 4))
    held = arrays(*(x.ravel() for x in np.meshgrid(np.arange(len(values)), chosen)))
    best, weights, epochs, patience = np.inf, None, 0, 0
    while time.perf_counter() - started < time_limit and patience < 2 * PATIENCE:
        rows = rng.integers(len(values), size=BATCH * STEPS)
        starts = rng.integers(end - held_out - length + 1, size=BATCH * STEPS)
        trained.fit(*arrays(rows, starts), BATCH, verbose=0)
        found = trained.evaluate(*held, 256, verbose=0, return_dict=True)["ahead_loss"]
        epochs, patience = epochs + 1, patience + 1
        if found < best:
            best, weights, patience = found, trained.get_weights(), 0
        elif patience == PATIENCE:
            trained.optimizer.learning_rate = 0.3 * float(trained.optimizer.learning_rate)
    trained.set_weights(weights)
    return model, f"{num_bins} bins, context {CONTEXT}; {epochs * STEPS} steps; best {best:.4f}"


def forecast(model, windows, horizon, num_bins, seed):
    """Return samples `(windows, NUM_SAMPLES, horizon)` of histories `(windows, CONTEXT)`."""
    tokens, center, scale = quantise(windows, num_bins)
    first = np.repeat(tokens[:, -1:], NUM_SAMPLES, axis=0)
    sampler = RandomSampler(seed=seed)
    drawn = cached_decoder(model).run([tokens], first, horizon, sampler, copies=NUM_SAMPLES)
    drawn = np.maximum(drawn - FIRST, 0).reshape(len(windows), NUM_SAMPLES, horizon)
    values = (drawn + 0.5 - num_bins / 2) * 2 * REACH / num_bins
    return values * scale[:, None] + center[:, None]


def run(name, num_bins, seed, time_limit):
    """Return the row of the table for tokens with so many bins."""
    task, alias = TASKS[name], "tokens"
    frame = task.load().sort_values(["unique_id", "ds"], ignore_index=True)
    frame, _ = split(frame, task.horizon * task.windows)
    wide = frame.pivot(index="unique_id", columns="ds", values="y")
    wide = wide.interpolate(axis=1, limit_direction="both")
    values, ahead = wide.to_numpy("float32"), task.horizon * task.windows
    train = values[:, :-ahead]
    hold_out = choose_hold_out(np.full(len(values), train.shape[1]), task.horizon).steps
    started = time.perf_counter()
    options = task.horizon, num_bins, seed
    model, settings = fit(train, max(task.horizon, hold_out), *options, time_limit)
    fitted, tables = time.perf_counter(), []
    for cut in range(train.shape[1], values.shape[1], task.horizon):
        samples = forecast(model, values[:, cut - CONTEXT : cut], *options)
        times = wide.columns[cut : cut + task.horizon]
        table = pd.MultiIndex.from_product([wide.index, times]).to_frame(index=False)
        table = table.assign(cutoff=wide.columns[cut - 1])
        table[alias] = np.median(samples, axis=1).ravel()
        for level in tasks.LEVELS:
            for side, sign in (("lo", -1), ("hi", 1)):
                quantile = np.quantile(samples, 0.5 + sign * level / 200, axis=1)
                table[f"{alias}-{side}-{level}"] = quantile.ravel()
        tables.append(table)
    seconds = time.perf_counter() - fitted
    rows = pd.concat(tables).merge(frame[["unique_id", "ds", "y"]], on=["unique_id", "ds"])
    scores = tasks.score(rows, frame, task)
    return {
        **{x: f"{scores[x]:.4f}" if x in scores else "" for x in tasks.SCORES},
        "settings": settings,
        "fit_seconds": f"{fitted - started:.1f}",
        "forecast_seconds": f"{seconds:.1f}",
        "backend": keras.backend.backend(),
        "keras": keras.__version__,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", type=names, default=("etth1_24", "nyc_departures"))
    parser.add_argument("--models", type=names, default=("tokens 256", *VARIANTS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--time-limit", type=float, default=300, help="of a training, seconds")
    options = parser.parse_args()
    for task in options.tasks:
        for model in options.models:
            key = {"task": task, "model": model, "seed": options.seed}
            if tuple(map(str, key.values())) in keys_of(OUTPUT, tasks.KEY):
                continue
            if model in VARIANTS:
                arguments = TASKS[task], model.split()[0], options.seed, options.time_limit, 1
                row = tasks.run(*arguments, **VARIANTS[model])
            else:
                row = run(task, int(model.split()[1]), options.seed, options.time_limit)
            append_row(OUTPUT, tasks.COLUMNS, row | key)
            print(*key.values(), row["mase"], row["sql"], row["coverage-80"], row["settings"])


if __name__ == "__main__":
    main()
