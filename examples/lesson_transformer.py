"""
Title: The Transformer from the lesson
Author: The kerastrans contributors
Date created: 2026/11/23
Last modified: 2026/11/23
Description: Build a Transformer from its blocks, train it to copy, and decode it step by step.
Accelerator: None
"""

"""
## Introduction

The lesson's Transformer is a function: blocks map tensors to tensors, and `keras.Model` turns the
graph into a model. Here we build it by hand, train it to copy sequences of random numbers, and
decode it with a cache of keys and values. The data are synthetic, so nothing is downloaded.
"""

import os
import time

import keras
import numpy as np

import kerastrans
from kerastrans.data import random_sequences, teacher_forcing_pairs

SMALL = os.environ.get("KERASTRANS_EXAMPLES") == "small"  # smaller sizes for the tests
LENGTH, CHANNELS, WIDTH = 6, 12, 64
keras.utils.set_random_seed(0)

"""
## Masks

In this package True always means "may be attended to". Row t of the look-ahead mask shows what step
t can see: itself and the steps before it.
"""

print(keras.ops.convert_to_numpy(kerastrans.create_look_ahead_mask(4)).astype(int))

"""
## The model, from top to bottom

The encoder reads the sequence. The decoder reads the steps generated so far, attends to the
encoder's output, and returns the next step. A projection makes the residual stream wide enough for
a step, its position and the results of attention.
"""

sequence = keras.Input((LENGTH, CHANNELS), name="encoder_inputs")
generated_so_far = keras.Input((None, CHANNELS), name="decoder_inputs")
encoded = keras.layers.Dense(WIDTH)(sequence)
encoded = kerastrans.PositionalEncoding(64, WIDTH)(encoded)
encoded = kerastrans.transformer_encoder(encoded, num_heads=4, key_dim=16, ff_dim=128, dropout=0.0)
decoded = keras.layers.Dense(WIDTH)(generated_so_far)
decoded = kerastrans.PositionalEncoding(64, WIDTH)(decoded)
decoded = kerastrans.transformer_decoder(
    decoded, encoded, num_heads=4, key_dim=16, ff_dim=128, dropout=0.0
)
outputs = keras.layers.Dense(CHANNELS)(decoded)
model = keras.Model([sequence, generated_so_far], outputs)
print(f"{model.count_params():,} weights")

"""
## Teacher forcing

In training the decoder receives the true values shifted by one step: it starts from zeros and must
return the first step. All steps are trained at once, and the look-ahead mask hides the answers.
"""

examples = random_sequences(500 if SMALL else 5000, LENGTH, CHANNELS, seed=0)
decoder_inputs, targets = teacher_forcing_pairs(examples, start_token=0)
model.compile(keras.optimizers.Adam(1e-3), "mse")
history = model.fit(
    [examples, decoder_inputs], targets, batch_size=64, epochs=2 if SMALL else 25, verbose=0
)
losses = history.history["loss"]
print(f"mean squared error: {losses[0]:.3f} -> {losses[-1]:.4f}, with a variance of 1")

"""
## Step by step

For unseen sequences the true values are unknown: each step is fed back as the next input.
`kerastrans.generate` reads the model's graph, runs the encoder once and the decoder one step at a
time. The result is the same as that of the naive loop, but faster.
"""

unseen = random_sequences(64, LENGTH, CHANNELS, seed=1)
kerastrans.generate(model, unseen, LENGTH, start_token=0)  # compiles the loop
started = time.perf_counter()
generated = kerastrans.generate(model, unseen, LENGTH, start_token=0)
cached = time.perf_counter() - started

started = time.perf_counter()
sequences = np.zeros((len(unseen), 1, CHANNELS), "float32")
for _ in range(LENGTH):
    step = model.predict([unseen, sequences], verbose=0)[:, -1:]
    sequences = np.concatenate([sequences, step], axis=1)
naive = time.perf_counter() - started
print(f"error on unseen sequences: {np.square(generated - unseen).mean():.4f}")
print(f"cached {1000 * cached:.1f} ms, naive loop {1000 * naive:.0f} ms")
assert np.allclose(generated, sequences[:, 1:], atol=1e-4)

"""
## Where the decoder looks

To copy step t the decoder has to attend to step t of the encoder. The weights of its
cross-attention, averaged over heads and blocks, show whether it does.
"""

generated_inputs, _ = teacher_forcing_pairs(generated[:1], start_token=0)
cross = kerastrans.attention_scores(model, [unseen[:1], generated_inputs])["cross"]
print(cross.mean(axis=(0, 1)).round(2))  # rows: steps of the decoder, columns: of the encoder

"""
## Conclusions

All other Transformers of the package are built from the same blocks. The lessons in
`notebooks/` explain each part; `build_transformer_model` builds this model in one call.
"""
