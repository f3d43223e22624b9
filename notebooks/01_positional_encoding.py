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
# # 1. Positional encoding: an order for attention
#
# Attention looks at a sequence as a bag: it compares every step with every other one and does not
# know which came first. Before we add positions, let us see that this is so. The lesson runs in
# seconds.

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

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import matplotlib.pyplot as plt
import numpy as np
from keras import ops

import kerastrans
from kerastrans import PositionalEncoding, plotting

keras.utils.set_random_seed(0)
random = np.random.default_rng(0)

# %% [markdown]
# ## Attention by itself does not know the order
#
# We shuffle eight steps and pass them through Keras's own attention layer, with the steps as
# queries, keys and values ([lesson 2](02_attention.ipynb) takes it apart). <!-- claim: bag -->
# The result is the same eight vectors, shuffled in the same way; the difference is rounding. With
# positions added to the steps, the order matters.

# %%
steps = random.standard_normal((1, 8, 32)).astype("float32")
order = random.permutation(8)
attention = keras.layers.MultiHeadAttention(num_heads=4, key_dim=8)
positions = PositionalEncoding(None, 32)


def effect_of_order(prepare):
    """Largest change of a step's result when the steps are shuffled."""
    plain, shuffled = (prepare(x) for x in (steps, steps[:, order]))
    plain, shuffled = (ops.convert_to_numpy(attention(x, x)) for x in (plain, shuffled))
    return np.abs(shuffled - plain[:, order]).max()


without, added = effect_of_order(ops.convert_to_tensor), effect_of_order(positions)
print(f"without positions: {without:.1e}, with positions: {added:.1e}")
assert without < 1e-5 < 0.1 < added  # claim: bag

# %% [markdown]
# ## Sinusoids of many wavelengths
#
# Position $p$ gets a vector whose columns come in pairs, a sine and a cosine of the same angle
# (Vaswani et al., 2017, section 3.5):
#
# $$e_{p,2i} = \sin\frac{p}{10000^{2i/d}}, \qquad e_{p,2i+1} = \cos\frac{p}{10000^{2i/d}}.$$
#
# In NumPy these are three lines. The layer adds the same numbers to its inputs, so zeros show them.
# For a width of 4 and the first two positions you can check them in your head: sin 0, cos 0, and
# the sine and cosine of 1 and of 1 / 100.


# %%
def by_hand(length, dim):
    angles = np.arange(length)[:, None] / 10000 ** (np.arange(0, dim, 2) / dim)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(length, dim)


print(by_hand(3, 4).round(4))
encoding = ops.convert_to_numpy(PositionalEncoding(None, 32)(np.zeros((1, 60, 32), "float32")))[0]
print(encoding.shape, f"largest difference: {np.abs(encoding - by_hand(60, 32)).max():.1e}")

# %%
# Alt text: Left, four columns of the encoding as waves over 60 positions, two fast and two slower;
# right, all 32 columns as a heat map, with stripes that become wider to the right.
plotting.positional_encoding(encoding, columns=(6, 7, 8, 9))

# %% [markdown]
# Left: neighbouring columns are the same wave, a quarter of a turn apart; the next pair is slower.
# Right: fast columns distinguish neighbours, slow ones give the place in the sequence. The digits
# of a counter do the same: the last digit changes at every step, the first hardly ever.
#
# ## Distance is a rotation
#
# Moving by $k$ positions turns each pair of columns by an angle that does not depend on the start.
# So the product of two encodings depends only on their distance, and a linear layer can find "three
# steps ago". <!-- claim: distance --> For a width of 4, all neighbours have the product 1.5403, and
# all positions two steps apart have 0.5837.

# %%
small = by_hand(6, 4)
neighbours, two_apart = ((small[k:] * small[:-k]).sum(axis=1) for k in (1, 2))
print(neighbours.round(4), two_apart.round(4))
assert np.allclose(neighbours, 1.5403, atol=1e-4)  # claim: distance
assert np.allclose(two_apart, 0.5837, atol=1e-4)  # claim: distance

long = by_hand(200, 32)
products = long @ long.T
# Alt text: Three curves of products of two encodings over their distance, which coincide: a peak of
# 16 at distance 0, and the same slopes on both sides.
figure, panel = plt.subplots(figsize=(7, 3.2), layout="constrained")
for start in (40, 80, 120):
    panel.plot(np.arange(-30, 31), products[start, start - 30 : start + 31], lw=4 - start / 40)
panel.set_xlabel("distance [steps]")
panel.set_ylabel("product of two encodings")
panel.legend([f"from position {start}" for start in (40, 80, 120)], frameon=False)
plt.show()

