# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 7. Why cached decoding is fast
#
# A decoder says one step at a time. The plain way shows it the whole sequence again at every step:
# after $n$ steps it has computed $1 + 2 + \dots + n$ positions to keep $n$. A cache keeps the keys
# and values of what was said, so that each step computes one position. We measure both, on the
# machine that runs this notebook. Runs in about a minute.

# %%
# %matplotlib inline
import os
import statistics
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import kerastrans
from kerastrans.data import random_sequences

keras.utils.set_random_seed(0)

# %% [markdown]
# ## The plain loop
#
# An untrained model is as slow as a trained one. The plain loop calls it with everything said so
# far and keeps the last output.

# %%
CONTEXT, CHANNELS = 96, 7
model = kerastrans.build_transformer_model(
    (CONTEXT, CHANNELS),
    num_heads=4,
    key_dim=16,
    ff_dim=128,
    num_encoder_blocks=2,
    num_decoder_blocks=2,
    d_model=64,
)
history = random_sequences(1, CONTEXT, CHANNELS, seed=0)


def plain_loop(model, history, num_steps):
    said = history[:, -1:]
    for _ in range(num_steps):
        outputs = keras.ops.convert_to_numpy(model([history, said]))
        said = np.concatenate([said, outputs[:, -1:]], axis=1)
    return said[:, 1:]


difference = np.abs(plain_loop(model, history, 5) - model.generate(history, 5)).max()
print(f"both say the same: largest difference {difference:.1e}")

# %% [markdown]
# ## Over the horizon
#
# The first call of `generate` for a horizon compiles its loop; that time is shown apart, for it is
# paid once. All others are medians.


# %%
def seconds(function, repetitions):
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


rows = []
for horizon in (6, 12, 24, 48):
    first = seconds(lambda n=horizon: model.generate(history, n), 1)
    cached = seconds(lambda n=horizon: model.generate(history, n), 15)
    plain = seconds(lambda n=horizon: plain_loop(model, history, n), 1 if horizon > 12 else 3)
    rows.append(
        {
            "steps": horizon,
            "plain loop [ms]": 1e3 * plain,
            "cached [ms]": 1e3 * cached,
            "times faster": plain / cached,
            "first call [ms]": 1e3 * first,
        }
    )
table = pd.DataFrame(rows).set_index("steps")
table.round(1)

# %%
figure, panel = plt.subplots(figsize=(7, 3.6), layout="constrained")
for column, colour in (("plain loop [ms]", "#d1495b"), ("cached [ms]", "#2e86ab")):
    panel.plot(table.index, table[column], "o-", color=colour, label=column.removesuffix(" [ms]"))
panel.set_xscale("log", base=2)
panel.set_yscale("log")
panel.set_xticks(table.index, table.index)
panel.set_xlabel("horizon [steps]")
panel.set_ylabel("time of one forecast [ms]")
panel.grid(alpha=0.25)
panel.legend(frameon=False)
plt.show()

# %% [markdown]
# ## Where the factor comes from
#
# Three things, each of which alone would not do. The cache saves arithmetic. Compiling the whole
# loop saves the trips to Python, which at these sizes cost more than the arithmetic. And shapes
# that stay the same save compiling again at every step. The plain loop compiled as one function
# would have to compile once per length.
#
# How much is arithmetic? Count the positions that the decoder computes:

# %%
for horizon in (12, 48, 96, 720):
    again = horizon * (horizon + 1) // 2
    print(
        f"{horizon:>4} steps: {again:>7,} positions against {horizon:>4}, {again / horizon:.0f} x"
    )

# %% [markdown]
# ## It also works for tokens
#
# The loop is the same; a sampler chooses the token that is fed back. Beams keep several beginnings
# and move their caches about.

# %%
tokens = kerastrans.build_seq2seq_transformer(
    200,
    200,
    d_model=32,
    num_heads=4,
    ff_dim=64,
    num_encoder_blocks=2,
    num_decoder_blocks=2,
    dropout=0.0,
)
source = np.random.default_rng(0).integers(4, 200, (8, 10))
lengths = np.full(8, 10)
for name, sampler in (("greedy", None), ("beam of 4", kerastrans.BeamSampler(4))):
    tokens.generate(source, lengths, 32, sampler)
    duration = seconds(lambda s=sampler: tokens.generate(source, lengths, 32, s), 10)
    print(f"{name:>10}: {1e3 * duration:.1f} ms for 8 sentences of up to 32 words")

# %% [markdown]
# ## Exercises
#
# 1. Decode 1, 8 and 64 series at once. What does a batch cost, and what a series?
# 2. Which of the three caches (encoder, cross-attention, decoder self-attention) grows while
#    decoding?
# 3. Why is a loop of 48 steps not the first half of a loop of 96 in time, but is in what it says?
#
# Answers: [answers.ipynb](answers.ipynb).
