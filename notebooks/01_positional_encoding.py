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
# # 1. Where a value stands: positional encoding
#
# Attention looks at a sequence as a bag: it compares every step with every other and does not know
# which came first. Before we add the position, let us see that this is so. Runs in seconds.

# %%
# %matplotlib inline
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import matplotlib.pyplot as plt
import numpy as np
from keras import ops

from kerastrans import CachedMultiHeadAttention, PositionalEncoding, plotting

keras.utils.set_random_seed(0)
random = np.random.default_rng(0)

# %% [markdown]
# ## Attention alone does not know the order
#
# We shuffle eight steps and put them through self-attention. What comes out is the same eight
# vectors, shuffled in the same way: the largest difference is rounding.

# %%
steps = random.standard_normal((1, 8, 32)).astype("float32")
order = random.permutation(8)
attention = CachedMultiHeadAttention(num_heads=4, key_dim=8)
plain = ops.convert_to_numpy(attention(steps))
shuffled = ops.convert_to_numpy(attention(steps[:, order]))
print(f"without positions: {np.abs(shuffled - plain[:, order]).max():.1e}")

positions = PositionalEncoding(None, 32)
plain = ops.convert_to_numpy(attention(positions(steps)))
shuffled = ops.convert_to_numpy(attention(positions(steps[:, order])))
print(f"with positions:    {np.abs(shuffled - plain[:, order]).max():.1e}")

# %% [markdown]
# ## Sinusoids of many wavelengths
#
# Position $p$ gets a vector whose columns come in pairs, a sine and a cosine of the same angle
# (Vaswani et al., 2017, section 3.5):
#
# $$e_{p,2i} = \sin\frac{p}{10000^{2i/d}}, \qquad e_{p,2i+1} = \cos\frac{p}{10000^{2i/d}}.$$
#
# By hand that is three lines. The layer adds the same to its input, so zeros show it.


# %%
def by_hand(length, dim):
    angles = np.arange(length)[:, None] / 10000 ** (np.arange(0, dim, 2) / dim)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(length, dim)


encoding = ops.convert_to_numpy(PositionalEncoding(None, 32)(np.zeros((1, 60, 32), "float32")))[0]
print(encoding.shape, f"largest difference: {np.abs(encoding - by_hand(60, 32)).max():.1e}")

# %%
plotting.positional_encoding(encoding, columns=(6, 7, 8, 9))

# %% [markdown]
# Left: neighbouring columns are the same wave, a quarter turn apart; the next pair is slower.
# Right: fast columns tell neighbours apart, slow ones say where in the sequence we are. It is like
# the digits of a counter, of which the last changes at every step and the first hardly ever.
#
# ## Distance is a rotation
#
# A step of $k$ positions turns each pair of columns by the same angle, wherever it starts. So the
# product of two encodings depends on their distance alone: a layer that is linear can find "three
# steps ago".

# %%
long = by_hand(200, 32)
products = long @ long.T
figure, panel = plt.subplots(figsize=(7, 3.2), layout="constrained")
for start in (40, 80, 120):
    panel.plot(np.arange(-30, 31), products[start, start - 30 : start + 31], lw=4 - start / 40)
panel.set_xlabel("distance [steps]")
panel.set_ylabel("product of two encodings")
panel.legend([f"from position {start}" for start in (40, 80, 120)], frameon=False)
plt.show()

# %% [markdown]
# The three curves lie on each other. Nothing here was learnt, and nothing ends: with
# `max_len=None` the layer goes on to any length, also past what training saw.
#
# ## What goes wrong in practice
#
# Two faults of common code, and what the layer here does. An odd width has one sine more than
# cosines. And positions computed in half precision run together: beyond 2048, float16 counts in
# twos. The layer computes angles in float32 whatever it is added to.

# %%
odd = PositionalEncoding(None, 5)(np.zeros((1, 3, 5), "float32"))
print("odd width:", odd.shape)
print("float16 of 2049 is", np.float16(2049))
half = PositionalEncoding(None, 32, dtype="mixed_float16")(np.zeros((1, 2051, 32), "float32"))
half = ops.convert_to_numpy(half)[0]
print("positions 2048 and 2049 differ:", bool((half[2048] != half[2049]).any()))

# %% [markdown]
# ## Exercises
#
# 1. Replace the base 10000 by 100. What happens to the product of encodings over 200 positions?
# 2. `LearntPositionalEncoding(60, 32)` learns a vector a position. What does it say to a sequence
#    of 61 steps, and why can the sinusoids take it?
# 3. A sine and a cosine of each angle: show that with the sines alone a shift is no linear map.
#
# Answers: [answers.ipynb](answers.ipynb).
