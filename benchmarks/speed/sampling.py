"""How long it takes to draw paths: our autoregressive Transformers beside that of `transformers`.

Equal widths, blocks, context and head, one channel; the peer and the first of ours go step by step,
the others patch by patch. One thread each, by turns in one process, each timing a median.

    python -m benchmarks.speed.sampling  # writes results/sampling-<device>-<backend>.csv

Runs on any backend (KERAS_BACKEND). The peer needs `transformers` and PyTorch:
`pip install -e .[benchmarks]`. Where it would take minutes, it is left out.
"""

import csv

import keras
import numpy as np

import kerastrans
from benchmarks.common import RESULTS, device_name, median_seconds
from benchmarks.speed.generation import BLOCKS, CONTEXT, D_MODEL, FF_DIM, HEADS, SEED, build_peer
from kerastrans import zoo

CASES = [
    (batch, steps, paths) for batch in (1, 32) for steps in (24, 96) for paths in (1, 100, 1000)
]
MOST_OF_PEER = 100_000  # values to draw
COLUMNS = ["model", "patch_length", "batch", "steps", "paths", "milliseconds", "times_faster"]


def models(steps):
    """Our models by name and length of a patch."""
    sizes = {"d_model": D_MODEL, "num_heads": HEADS, "ff_dim": FF_DIM, "head": "student_t"}
    blocks = {"num_encoder_blocks": BLOCKS, "num_decoder_blocks": BLOCKS}
    for patch_length in (1, 24):
        name, size = "time_series_transformer", (CONTEXT, steps, 1)
        yield (
            name,
            patch_length,
            zoo.build(name, *size, patch_length=patch_length, **blocks, **sizes),
        )
    name = "decoder_transformer"
    yield name, 24, zoo.build(name, CONTEXT, steps, 1, patch_length=24, num_blocks=BLOCKS, **sizes)


def peer_call(inputs, steps, paths):
    """A function that draws from the peer."""
    import torch

    torch.set_num_threads(1)
    batch = len(inputs)
    peer = build_peer(steps, num_channels=1, num_samples=paths)
    arguments = {
        "past_values": torch.from_numpy(np.concatenate([inputs[:, :1], inputs], 1)[..., 0]),
        "past_time_features": torch.zeros(batch, CONTEXT + 1, 1),
        "past_observed_mask": torch.ones(batch, CONTEXT + 1),
        "future_time_features": torch.zeros(batch, steps, 1),
    }

    def call():
        with torch.no_grad():
            return peer.generate(**arguments)

    return call


def main():
    stem = f"sampling-{device_name().lower().replace(' ', '-')}-{keras.backend.backend()}"
    path = RESULTS / f"{stem}.csv"
    rows = []
    for batch, steps, paths in CASES:
        keras.utils.set_random_seed(SEED)
        inputs = np.random.default_rng(SEED).standard_normal((batch, CONTEXT, 1), "float32")
        peer = np.nan
        if batch * steps * paths <= MOST_OF_PEER:
            call, is_short = peer_call(inputs, steps, paths), batch * steps * paths <= 10_000
            peer = median_seconds(call, 3 if is_short else 1, warm_up=is_short)
            rows.append(["transformers", 1, batch, steps, paths, f"{1e3 * peer:.2f}", ""])
        for name, patch_length, model in models(steps):
            seconds = median_seconds(
                lambda m=model, x=inputs, s=steps, p=paths: kerastrans.generate_samples(m, x, s, p),
                20 if batch * steps * paths <= MOST_OF_PEER else 3,
            )
            times = "" if np.isnan(peer) else f"{peer / seconds:.1f}"
            rows.append([name, patch_length, batch, steps, paths, f"{1e3 * seconds:.2f}", times])
            print(*rows[-1], flush=True)
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([COLUMNS, *rows])


if __name__ == "__main__":
    main()
