"""The other side of training.py: trains a neuralforecast model when told to.

At "steps" it runs bare training steps on tensors that lie ready; at "fit" the library's own `fit`.
"""

import json
import logging
import sys

import neuralforecast.models
import numpy as np
import pandas as pd
import torch
from neuralforecast import NeuralForecast


def main():
    task = json.loads(sys.argv[1])
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    torch.manual_seed(task["seed"])
    arguments, model_class = task["arguments"], getattr(neuralforecast.models, task["model"])
    model = model_class(max_steps=1, **arguments)
    model.train()
    # A model without n_series sees every channel as a window of its own.
    batch, channels = task["batch"], task["channels"]
    batch, channels = (batch, channels) if "n_series" in arguments else (batch * channels, 1)
    history = torch.randn(batch, arguments["input_size"], channels)
    targets = torch.randn(batch, arguments["h"], channels)
    inputs = {
        "insample_y": history,
        "insample_mask": torch.ones_like(history),
        "futr_exog": None,
        "hist_exog": None,
        "stat_exog": None,
    }
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)

    def run_steps(steps):
        for _ in range(steps):
            optimizer.zero_grad()
            forecast = model(inputs).reshape(targets.shape)
            torch.nn.functional.mse_loss(forecast, targets).backward()
            optimizer.step()

    def fit(steps):
        """As a user calls it: the library draws its windows from a frame of series."""
        options = {"max_steps": steps, "batch_size": task["channels"], "windows_batch_size": batch}
        quiet = {"enable_progress_bar": False, "enable_model_summary": False, "logger": False}
        fitted = model_class(**arguments, **options, **quiet, enable_checkpointing=False)
        NeuralForecast([fitted], freq="h").fit(frame)

    frame = random_frame(task["channels"], task["rows"])
    for line in sys.stdin:
        {"steps": run_steps, "fit": fit}[(words := line.split())[0]](int(words[1]))
        print("done", flush=True)


def random_frame(channels, rows):
    """Standard normal series in the peer's long layout."""
    return pd.DataFrame(
        {
            "unique_id": np.repeat(np.arange(channels), rows),
            "ds": np.tile(pd.date_range("2000", periods=rows, freq="h"), channels),
            "y": np.random.default_rng(0).standard_normal(channels * rows).astype("float32"),
        }
    )


if __name__ == "__main__":
    main()
