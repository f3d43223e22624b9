"""The peer of forecaster.py and predict_latency.py: neuralforecast, in a process of its own.

python forecaster_peer.py errors MODEL FRAME     # writes forecasts over FRAME, prints seconds
python forecaster_peer.py latency MODEL FRAME    # prints the milliseconds of 50 calls
"""

import json
import logging
import statistics
import sys
import time
import warnings

import pandas as pd

CONTEXT, HORIZON, STEPS, BATCH, ORIGINS, SEED = 96, 24, 500, 128, 100, 1  # of both sides
LEVELS = [50, 80]
CASES = {
    "nhits": ("NHITS", {"n_pool_kernel_size": [2, 2, 1], "n_freq_downsample": [4, 2, 1]}),
    "patchtst": (
        "PatchTST",
        {
            "hidden_size": 64,
            "n_heads": 4,
            "linear_hidden_size": 128,
            "encoder_layers": 3,
            "patch_len": 16,
            "stride": 8,
            "dropout": 0.2,
        },
    ),
    "tft": ("TFT", {"hidden_size": 64, "n_head": 4, "dropout": 0.1}),
    "deepar": (
        "DeepAR",
        {
            "lstm_hidden_size": 64,
            "lstm_n_layers": 2,
            "lstm_dropout": 0.1,
            "trajectory_samples": 100,
        },
    ),
}


def build(name, max_steps):
    # Here, so that forecaster.py can read the sizes above without PyTorch.
    from neuralforecast import NeuralForecast, models
    from neuralforecast.losses.pytorch import DistributionLoss, MQLoss

    kind, arguments = CASES[name]
    loss = MQLoss(level=LEVELS)
    if name == "deepar":
        loss = DistributionLoss("StudentT", level=LEVELS, return_params=False)
    model = getattr(models, kind)(
        h=HORIZON,
        input_size=CONTEXT,
        loss=loss,
        max_steps=max_steps,
        learning_rate=1e-3,
        num_lr_decays=-1,
        batch_size=7,
        windows_batch_size=BATCH,
        scaler_type="standard",
        random_seed=SEED,
        enable_progress_bar=False,
        enable_model_summary=False,
        logger=False,
        enable_checkpointing=False,
        accelerator="cpu",
        **arguments,
    )
    return kind, NeuralForecast(models=[model], freq="h")


def main():
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    task, name, path = sys.argv[1:]
    frame = pd.read_pickle(path)
    if task == "latency":
        _, forecaster = build(name, 2)
        forecaster.fit(frame)
        times = []
        for _ in range(55):
            started = time.perf_counter()
            forecaster.predict(frame)
            times.append(1e3 * (time.perf_counter() - started))
        print(json.dumps(statistics.median(times[5:])))
        return
    started = time.perf_counter()
    kind, forecaster = build(name, STEPS)
    found = forecaster.cross_validation(frame, n_windows=ORIGINS, step_size=HORIZON)
    seconds = time.perf_counter() - started
    columns = {column.removeprefix(kind).removesuffix(".0"): column for column in found.columns}
    wanted = [columns[end] for end in ("-lo-80", "-lo-50", "-median", "-hi-50", "-hi-80")]
    found[["y", *wanted]].to_pickle(path)
    print(json.dumps(seconds))


if __name__ == "__main__":
    main()
