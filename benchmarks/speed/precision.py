"""Mixed precision against float32: training step, decoding, and what it costs in accuracy.

For each policy the same Transformer, from the same seed, is trained on noisy waves; its forecasts
are compared with those of the same weights in float32.

    python -m benchmarks.speed.precision    # writes results/precision-<device>-<backend>.json

Runs on any backend (KERAS_BACKEND) and device.
"""

import json
import time

import keras
import numpy as np

import kerastrans
from benchmarks.common import RESULTS, device_name, median_seconds
from kerastrans.utils.environment import environment

PRECISIONS = ("float32", "mixed_float16", "mixed_bfloat16")
CONTEXT, STEPS, CHANNELS, BATCH, BATCHES, SEED = 96, 48, 7, 64, 16, 0


def build(policy):
    keras.utils.set_random_seed(SEED)
    keras.config.set_dtype_policy(policy)
    return kerastrans.build_transformer_model(
        (CONTEXT, CHANNELS),
        num_heads=4,
        key_dim=16,
        ff_dim=128,
        num_encoder_blocks=2,
        num_decoder_blocks=2,
        d_model=64,
    )


def waves(num_series):
    """Sines of random phase and period under noise, `(num_series, CONTEXT + STEPS, CHANNELS)`."""
    rng = np.random.default_rng(SEED)
    phase = rng.uniform(0, 2 * np.pi, (num_series, 1, CHANNELS))
    speed = 2 * np.pi / rng.uniform(12, 36, (num_series, 1, CHANNELS))
    time_steps = np.arange(CONTEXT + STEPS)[None, :, None]
    noise = 0.1 * rng.standard_normal((num_series, CONTEXT + STEPS, CHANNELS))
    return (np.sin(speed * time_steps + phase) + noise).astype("float32")


def measure(policy, epochs):
    model = build(policy)
    series = waves(BATCH * BATCHES)
    contexts, targets = series[:, :CONTEXT], series[:, CONTEXT:]
    inputs = [contexts, series[:, CONTEXT - 1 : -1]]
    model.compile(keras.optimizers.Adam(1e-3), "mse")
    model.fit(inputs, targets, batch_size=BATCH, epochs=1, verbose=0)  # compiles
    started = time.perf_counter()
    losses = model.fit(inputs, targets, batch_size=BATCH, epochs=epochs, verbose=0).history["loss"]
    seconds = (time.perf_counter() - started) / (epochs * BATCHES)
    forecasts = model.generate(contexts[:BATCH], STEPS)
    decoding = median_seconds(lambda: model.generate(contexts[:BATCH], STEPS), 10)
    reference = build("float32")
    reference.set_weights(model.get_weights())
    expected = reference.generate(contexts[:BATCH], STEPS)
    return {
        "policy": policy,
        "training_ms_per_step": 1e3 * seconds,
        "last_loss": losses[-1],
        "generation_ms": 1e3 * decoding,
        "relative_rmse_to_float32": float(
            np.sqrt(np.mean((forecasts - expected) ** 2) / np.mean(expected**2))
        ),
    }


def main(epochs=4):
    rows = []
    for policy in PRECISIONS:
        rows.append(measure(policy, epochs))
        print(rows[-1], flush=True)
    device = device_name()
    result = {"device": device, "batch": BATCH, "rows": rows, "environment": environment()}
    name = f"precision-{device.lower().replace(' ', '-')}-{keras.backend.backend()}.json"
    (RESULTS / name).write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
