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
# # 2. Attention by hand
#
# Scaled dot-product attention in five lines of NumPy, then with many heads, then as the layers of
# Keras and kerastrans compute it. The lesson runs in seconds.
#
# ## Why attention at all?
#
# A model of a sequence has to carry information from one step to another. The table compares three
# ways for $n$ steps of width $d$ (Vaswani et al., 2017, table 1). The path is the number of layers
# that a value passes between the two ends of the sequence; a long path is hard to learn.
#
# | layer | arithmetic | steps in a row | longest path |
# |---|---|---|---|
# | recurrent | $n d^2$ | $n$ | $n$ |
# | convolution of width $k$ | $k n d^2$ | 1 | $n / k$, or $\log_k n$ if dilated |
# | self-attention | $n^2 d$ | 1 | 1 |
#
# The table counts by orders of magnitude; [lesson 4b](04b_what_each_part_is_worth.ipynb) counts the
# layers.

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
from kerastrans import CachedMultiHeadAttention, create_padding_mask, plotting

keras.utils.set_random_seed(0)
random = np.random.default_rng(0)


# %% [markdown]
# ## One head
#
# Each step asks a question, the *query*: what am I looking for? Each step also has a *key*: what do
# I offer? And a *value*: what do I hand over? A query is compared with every key. The softmax of
# the scores gives weights that sum to 1, and the result is the weighted mean of the values
# (Vaswani et al., 2017, equation 1):
#
# $$\mathrm{attention}(Q, K, V) = \mathrm{softmax}\left(\frac{QK^\top}{\sqrt d}\right) V.$$
#
# ![One head: the inputs are projected to queries, keys and values; the products of queries and keys
# are divided by the root of key_dim, masked, and turned into weights by a softmax; the output is
# the weighted sum of the values.](../docs/images/lessons/head.svg)


# %%
def softmax(scores):
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def attend(queries, keys, values):
    weights = softmax(queries @ np.swapaxes(keys, -1, -2) / queries.shape[-1] ** 0.5)
    return weights @ values, weights


queries, keys, values = (random.standard_normal((n, 8)) for n in (3, 5, 5))
result, weights = attend(queries, keys, values)
print("result", result.shape, "weights", weights.shape, "rows sum to", weights.sum(axis=1))

# %% [markdown]
# ## An example that you can compute in your head
#
# The keys are ten times unit vectors, so a query of 0, 0, 10 matches the third and the fourth key
# equally well and the others not at all: <!-- claim: worked --> its weights are 0, 0, 1/2, 1/2.
# Its result is the mean of the last two values, [550, 5.5]. The second query matches only the
# second key and returns its value, [10, 0]; the third returns the mean of the first two, [5.5, 0].

# %%
queries = np.array([[0, 0, 10], [0, 10, 0], [10, 10, 0]])
keys = np.array([[10, 0, 0], [0, 10, 0], [0, 0, 10], [0, 0, 10]])
values = np.array([[1, 0], [10, 0], [100, 5], [1000, 6]])
result, weights = attend(queries, keys, values)
print(weights.round(3))
print(result.round(3))
assert np.allclose(weights[0], [0, 0, 1 / 2, 1 / 2])  # claim: worked
assert np.allclose(result, [[550, 5.5], [10, 0], [5.5, 0]])  # claim: worked

# %% [markdown]
# Two heads cut the width of queries, keys and values in two, and attend separately. Each head then
# looks at other keys. <!-- claim: heads --> The same three queries, with a fourth column, return
# 277.75, 10 and 5.5 from the first head and 3.67, 2.75 and 2.75 from the second.

# %%
queries = np.array([[0, 0, 10, 10], [0, 10, 0, 0], [10, 10, 0, 0]])
keys = np.array([[10, 0, 0, 0], [0, 10, 0, 10], [0, 0, 10, 0], [0, 0, 10, 0]])


def two_heads(x):
    return x.reshape(len(x), 2, -1).swapaxes(0, 1)  # (heads, steps, width / 2)


result, weights = attend(*map(two_heads, (queries, keys, values)))
print(weights.round(2))
result = result.swapaxes(0, 1).reshape(3, 2)
print(result.round(2))
expected = [[277.75, 3.6667], [10, 2.75], [5.5, 2.75]]
assert np.allclose(result, expected, atol=1e-4)  # claim: heads

# %% [markdown]
# ## Queries, keys and values of different lengths and widths
#
# Queries, keys and values are projections of their inputs, each by its own matrix. If all inputs
# are the same sequence, this is *self-attention*; if keys and values come from another sequence, it
# is *cross-attention*. Only two sizes have to agree: queries and keys have the same width, since
# they are multiplied, and there are as many values as keys.
#
# | input | projection | result |
# |---|---|---|
# | $X_q$ (query steps, query width) | $W_q$ (query width, key_dim) | $Q$ (query steps, key_dim) |
# | $X_k$ (key steps, key width) | $W_k$ (key width, key_dim) | $K$ (key steps, key_dim) |
# | $X_v$ (key steps, value width) | $W_v$ (value width, value_dim) | $V$ (key steps, value_dim) |
# | $Q$, $K$, $V$ | attention | (query steps, value_dim) |

