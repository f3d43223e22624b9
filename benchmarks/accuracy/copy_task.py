"""The lesson's copy task: 5,000 random sequences of 6 x 12, teacher forcing, 40 epochs.

The decoder must repeat its input, one step at a time, from a start token of zeros. Measured on
sequences it has not seen: the error under teacher forcing, and decoding its own output.

    python -m benchmarks.accuracy.copy_task            # writes benchmarks/results/copy_task.json
"""

import json
import time

import keras
import numpy as np

import kerastrans
from benchmarks.common import RESULTS
from kerastrans.data import random_sequences, teacher_forcing_pairs
from kerastrans.utils.environment import environment

LENGTH, CHANNELS, SEED = 6, 12, 0
RESULT = RESULTS / "copy_task.json"


def train_copy_model(num_samples=5000, epochs=40, seed=SEED, verbose=2):
    """The model of the lesson, with `d_model=64`, trained to copy."""
    keras.utils.set_random_seed(seed)
    model = kerastrans.build_transformer_model(
        (LENGTH, CHANNELS),
        num_heads=4,
        key_dim=16,
        ff_dim=128,
        num_encoder_blocks=2,
        num_decoder_blocks=2,
        dropout=0.0,
        d_model=64,
    )
    model.compile(keras.optimizers.Adam(1e-3), "mse")
    sequences = random_sequences(num_samples, LENGTH, CHANNELS, seed)
    decoder_inputs, targets = teacher_forcing_pairs(sequences, start_token=0.0, end_token=0.0)
    model.fit([sequences, decoder_inputs], targets, epochs=epochs, batch_size=32, verbose=verbose)
    return model


def copy_errors(model, num_samples=1000, seed=SEED + 1):
    """Mean squared errors on unseen sequences: `(teacher_forced, autoregressive)`."""
    sequences = random_sequences(num_samples, LENGTH, CHANNELS, seed)
    decoder_inputs, targets = teacher_forcing_pairs(sequences, start_token=0.0, end_token=0.0)
    forced = model.predict([sequences, decoder_inputs], verbose=0)
    generated = model.generate(sequences, LENGTH, start_token=0.0)
    return float(np.mean((forced - targets) ** 2)), float(np.mean((generated - sequences) ** 2))


def main():
    started = time.perf_counter()
    model = train_copy_model()
    forced, generated = copy_errors(model)
    result = {
        "teacher_forced_mse": forced,
        "autoregressive_mse": generated,
        "data_variance": 1.0,
        "training_sequences": 5000,
        "epochs": 40,
        "seed": SEED,
        "seconds": round(time.perf_counter() - started, 1),
        "environment": environment(),
    }
    RESULT.write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
