"""Time to decode 32 sequences: of the encoder, which runs once, and of the loop of 24 steps.

Equal widths, blocks and context as in generation.py and sampling.py, and the time-series
Transformer of `transformers`, one thread each. "first" is the time of one step, nearly all of it
the encoder's; "loop" is what 23 more steps add. The floor is the time that the matrix products of
the encoder take in NumPy on the same core, measured just after the model.

    KERAS_BACKEND=jax taskset -c 0 python -m benchmarks.speed.generation_parts

Adds the rows of a backend to results/generation_parts.csv.
"""

import keras
import numpy as np

import kerastrans
from benchmarks.common import RESULTS, append_row, keys_of, median_seconds
from benchmarks.speed import generation, sampling
from benchmarks.speed.generation import BLOCKS, CONTEXT, D_MODEL, FF_DIM, HEADS, SEED

BATCH, STEPS, REPEATS = 32, 24, 20
MODELS = ("build_transformer_model", "time_series_transformer", "transformers")
COLUMNS = ("backend", "model", "first_ms", "loop_ms", "whole_ms", "floor_ms", "gflops")


def products():
    """Shapes `(rows, inner, columns)` of the encoder's matrix products, and how often each runs."""
    tokens, key_dim = BATCH * CONTEXT, D_MODEL // HEADS
    return {
        (tokens, D_MODEL, D_MODEL): 4 * BLOCKS,
        (tokens, D_MODEL, FF_DIM): BLOCKS,
        (tokens, FF_DIM, D_MODEL): BLOCKS,
        (CONTEXT, key_dim, CONTEXT): BATCH * HEADS * BLOCKS,
        (CONTEXT, CONTEXT, key_dim): BATCH * HEADS * BLOCKS,
    }


def floor():
    """Return the seconds of all products, and the operations of each second."""
    rng, seconds, operations = np.random.default_rng(SEED), 0.0, 0
    for (rows, inner, columns), count in products().items():
        left = rng.standard_normal((rows, inner), "float32")
        right = rng.standard_normal((inner, columns), "float32")
        out = np.empty((rows, columns), "float32")
        repeats = max(1, 10_000_000 // left.size)

        def multiply(left=left, right=right, out=out, repeats=repeats):
            for _ in range(repeats):
                np.matmul(left, right, out=out)

        seconds += count * median_seconds(multiply, 5) / repeats
        operations += count * 2 * rows * inner * columns
    return seconds, operations / seconds


def call(name, steps):
    """Return a function that decodes `steps` steps by a model."""
    keras.utils.set_random_seed(SEED)
    rng = np.random.default_rng(SEED)
    channels = generation.CHANNELS if name == MODELS[0] else 1
    inputs = rng.standard_normal((BATCH, CONTEXT, channels), "float32")
    if name == "transformers":
        return sampling.peer_call(inputs, steps, 1)
    if name == MODELS[0]:
        sizes = {"d_model": D_MODEL, "num_heads": HEADS, "key_dim": D_MODEL // HEADS}
        blocks = {"num_encoder_blocks": BLOCKS, "num_decoder_blocks": BLOCKS}
        model = kerastrans.build_transformer_model(
            (CONTEXT, channels), **sizes, ff_dim=FF_DIM, **blocks
        )
        return lambda: model.generate(inputs, steps)
    _, _, model = next(sampling.models(STEPS))
    return lambda: kerastrans.generate_samples(model, inputs, steps, 1)


def main():
    path, backend = RESULTS / "generation_parts.csv", keras.backend.backend()
    for name in MODELS:
        backend_of = "torch" if name == "transformers" else backend
        if (backend_of, name) in keys_of(path, COLUMNS[:2]):
            continue
        first, whole = (median_seconds(call(name, n), REPEATS) for n in (1, STEPS))
        least, rate = floor()
        times = (f"{1e3 * x:.2f}" for x in (first, whole - first, whole, least))
        row = backend_of, name, *times, f"{rate / 1e9:.1f}"
        append_row(path, COLUMNS, dict(zip(COLUMNS, row, strict=True)), line_end="\n")
        print(*row, flush=True)


if __name__ == "__main__":
    main()
