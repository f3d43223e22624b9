"""Three slips of older lessons, and what each costs on the copy task of lesson 0.

The model is that of lesson 0 in plain Keras, on six steps of twelve numbers. Measured on sequences
that it has not seen: the error under teacher forcing, and that of what it generates.

    python -m benchmarks.accuracy.older_lesson     # writes benchmarks/results/older_lesson.csv
"""

import keras
import numpy as np
import pandas as pd
from keras import layers, ops

from benchmarks.common import RESULTS
from kerastrans import PositionalEncoding, create_look_ahead_mask
from kerastrans.data import random_sequences, teacher_forcing_pairs

RESULT = RESULTS / "older_lesson.csv"
LENGTH, CHANNELS, D_MODEL, FF_DIM, EPOCHS = 6, 12, 64, 64, 8
VARIANTS = {
    "as it should be": {},
    "inverted mask": {"inverted": True},
    "no feed-forward": {"feed_forward": False},
    "3 heads of width 8": {"num_heads": 3, "key_dim": 8},
    "1 head of width 24": {"num_heads": 1, "key_dim": 24},
    "24 heads of width 1": {"num_heads": 24, "key_dim": 1},
    "all three slips": {"inverted": True, "feed_forward": False, "num_heads": 3, "key_dim": 8},
}


def build(num_heads=8, key_dim=3, inverted=False, feed_forward=True):
    """One encoder and one decoder block, each with the slips that are asked for."""

    def norm(x):
        return layers.LayerNormalization(epsilon=1e-6)(x)

    def attend(x, memory=None, **options):
        y = norm(x)
        attention = layers.MultiHeadAttention(num_heads, key_dim)
        return x + attention(y, y if memory is None else memory, **options)

    def feed(x):
        return x + layers.Dense(D_MODEL)(layers.Dense(FF_DIM, "relu")(norm(x)))

    def embed(inputs):
        return PositionalEncoding(None, D_MODEL)(layers.Dense(D_MODEL)(inputs))

    history, shifted = keras.Input((LENGTH, CHANNELS)), keras.Input((LENGTH, CHANNELS))
    memory = norm(feed(attend(embed(history))))
    y = embed(shifted)
    mask = create_look_ahead_mask(LENGTH)
    residual = attend(y, attention_mask=ops.logical_not(mask) if inverted else mask)
    y = attend(residual, memory)
    y = feed(y) if feed_forward else y + (y - residual)  # x + res of the printed decoder
    return keras.Model([history, shifted], layers.Dense(CHANNELS)(norm(y)))


def generate(model, histories):
    """Each output becomes the next input."""
    shifted = np.zeros_like(histories)
    for step in range(LENGTH):
        outputs = ops.convert_to_numpy(model([histories, shifted]))
        shifted[:, 1 : step + 2] = outputs[:, : step + 1][:, : LENGTH - 1]
    return outputs


def measure(options, seed):
    """Teacher-forced and generated error of one model, and its number of weights."""
    keras.utils.set_random_seed(seed)
    model = build(**options)
    train, test = (random_sequences(size, LENGTH, CHANNELS, i) for i, size in ((0, 5000), (1, 500)))
    inputs, targets = teacher_forcing_pairs(train, start_token=0.0)
    rate = keras.optimizers.schedules.CosineDecay(3e-3, EPOCHS * 79)  # 79 batches per epoch
    model.compile(keras.optimizers.Adam(rate), "mse")
    model.fit([train, inputs], targets, batch_size=64, epochs=EPOCHS, verbose=0)
    inputs, targets = teacher_forcing_pairs(test, start_token=0.0)
    forced = model.predict([test, inputs], verbose=0)
    errors = [np.mean((x - test) ** 2) for x in (forced, generate(model, test))]
    return {"forced": errors[0], "generated": errors[1], "weights": model.count_params()}


def main():
    rows = []
    for variant, options in VARIANTS.items():
        for seed in range(3):
            rows.append({"variant": variant, "seed": seed, **measure(options, seed)})
            print(rows[-1], flush=True)
    pd.DataFrame(rows).round(5).to_csv(RESULT, index=False)


if __name__ == "__main__":
    main()
