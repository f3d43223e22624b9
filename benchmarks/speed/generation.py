"""How long it takes to decode: the naive loops, the cached loop, and the limit of the memory.

All on the same weights, in one process, each timing a median. `predict` and `eager` feed the
whole growing sequence to the model at every step, through `model.predict` and through a direct
call; `cached` is `kerastrans.generate`. The limit of a step is the time it takes to read the
decoder's weights and its caches once, at the rate at which this machine sums an array of that
size over and over.

    python -m benchmarks.speed.generation  # writes results/generation-<device>-<backend>.csv
    python -m benchmarks.speed.generation --quick  # the cached loop and the limit, in the .json

Runs on any backend (KERAS_BACKEND) and device. The peer of `transformers` is timed, in the same
run, where that package and PyTorch are installed: `pip install -e .[benchmarks]`.
"""

import argparse
import csv
import json

import keras
import numpy as np

import kerastrans
from benchmarks.common import RESULTS, device_name, median_seconds
from kerastrans.decoding.generation import cached_decoder
from kerastrans.utils.environment import environment

CONTEXT, CHANNELS, D_MODEL, HEADS, FF_DIM, BLOCKS, SEED = 96, 7, 64, 4, 128, 2, 0
LENGTHS, BATCHES = (24, 96, 384), (1, 32)
COLUMNS = [
    "loop",
    "batch",
    "steps",
    "milliseconds",
    "repeats",
    "times_cached",
    "largest_difference",
]


def naive_loop(call, inputs, steps):
    """Feed the whole sequence so far to `call` and append its last output, `steps` times."""
    decoder_inputs = inputs[:, -1:]
    for _ in range(steps):
        outputs = np.asarray(call([inputs, decoder_inputs]))
        decoder_inputs = np.concatenate([decoder_inputs, outputs[:, -1:]], axis=1)
    return decoder_inputs[:, 1:]


def read_seconds(num_bytes):
    """Time to read that many bytes once, where they lie when they are read again and again."""
    array = np.ones(num_bytes // 4, "float32")
    return median_seconds(lambda: [array.sum() for _ in range(50)], 20) / 50


def limit_row(model, inputs, steps):
    """One step of the cached loop beside the time to read weights and caches once."""
    batch = len(inputs)
    decoder = cached_decoder(model)
    weights = {id(v): v for n in decoder.step_calls for v in getattr(n.operation, "variables", [])}
    weight_bytes = 4 * sum(int(np.prod(v.shape)) for v in weights.values())
    weight_bytes -= 4 * BLOCKS * 2 * (D_MODEL + 1) * D_MODEL  # the memory is projected before
    cache_bytes = 4 * batch * BLOCKS * 2 * D_MODEL * (steps + CONTEXT)
    limit = read_seconds(weight_bytes + cache_bytes)
    whole, first = (median_seconds(lambda n=n: model.generate(inputs, n), 30) for n in (steps, 1))
    step = (whole - first) / (steps - 1)  # the first call's time is that of the encoder
    return {
        "batch": batch,
        "steps": steps,
        "weight_bytes": weight_bytes,
        "cache_bytes": cache_bytes,
        "step_microseconds": 1e6 * step,
        "read_microseconds": 1e6 * limit,
        "step_over_read": step / limit,
    }


def build_peer(steps, num_channels, num_samples):
    """The time-series Transformer of `transformers`, of the same sizes."""
    import torch
    from transformers import (
        TimeSeriesTransformerConfig,
        TimeSeriesTransformerForPrediction,
    )

    torch.manual_seed(SEED)
    config = TimeSeriesTransformerConfig(
        prediction_length=steps,
        context_length=CONTEXT,
        input_size=num_channels,
        lags_sequence=[1],
        num_time_features=1,
        d_model=D_MODEL,
        encoder_layers=BLOCKS,
        decoder_layers=BLOCKS,
        encoder_attention_heads=HEADS,
        decoder_attention_heads=HEADS,
        encoder_ffn_dim=FF_DIM,
        decoder_ffn_dim=FF_DIM,
        num_parallel_samples=num_samples,
        dropout=0.0,
    )
    return TimeSeriesTransformerForPrediction(config).eval()


def peer_seconds(batch, steps, repeats):
    """`generate` of the peer, one sample."""
    import torch

    peer = build_peer(steps, CHANNELS, num_samples=1)
    history = CONTEXT + 1  # one lag more than the context
    inputs = {
        "past_values": torch.randn(batch, history, CHANNELS),
        "past_time_features": torch.zeros(batch, history, 1),
        "past_observed_mask": torch.ones(batch, history, CHANNELS),
        "future_time_features": torch.zeros(batch, steps, 1),
    }
    with torch.no_grad():
        return median_seconds(lambda: peer.generate(**inputs), repeats)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="time the cached loop alone")
    quick = parser.parse_args().quick
    keras.utils.set_random_seed(SEED)
    model = kerastrans.build_transformer_model(
        (CONTEXT, CHANNELS),
        num_heads=HEADS,
        key_dim=D_MODEL // HEADS,
        ff_dim=FF_DIM,
        num_encoder_blocks=BLOCKS,
        num_decoder_blocks=BLOCKS,
        d_model=D_MODEL,
    )
    device = device_name().lower().replace(" ", "-")
    stem = RESULTS / f"generation-{device}-{keras.backend.backend()}"
    rows, limits = [], []
    for batch in BATCHES:
        rng = np.random.default_rng(SEED)
        inputs = rng.standard_normal((batch, CONTEXT, CHANNELS), "float32")
        for steps in LENGTHS:
            for row in loop_rows(model, inputs, steps, quick):
                rows.append(row)
                print(*row, sep=",", flush=True)
                if not quick:
                    with stem.with_suffix(".csv").open("w", newline="") as file:
                        csv.writer(file).writerows([COLUMNS, *rows])
            limits.append(limit_row(model, inputs, steps))

    summary = {"device": device, "environment": environment(), "limits": limits}
    stem.with_suffix(".json").write_text(json.dumps(summary, indent=2) + "\n")
    for row in limits:
        print(row)


def loop_rows(model, inputs, steps, quick):
    """Time the loops on one batch, each a row of the table: the cached one first, or alone."""
    batch = len(inputs)
    forecast = model.generate(inputs, steps)
    cached = median_seconds(lambda: model.generate(inputs, steps), 30)

    def row(loop, seconds, repeats, difference=None):
        times = [f"{1e3 * seconds:.3f}", repeats, f"{seconds / cached:.1f}"]
        return [loop, batch, steps, *times, "" if difference is None else f"{difference:.1e}"]

    yield row("cached", cached, 30)
    if quick:
        return
    loops = {
        "predict": lambda x: model.predict(x, verbose=0),
        "eager": lambda x: keras.ops.convert_to_numpy(model(x)),
    }
    repeats = 3 if batch * steps <= 96 else 1
    for name, call in loops.items():
        outputs = naive_loop(call, inputs, steps)  # the warm-up of all shapes
        seconds = median_seconds(
            lambda c=call: naive_loop(c, inputs, steps), repeats, warm_up=False
        )
        yield row(name, seconds, repeats, np.abs(outputs - forecast).max())
    try:
        yield row("transformers", peer_seconds(batch, steps, 3), 3)
    except ImportError as error:
        print(f"no peer: {error}")


if __name__ == "__main__":
    main()
