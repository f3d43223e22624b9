"""Fine-tuning of kerastrans_zero on one task: all weights, and LoRA.

The hourly departures of `nyc_departures`, 24 hours ahead from 1,024. The training part (70 %)
trains; the validation part (10 %, 35 origins a day apart) chooses among rates; the test part (72
origins a day apart) is read once, at the end. MASE is in units of the training part's seasonal
naive error, season 168.

    KERAS_BACKEND=jax python -m benchmarks.accuracy.pretrained_finetuning    # minutes on one core
"""

import csv
import time

import keras

import kerastrans
from benchmarks.common import RESULTS
from kerastrans import datasets
from kerastrans.data import chronological_split
from kerastrans.utils.environment import environment
from tests.helpers.weights import ZERO_1

NAME, CONTEXT, STEPS, SEASON = "nyc_departures", 1024, 24, 168
RATES = {"all": (1e-4, 5e-4, 2e-3), "lora": (5e-4, 2e-3, 1e-2)}
TRAINING_STEPS, BATCH = 500, 32
COLUMNS = (
    "trained",
    "rate",
    "trained_parameters",
    "parameters",
    "validation_mae",
    "test_mae",
    "test_mase",
    "seconds",
)


def published(trainable="all", rate=1e-4):
    optimizer = keras.optimizers.Adam(rate, clipnorm=1.0)
    options = {"trainable": trainable, "optimizer": optimizer, "alias": "model", "verbose": False}
    return kerastrans.from_pretrained(ZERO_1, STEPS, CONTEXT, **options)


def tuned(train, trainable, rate):
    forecaster = published(trainable, rate)
    options = {"batch_size": BATCH, "steps_per_epoch": TRAINING_STEPS, "verbose": 0}
    return forecaster.fit(train, epochs=1, restore_published=False, **options)


def errors(forecaster, frame, windows, scale):
    """Mean absolute error, and the mean of the series' scaled ones."""
    rows = forecaster.backtest(frame, windows=windows, step=STEPS)
    found = (rows["model"] - rows["y"]).abs().groupby(rows["unique_id"]).mean()
    return found.mean(), (found / scale).mean()


def main():
    frame = datasets.load(NAME)
    train, validation, test = chronological_split(frame, datasets.info(NAME).splits)
    known = frame[: len(train) + len(validation)]
    scale = train.diff(SEASON).abs().mean()
    windows = {"validation": len(validation) // STEPS - 1, "test": len(test) // STEPS - 1}
    candidates = [("none", None), *((way, rate) for way in RATES for rate in RATES[way])]
    best, rows = {}, []
    for way, rate in candidates:
        started = time.perf_counter()
        forecaster = published() if way == "none" else tuned(train, way, rate)
        seconds = time.perf_counter() - started
        mae, _ = errors(forecaster, known, windows["validation"], scale)
        print(f"{way} {rate}: validation MAE {mae:.4f}, {seconds:.0f} s", flush=True)
        if way not in best or mae < best[way][0]:
            best[way] = (mae, rate, forecaster, seconds)
    for way, (mae, rate, forecaster, seconds) in best.items():
        test_mae, test_mase = errors(forecaster, frame, windows["test"], scale)
        card = forecaster.card
        trained = 0 if way == "none" else card["trainable_parameters"]
        values = (way, rate, trained, card["parameters"], mae, test_mae, test_mase, seconds)
        rows.append([f"{x:.4g}" if isinstance(x, float) else x for x in values])
        print(*rows[-1], flush=True)
    with (RESULTS / "pretrained_finetuning.csv").open("w", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *rows])
    print(environment())


if __name__ == "__main__":
    main()
