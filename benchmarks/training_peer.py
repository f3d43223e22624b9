"""The other side of training.py: runs training steps of a neuralforecast model when told to."""

import json
import logging
import sys

import neuralforecast.models
import torch


def main():
    task = json.loads(sys.argv[1])
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    torch.manual_seed(task["seed"])
    arguments = task["arguments"]
    model = getattr(neuralforecast.models, task["model"])(max_steps=1, **arguments)
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
    for _ in sys.stdin:
        for _ in range(task["steps"]):
            optimizer.zero_grad()
            forecast = model(inputs).reshape(targets.shape)
            torch.nn.functional.mse_loss(forecast, targets).backward()
            optimizer.step()
        print("done", flush=True)


if __name__ == "__main__":
    main()
