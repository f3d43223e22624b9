"""How a Transformer that reads its own output is best trained: on true inputs, noise, its own.

    python -m benchmarks.accuracy.training_methods  # adds to results/training_methods.csv

One small encoder-decoder, `build_transformer_model` with patches, forecasts 96 hours from 336. The
rows of the test split are left out of all of it; the tenth before them is forecast with the epoch
that was best on the tenth before that. Errors are divided by those of the week before.

Methods: `teacher forcing`; `noise x`, Gaussian, on the decoder's inputs, in standard deviations of
the window (Goyal et al., 2016, discuss why inputs differ); `scheduled sampling`, where a share of
the inputs, which grows to a half, is the model's own forecast of the epoch before (Bengio et al.,
2015); `rollout`, the loss of the model's own forecasts, through which gradients flow.
"""

import argparse
import time

import keras
import numpy as np

import kerastrans
from benchmarks.common import RESULTS, append_row, keys_of, names
from kerastrans import datasets, zoo
from kerastrans.data import sliding_windows

CONTEXT, HORIZON, WEEK, STRIDE, BATCH, EPOCHS = 336, 96, 168, 3, 64, 15
SIZES = {"d_model": 32, "num_heads": 2, "ff_dim": 64, "dropout": 0.1}
BLOCKS = {"num_encoder_blocks": 1, "num_decoder_blocks": 1}
METHODS = (
    "teacher forcing",
    "noise 0.1",
    "noise 0.5",
    "noise 1.0",
    "scheduled sampling",
    "rollout",
)
COLUMNS = ["data", "patch_length", "method", "seed", "mae_over_naive", "epoch", "seconds", "keras"]
KEY = COLUMNS[:4]


def parts(name):
    """Windows `(windows, CONTEXT + HORIZON, 1)` to train on, to choose the epoch, to report."""
    frame = datasets.load(name)
    if "unique_id" in frame:
        frame = frame.pivot(index="ds", columns="unique_id", values="y")
    values = frame.to_numpy("float32")
    values = values[: int(0.8 * len(values))]  # the test split is never read
    ends = [int(share * len(values)) for share in (0.8, 0.9, 1.0)]
    starts = [0, ends[0] - CONTEXT, ends[1] - CONTEXT]
    for start, end in zip(starts, ends, strict=True):
        cut = np.concatenate(sliding_windows(values[start:end], CONTEXT, HORIZON, STRIDE), axis=1)
        yield cut.transpose(0, 2, 1).reshape(-1, CONTEXT + HORIZON, 1)


def run(data, patch_length, method, seed):
    """The error of the chosen epoch on the reported windows, over that of the week before."""
    keras.utils.set_random_seed(seed)
    rng = np.random.default_rng(seed)
    train, choose, report = parts(data)
    history, targets = train[:, :CONTEXT], train[:, CONTEXT:]
    true_inputs = train[:, CONTEXT - patch_length : -patch_length]
    if method == "rollout":
        name = "time_series_transformer"
        options = {"patch_length": patch_length, **SIZES, **BLOCKS}
        model = zoo.build(name, CONTEXT, HORIZON, 1, **options)
    else:
        sizes = SIZES | {"key_dim": SIZES["d_model"] // SIZES["num_heads"]}
        model = kerastrans.build_transformer_model(
            (CONTEXT, 1), patch_length=patch_length, activation="gelu", **sizes, **BLOCKS
        )
    # Series differ in size: each window counts by its own.
    weights = 1 / (1e-6 + history.std(axis=1))  # (windows, 1)
    model.compile(keras.optimizers.Adam(3e-3), "mae")

    def forecast(windows):
        if method == "rollout":
            return model.predict(windows[:, :CONTEXT], batch_size=1024, verbose=0)
        return kerastrans.generate(model, windows[:, :CONTEXT], HORIZON)

    best, chosen, weights_of_best, started = np.inf, 0, None, time.perf_counter()
    for epoch in range(EPOCHS):
        seen = true_inputs
        if method.startswith("noise"):
            scale = float(method.split()[1]) * history.std(axis=1, keepdims=True)
            seen = seen + scale * rng.standard_normal(seen.shape).astype("float32")
        elif method == "scheduled sampling" and epoch:
            own = np.concatenate([history[:, -patch_length:], forecast(train)], 1)[:, :HORIZON]
            is_own = rng.random((len(own), HORIZON // patch_length)) < 0.5 * epoch / (EPOCHS - 1)
            seen = np.where(np.repeat(is_own, patch_length, axis=1)[..., None], own, seen)
        inputs = history if method == "rollout" else [history, seen]
        model.fit(inputs, targets, BATCH, sample_weight=weights, verbose=0)
        error = error_over_naive(choose, forecast(choose))
        if error < best:
            best, chosen, weights_of_best = error, epoch + 1, model.get_weights()
    model.set_weights(weights_of_best)
    return {
        "mae_over_naive": f"{error_over_naive(report, forecast(report)):.4f}",
        "epoch": chosen,
        "seconds": f"{time.perf_counter() - started:.0f}",
        "keras": keras.__version__,
    }


def error_over_naive(windows, forecast):
    """Mean absolute error over that of the week before, each window by its standard deviation."""
    scale = 1e-6 + windows[:, :CONTEXT].std(axis=1, keepdims=True)
    naive = windows[:, CONTEXT - WEEK : CONTEXT - WEEK + HORIZON]
    errors = [np.mean(np.abs(x - windows[:, CONTEXT:]) / scale) for x in (forecast, naive)]
    return errors[0] / errors[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=names, default=("nyc_departures", "etth1", "epf_np"))
    parser.add_argument("--patches", type=names, default=("24", "8", "1"))
    parser.add_argument("--methods", type=names, default=METHODS)
    parser.add_argument("--seeds", type=names, default=("0", "1", "2"))
    options = parser.parse_args()
    path = RESULTS / "training_methods.csv"
    for seed in options.seeds:
        for patch_length in options.patches:
            for data in options.data:
                for method in options.methods:
                    key = (data, patch_length, method, seed)
                    if key in keys_of(path, KEY):
                        continue
                    row = dict(zip(KEY, key, strict=True))
                    row |= run(data, int(patch_length), method, int(seed))
                    append_row(path, COLUMNS, row)
                    print(*row.values(), flush=True)


if __name__ == "__main__":
    main()