# %% [markdown]
# The three curves coincide. Nothing was learnt here, and there is no maximum length: with
# `max_len=None` the layer encodes any position, also beyond the lengths of training.
#
# ## The base
#
# <!-- claim: wavelengths --> The slowest pair of a width of 32 turns once in 35,333 steps; with a
# base of 100 instead of 10,000 it turns once in 471. Do positions look alike again after that?
# <!-- claim: not soon --> Not soon: the other pairs are then at other angles, and up to 3,000 steps
# no product exceeds 8, half of the 16 that a position has with itself. <!-- claim: later --> Much
# later some do: a sum of cosines comes back as near to its start as you like. Up to a million steps
# the largest product is 12.04, at 635,613.

# %%
slowest = {base: 2 * np.pi * base ** (30 / 32) for base in (10_000, 100)}
print({base: round(steps) for base, steps in slowest.items()})
assert round(slowest[10_000]) == 35_333  # claim: wavelengths
assert round(slowest[100]) == 471  # claim: wavelengths
distances = np.arange(1_000_001)
# With position 0 the product is cos a cos 0 + sin a sin 0 for each pair.
products = sum(np.cos(distances / 100 ** (column / 32)) for column in range(0, 32, 2))
print(f"largest product at distances from 471 to 3,000: {products[471:3001].max():.2f} of 16")
largest = 471 + products[471:].argmax()
print(f"up to a million: {products[largest]:.2f}, at {largest:,}")
assert products[471:3001].max() < 8  # claim: not soon
assert round(products[largest], 2) == 12.04  # claim: later
assert largest == 635_613  # claim: later

# %% [markdown]
# ## Other ways to encode positions
#
# - A **learnt table** has one vector per position (`LearntPositionalEncoding`). It has a maximum
#   length, since a position that was never trained has no vector (exercise 1.2).
# - A **rotary encoding** (`keras_hub` and `kerastrans.layers` call it `RotaryEmbedding`) adds
#   nothing to the steps. It rotates queries and keys by an angle that grows with the position, so
#   that distance is a rotation here as well. <!-- claim: rotary --> The score of a query and a key
#   stays the same if both move by ten steps, and changes if only one of them moves.
# - A **relative bias** (`kerastrans.layers.RelativePositionBias`) adds a learnt number to each
#   score, one for each distance, or for a range of long ones.

# %%
rotary = kerastrans.layers.RotaryEmbedding()
query, key = random.standard_normal((2, 32)).astype("float32")


def score(query_position, key_position):
    """Product of the query and the key, each rotated to its position."""
    turned = [
        ops.convert_to_numpy(rotary(x.reshape(1, 1, 1, 32), start_index=position)).ravel()
        for x, position in ((query, query_position), (key, key_position))
    ]
    return float(turned[0] @ turned[1])


print([round(score(*positions), 4) for positions in ((5, 2), (15, 12), (15, 2))])
assert abs(score(15, 12) - score(5, 2)) < 1e-4  # claim: rotary
assert abs(score(15, 2) - score(5, 2)) > 0.1  # claim: rotary

# %% [markdown]
# ## What goes wrong in practice
#
# Two common bugs, and how the layer avoids them. An odd width has one more sine than cosines.
# <!-- claim: half --> Positions in half precision coincide: beyond 2048, float16 counts in twos.
# The layer computes angles in float32, whatever the dtype of its inputs.

# %%
odd = PositionalEncoding(None, 5)(np.zeros((1, 3, 5), "float32"))
print("odd width:", odd.shape)
print("float16 of 2049 is", np.float16(2049))
half = PositionalEncoding(None, 32, dtype="mixed_float16")(np.zeros((1, 2051, 32), "float32"))
half = ops.convert_to_numpy(half)[0]
print("positions 2048 and 2049 differ:", bool((half[2048] != half[2049]).any()))
assert np.float16(2049) == 2048  # claim: half
assert (half[2048] != half[2049]).any()  # claim: half

# %% [markdown]
# ## Exercises
#
# Replace `...` by your answer and run the cell. `kerastrans.lessons.hint("1.1")` helps, in three
# steps. Solutions: [answers.ipynb](answers.ipynb).

# %% [markdown]
# **1.1** Return the sinusoidal encodings (length, dim) for any base and even dim.


# %%
def encoding(length, dim, base):
    return ...


kerastrans.lessons.check("1.1", encoding)

# %% [markdown]
# **1.2** Return the first `length` rows of a learnt table; raise an error if there are fewer.
# ValueError, IndexError and a failed assert are accepted.


# %%
def lookup(table, length):
    return ...


kerastrans.lessons.check("1.2", lookup)

# %% [markdown]
# **1.3** Return M (dim, dim) with encoding[p] @ M = encoding[p + steps] for every p.


# %%
def shift_matrix(dim, steps):
    return ...


kerastrans.lessons.check("1.3", shift_matrix)
