"""Pretrain version 1 of kerastrans-zero on made series; write its folder of weights.

    KERAS_BACKEND=jax python -m tools.presets.zero --minutes 60

Goes on from build/zero where it was stopped; the learning rate falls over all `--windows`.
"""

import argparse
import json
import time
from pathlib import Path

import keras
import numpy as np
from keras import ops
from safetensors.numpy import load_file, save_file

from kerastrans.models.pretrained.zero.network import build_network
from kerastrans.utils.pinball import pinball_loss
from tools.presets.zero_windows import draw_windows

ROOT = Path(__file__).parents[2]
CONFIG = {
    "architectures": ["KerastransZero"],
    "context_length": 1024,
    "octaves": 9,
    "cycles": 6,
    "width": 64,
    "hidden": 128,
    "quantiles": [0.025, 0.05, *(round(k / 10, 1) for k in range(1, 10)), 0.95, 0.975],
}
BATCH = 256
RATE = 2e-3
REPORT = 200  # batches


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60, help="of this run")
    parser.add_argument("--windows", type=float, default=2e6, help="of the whole training")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--state", type=Path, default=ROOT / "build" / "zero")
    parser.add_argument(
        "--output", type=Path, default=ROOT / "tests" / "fixtures" / "weights" / "kerastrans_zero"
    )
    options = parser.parse_args()
    keras.utils.set_random_seed(options.seed)
    network = build_network(CONFIG)
    rate = keras.optimizers.schedules.CosineDecay(
        0.0, int(options.windows / BATCH), alpha=0.01, warmup_target=RATE, warmup_steps=500
    )
    network.compile(keras.optimizers.Adam(rate, clipnorm=1.0), quantile_loss)
    variables = [*network.variables, *network.optimizer.variables]
    state = options.state / "state.safetensors"
    done = 0
    if state.is_file():
        tensors = load_file(state)
        done = int(tensors.pop("windows"))
        for number, variable in enumerate(variables):
            variable.assign(tensors[str(number)])
    losses, start = [], time.monotonic()
    for x, y in draw_windows(BATCH, CONFIG["context_length"], seed=(options.seed, done)):
        losses.append(float(network.train_on_batch(x, y)))
        done += BATCH
        is_over = done >= options.windows or time.monotonic() - start > 60 * options.minutes
        if len(losses) == REPORT or is_over:
            seconds = time.monotonic() - start
            print(f"{done:,} windows, loss {np.mean(losses):.4f}, {seconds:.0f} s", flush=True)
            losses = []
            write(state, variables, windows=np.array(done))
        if is_over:
            break
    export(network, options.output, CONFIG)


def quantile_loss(y_true, y_pred):
    """Mean pinball loss, of values in units of their windows' naive errors; NaN counts for 0."""
    target, unit = y_true[..., :1], y_true[..., 1:]
    levels = ops.convert_to_tensor(CONFIG["quantiles"], y_pred.dtype)
    is_known = ops.isfinite(target)
    error = (ops.where(is_known, target, 0.0) - y_pred) / unit
    losses = pinball_loss(error, levels, ops)
    return 2 * ops.mean(ops.where(is_known, losses, 0.0))


def write(path, variables, **more):
    """Tensors by their numbers, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    tensors = {str(i): ops.convert_to_numpy(x) for i, x in enumerate(variables)}
    part = path.with_suffix(".part")
    save_file({**tensors, **more}, part)
    part.replace(path)


def export(network, folder, config):
    """The checkpoint as `kerastrans.models.pretrained.load` reads it."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {
        f"{layer.name}.{name}": ops.convert_to_numpy(getattr(layer, name))
        for layer in network.layers
        if isinstance(layer, keras.layers.Dense)
        for name in ("kernel", "bias")
    }
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    save_file(tensors, folder / "model.safetensors")


if __name__ == "__main__":
    main()
