"""
Title: The Transformer from the lesson
Author: The kerastrans contributors
Date created: 2026/11/23
Last modified: 2026/11/23
Description: Encoder, decoder and masks put together by hand, trained to copy, decoded step by step.
Accelerator: None
"""

"""
## Introduction

The lesson's Transformer is a function: blocks go from tensor to tensor, and `keras.Model` closes
the graph. Here it is put together by hand, learns to say a sequence of random numbers again, and
is decoded with a cache of keys and values. The data are made: no download.
"""

import os
import time

import keras
import numpy as np

import kerastrans
from kerastrans.data import random_sequences, teacher_forcing_pairs

SMALL = os.environ.get("KERASTRANS_EXAMPLES") == "small"  # as the tests run it
LENGTH, CHANNELS, WIDTH = 6, 12, 64
keras.utils.set_random_seed(0)

"""
## Masks

In this package True always means "may be attended to". Row t of the look-ahead mask is what step
t sees: itself, and what came before.
"""

print(keras.ops.convert_to_numpy(kerastrans.create_look_ahead_mask(4)).astype(int))

"""
## The model, from top to bottom

The encoder reads the sequence. The decoder reads what was said so far, looks at the encoder's
output, and says the next step. A projection makes the residual stream wide enough to hold a step,
its position and what attention found.
"""

sequence = keras.Input((LENGTH, CHANNELS), name="encoder_inputs")
so_far = keras.Input((None, CHANNELS), name="decoder_inputs")
encoded = keras.layers.Dense(WIDTH)(sequence)
encoded = kerastrans.PositionalEncoding(64, WIDTH)(encoded)
encoded = kerastrans.transformer_encoder(encoded, num_heads=4, key_dim=16, ff_dim=128, dropout=0.0)
decoded = keras.layers.Dense(WIDTH)(so_far)
decoded = kerastrans.PositionalEncoding(64, WIDTH)(decoded)
decoded = kerastrans.transformer_decoder(
    decoded, encoded, num_heads=4, key_dim=16, ff_dim=128, dropout=0.0
)
outputs = keras.layers.Dense(CHANNELS)(decoded)
model = keras.Model([sequence, so_far], outputs)
print(f"{model.count_params():,} weights")

"""
## Teacher forcing

In training the decoder is shown the true values, shifted by one: it starts from zeros and must
say the first. All steps train at once, and the look-ahead mask inside keeps the answers hidden.
"""

examples = random_sequences(500 if SMALL else 5000, LENGTH, CHANNELS, seed=0)
decoder_inputs, targets = teacher_forcing_pairs(examples, start_token=0)
model.compile(keras.optimizers.Adam(1e-3), "mse")
history = model.fit(
    [examples, decoder_inputs], targets, batch_size=64, epochs=2 if SMALL else 25, verbose=0
)
losses = history.history["loss"]
print(f"mean squared error: {losses[0]:.3f} -> {losses[-1]:.4f}, of a variance of 1")

"""
## Step by step

Nobody shows the answers to unseen sequences: each step is fed back as the next input.
`kerastrans.generate` reads the model's own graph, runs the encoder once, and one step at a time
of the rest. It is the naive loop in all but time.
"""

unseen = random_sequences(64, LENGTH, CHANNELS, seed=1)
kerastrans.generate(model, unseen, LENGTH, start_token=0)  # compiles
started = time.perf_counter()
generated = kerastrans.generate(model, unseen, LENGTH, start_token=0)
cached = time.perf_counter() - started

started = time.perf_counter()
said = np.zeros((len(unseen), 1, CHANNELS), "float32")
for _ in range(LENGTH):
    step = model.predict([unseen, said], verbose=0)[:, -1:]
    said = np.concatenate([said, step], axis=1)
naive = time.perf_counter() - started
print(f"error on unseen sequences: {np.square(generated - unseen).mean():.4f}")
print(f"cached {1000 * cached:.1f} ms, naive loop {1000 * naive:.0f} ms")
assert np.allclose(generated, said[:, 1:], atol=1e-4)

"""
## Where it looks

To copy step t the decoder has to look at step t of the encoder. The weights of its
cross-attention, mean over heads and blocks, say whether it does.
"""

seen, _ = teacher_forcing_pairs(generated[:1], start_token=0)
cross = kerastrans.attention_scores(model, [unseen[:1], seen])["cross"]
print(cross.mean(axis=(0, 1)).round(2))  # a row a step that is said, a column a step that was read

"""
## Conclusions

The same blocks make every other Transformer of the package. The nine lessons in `notebooks/` take
each part apart; `build_transformer_model` puts these together in one call.
"""
