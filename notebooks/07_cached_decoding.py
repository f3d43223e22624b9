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
# A decoder generates one step at a time. The plain way passes it the whole sequence again at every
# step: after $n$ steps it has computed $1 + 2 + \dots + n$ positions to keep $n$. A cache keeps the
# keys and values of earlier steps, so that each step computes one position. We measure both on the
# machine that runs this notebook. The lesson runs in about a minute. It requires TensorFlow, the
# extra `tensorflow`: `pip install ".[tensorflow]"` in a clone.

# %%
import subprocess
import sys

WHEEL = ""  # in Colab: path or address of a wheel of kerastrans
if WHEEL:
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", WHEEL], check=True)
import kerastrans

if tuple(map(int, kerastrans.__version__.split(".")[:2])) < (0, 2):
    print(f"This lesson is for kerastrans 0.2 or later; {kerastrans.__version__} is installed.")

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

try:
    import tensorflow as tf
except ImportError:
    message = 'This lesson requires an extra: pip install ".[tensorflow]" in a clone.'
    raise ImportError(message) from None

import kerastrans
from kerastrans.data import random_sequences

keras.utils.set_random_seed(0)

# %% [markdown]
# ## The plain loop
#
# An untrained model is as slow as a trained one. The plain loop calls it with all steps so far and
# keeps the last output. <!-- claim: equal --> Both loops generate the same values.

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
print(f"largest difference {difference:.1e}")
assert difference < 1e-4  # claim: equal

# %% [markdown]
# ## Over the horizon
#
# The first call of `generate` for a horizon compiles its loop; this time is listed separately,
# since it is paid once. All others are medians. <!-- claim: faster --> With 48 steps, the cached
# loop is more than a hundred times as fast.


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
assert table.loc[48, "times faster"] > 100  # claim: faster
table.round(1)

# %%
# Alt text: Time of one forecast over the horizon, both axes logarithmic: the plain loop rises
# steeply, the cached loop stays far below it.
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
# The plain loop is slow for three reasons: it returns to Python for each operation, it computes
# each position again and again, and its shapes grow. The cache removes the second one; compiling
# removes the first. Four loops separate them:
#
# - the plain loop, operation by operation;
# - the model compiled once for all lengths: `tf.function` with a time axis of unknown length;
# - the model compiled by XLA, which requires fixed shapes: the input is padded to the horizon, and
#   the look-ahead mask hides the padding;
# - `generate`, compiled, with a cache.
#
# <!-- claim: rows --> All four generate the same values. <!-- claim: compiled --> Compiling
# explains a large part of the factor: the second loop is more than three times as fast as the
# first. <!-- claim: cache --> The cache and the single compiled loop explain the rest: `generate`
# is more than five times as fast as the best loop without them.

# %%
HORIZON = 48
any_length = tf.function(
    model,
    input_signature=[[tf.TensorSpec((1, CONTEXT, CHANNELS)), tf.TensorSpec((1, None, CHANNELS))]],
)
padded = tf.function(model, jit_compile=True)


def loop(call, pad):
    generated = np.zeros((1, HORIZON + 1, CHANNELS), "float32")
    generated[:, 0] = history[:, -1]
    for step in range(HORIZON):
        seen = generated[:, :HORIZON] if pad else generated[:, : step + 1]
        generated[:, step + 1] = call([history, tf.constant(seen)])[:, step]
    return generated[:, 1:]


loops = {
    "plain loop": lambda: plain_loop(model, history, HORIZON),
    "compiled, any length": lambda: loop(any_length, pad=False),
    "compiled by XLA, padded": lambda: loop(padded, pad=True),
    "generate": lambda: model.generate(history, HORIZON),
}
results = {name: function() for name, function in loops.items()}  # compiles
times = pd.Series(
    {name: 1e3 * seconds(f, 1 if f is loops["plain loop"] else 5) for name, f in loops.items()}
)
assert max(np.abs(x - results["generate"]).max() for x in results.values()) < 1e-3  # claim: rows
assert times["plain loop"] > 3 * times["compiled, any length"]  # claim: compiled
without = times["compiled, any length":"compiled by XLA, padded"].min()
assert without > 5 * times["generate"]  # claim: cache
times.round(1).to_frame(f"{HORIZON} steps [ms]")

# %% [markdown]
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
# The loop is the same; a sampler chooses the token that is fed back. Beam search keeps several
# beginnings, and reorders their caches.

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
# ## A model without an encoder
#
# A decoder-only model, such as GPT, has one input, the prompt. Causal attention reads the prompt in
# one pass, which fills the cache; from then on each step computes one position. One call of the
# model on the prompt and its continuation shows that both are one sequence: <!-- claim: prompt -->
# it returns each generated value at the position before.

# %%
prompt = keras.Input((None, CHANNELS), name="prompt")
x = kerastrans.PositionalEncoding(None, 64)(keras.layers.Dense(64)(prompt))
for _ in range(2):
    x = kerastrans.transformer_decoder(x, num_heads=4, key_dim=16, ff_dim=128)
decoder_only = keras.Model(prompt, keras.layers.Dense(CHANNELS)(x))

continued = kerastrans.generate(decoder_only, history, 48)
shown = np.concatenate([history, continued[:, :-1]], axis=1)
outputs = keras.ops.convert_to_numpy(decoder_only(shown))[:, CONTEXT - 1 :]
difference = np.abs(outputs - continued).max()
print(f"largest difference {difference:.1e}")
assert difference < 1e-4  # claim: prompt

# %% [markdown]
# <!-- claim: streamed --> `generate_steps` yields the same values one by one, for whoever reads
# along. Between two steps it returns to Python:

# %%
steps = list(kerastrans.generate_steps(decoder_only, history, 48))
print(len(steps), "steps of the shape", steps[0].shape)
assert np.abs(np.concatenate(steps, axis=1) - continued).max() < 1e-4  # claim: streamed
for name, call in (
    ("generate", lambda: kerastrans.generate(decoder_only, history, 48)),
    ("generate_steps", lambda: list(kerastrans.generate_steps(decoder_only, history, 48))),
):
    print(f"{name:>14}: {1e3 * seconds(call, 10):.1f} ms for 48 steps after a prompt of {CONTEXT}")

# %% [markdown]
# ## Exercises
#
# Replace `...` by your answer and run the cell. `kerastrans.lessons.hint("7.1")` helps, in three
# steps. Solutions: [answers.ipynb](answers.ipynb).

# %% [markdown]
# **7.1** Return how many positions the plain loop computes for num_steps steps.


# %%
def count_positions(num_steps):
    return ...


kerastrans.lessons.check("7.1", count_positions)

# %% [markdown]
# **7.2** Attend to the cache and to the new step; return the result, the keys and the values.


# %%
def attend_next(query, key, value, cache):
    return ...


kerastrans.lessons.check("7.2", attend_next)

# %% [markdown]
# **7.3** Which cache grows while decoding?

# %%
prediction = ...  # "cross-attention", "decoder self-attention", "encoder"
kerastrans.lessons.check("7.3", prediction)

# %% [markdown]
# **7.4** Predict the time for a series in a batch of 64, compared with a single series.

# %%
prediction = ...  # "less", "more", "the same"
kerastrans.lessons.check("7.4", prediction)