# %%
inputs = {"query": (5, 7), "key": (10, 6), "value": (10, 4)}  # (steps, width)
query, key, value = (
    random.standard_normal((1, *shape)).astype("float32") for shape in inputs.values()
)
layer = CachedMultiHeadAttention(num_heads=1, key_dim=3, value_dim=2, output_shape=9)
print("result", layer(query, value, key).shape)
for weight in layer.weights:
    print(weight.path.partition("/")[2], weight.shape)

# %% [markdown]
# ## Why divide by the root of d?
#
# A product of two vectors of $d$ standard normal entries has a standard deviation of $\sqrt d$.
# Without the division, scores grow with the width, and the softmax of large scores puts nearly all
# weight on one key. The left curve shows how many of 50 keys a query effectively looks at (the
# exponential of the entropy of its weights). <!-- claim: scale --> Scaled, it is between 28 and 45
# at every width; unscaled, it falls below 2 from a width of 128 on. <!-- claim: gradient --> There
# the gradient of the softmax vanishes too (right): at a width of 1,024 it is less than a tenth of
# the scaled one, and a head learns slowly where to look.

# %%
widths = 2 ** np.arange(0, 11)
effective = {"scaled": [], "not scaled": []}
gradients = {"scaled": [], "not scaled": []}
for d in widths:
    scores = random.standard_normal((200, d)) @ random.standard_normal((50, d)).T
    for name, scale in (("scaled", d**0.5), ("not scaled", 1)):
        w = softmax(scores / scale)
        entropies = -(w * np.log(w + 1e-300)).sum(axis=1)
        effective[name].append(np.exp(entropies).mean())
        gradients[name].append((w * (1 - w)).sum(axis=1).mean())  # of each weight by its own score
# Alt text: Left, the number of keys looked at stays near 30 to 45 for scaled scores and falls to 1
# as the width grows for unscaled ones; right, the gradient of the softmax stays for scaled scores
# and vanishes for unscaled ones.
figure, panels = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
for panel, curves, label in (
    (panels[0], effective, "keys looked at, of 50"),
    (panels[1], gradients, "gradient of the softmax"),
):
    for name, values in curves.items():
        panel.plot(widths, values, "o-", label=name)
    panel.set_xscale("log", base=2)
    panel.set_xlabel("width d of queries and keys")
    panel.set_ylabel(label)
panels[0].legend(frameon=False)
plt.show()
assert 28 < min(effective["scaled"]) < max(effective["scaled"]) < 45  # claim: scale
assert max(np.array(effective["not scaled"])[widths >= 128]) < 2  # claim: scale
assert gradients["not scaled"][-1] < gradients["scaled"][-1] / 10  # claim: gradient

# %% [markdown]
# ## Another way to score
#
# The product is not the only possible score. *Additive attention* (Bahdanau et al., 2015) is older:
# a small network with weights $W_q$, $W_k$ and $v$ compares each query $q$ with each key $k$,
#
# $$\mathrm{score}(q, k) = v^\top \tanh(W_q q + W_k k).$$
#
# In code a query is a row, so that `queries @ w_query` projects all of them. Queries and keys may
# have different widths. The price is a vector for each pair of a query and a key, where the product
# needs one number; [the answers](answers.ipynb) measure it. Exercise 2.3 asks for this score.

# %% [markdown]
# ## Many heads, and the layers
#
# Each head is attention over its own projections. Four heads of width 8 are one projection to 32,
# cut in four; a last projection mixes the results of the heads. We take the weights out of a layer,
# compute its result by hand, and let Keras's own layer do the same. <!-- claim: layers --> The
# three results are equal up to rounding.
#
# ![Four heads: the inputs are projected to queries, keys and values of width 32, each head attends
# with eight of their columns, the results are joined to width 32 again, and an output projection
# mixes them.](../docs/images/lessons/heads.svg)

# %%
HEADS, KEY_DIM = 4, 8
x = random.standard_normal((1, 6, 32)).astype("float32")
layer = CachedMultiHeadAttention(num_heads=HEADS, key_dim=KEY_DIM)
from_layer = ops.convert_to_numpy(layer(x))
arrays = layer.get_weights()  # kernel and bias of query, key, value and output


def split(projected):
    return projected.reshape(-1, HEADS, KEY_DIM).swapaxes(0, 1)  # (heads, steps, key_dim)


q, k, v = (split(x[0] @ arrays[2 * i] + arrays[2 * i + 1]) for i in range(3))
heads, weights = attend(q, k, v)
by_hand = heads.swapaxes(0, 1).reshape(-1, HEADS * KEY_DIM) @ arrays[6] + arrays[7]

keras_layer = keras.layers.MultiHeadAttention(HEADS, KEY_DIM)
keras_layer.build(x.shape, x.shape)
keras_layer.set_weights(
    [array.reshape(w.shape) for array, w in zip(arrays, keras_layer.weights, strict=True)]
)
from_keras = ops.convert_to_numpy(keras_layer(x, x))

print(f"kerastrans - by hand: {np.abs(from_layer - by_hand).max():.1e}")
print(f"kerastrans - keras:   {np.abs(from_layer - from_keras).max():.1e}")
d, width = 32, HEADS * KEY_DIM
print("parameters:", layer.count_params(), "=", 3 * (d * width + width) + width * d + d)
assert np.abs(from_layer - by_hand).max() < 1e-5  # claim: layers
assert np.abs(from_layer - from_keras).max() < 1e-5  # claim: layers

# %% [markdown]
# ## Counting parameters
#
# Each projection from $a$ to $b$ columns has $(a + 1) b$ parameters, with its biases.
# <!-- claim: counts --> A layer of eight heads with a key_dim of 3 has 2,400 parameters for inputs
# of width 24. With a value_dim of 4 and an output of 32 it has 3,056. Change the sizes and predict
# the count before you run the cell; exercise 2.4 asks for the formula.

# %%
counts = []
for options in ({}, {"value_dim": 4, "output_shape": 32}):
    layer = CachedMultiHeadAttention(num_heads=8, key_dim=3, **options)
    steps = keras.Input((6, 24))
    model = keras.Model(steps, layer(steps))
    counts.append(model.count_params())
model.summary()
assert counts == [2400, 3056]  # claim: counts

# %% [markdown]
# Different heads attend to different steps; these are untrained, and do so by chance:

# %%
layer = CachedMultiHeadAttention(num_heads=HEADS, key_dim=KEY_DIM)
layer(x)
# Alt text: Four heat maps of six by six weights, one per untrained head, each with another
# irregular pattern.
plotting.attention_heatmaps(
    ops.convert_to_numpy(layer.attention_scores(x)),
    title="Four untrained heads",
    query_axis="query position [steps]",
    key_axis="key position [steps]",
)

# %% [markdown]
# ## Valid lengths
#
# Sequences of different lengths are padded to the same length. `create_padding_mask` turns valid
# lengths into a mask, one length per example or one per query. <!-- claim: hidden --> Hidden keys
# get a weight of exactly 0.

# %%
ones = np.ones((2, 4, 100), "float32")
memory = np.ones((2, 6, 100), "float32")
layer = CachedMultiHeadAttention(num_heads=5, key_dim=20)
per_example = create_padding_mask(np.array([3, 2]), 6)
print("output", layer(ones, memory, padding_mask=per_example).shape)
weights = ops.convert_to_numpy(layer.attention_scores(ones, memory, padding_mask=per_example))
print("example 0:", weights[0, 0, 0].round(3), "example 1:", weights[1, 0, 0].round(3))
assert (weights[0, :, :, 3:] == 0).all()  # claim: hidden
per_query = create_padding_mask(np.array([[1, 2, 3, 4], [6, 6, 6, 6]]), 6)
weights = ops.convert_to_numpy(layer.attention_scores(ones, memory, padding_mask=per_query))
weights[0, 0].round(2)

# %% [markdown]
# A block has three more kinds of parts: [lesson 2b](02b_inside_a_block.ipynb).

# %% [markdown]
# ## Exercises
#
# Replace `...` by your answer and run the cell. `kerastrans.lessons.hint("2.1")` helps, in three
# steps. Solutions: [answers.ipynb](answers.ipynb).

# %% [markdown]
# **2.1** Return scaled dot-product attention for a mask (queries, keys), True = visible.


# %%
def attention(queries, keys, values, mask):
    return ...


kerastrans.lessons.check("2.1", attention)

# %% [markdown]
# **2.2** Return the softmax over the visible keys; a row with no visible key is zeros.


# %%
def masked_softmax(scores, mask):
    return ...


kerastrans.lessons.check("2.2", masked_softmax)

# %% [markdown]
# **2.3** Return the additive scores (queries, keys) of Bahdanau et al. (2015).


# %%
def additive_scores(queries, keys, w_query, w_key, direction):
    return ...


kerastrans.lessons.check("2.3", additive_scores)

# %% [markdown]
# **2.4** Return the number of parameters of multi-head attention with biases.


# %%
def count_parameters(d_model, num_heads, key_dim, value_dim, output_dim):
    return ...


kerastrans.lessons.check("2.4", count_parameters)
