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
# Keras and kerastrans compute it: the same numbers. Runs in seconds.

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
# A query asks every key how well they match. The softmax of the answers are weights that sum to 1,
# and the result is the weighted mean of the values (Vaswani et al., 2017, equation 1):
#
# $$\mathrm{attention}(Q, K, V) = \mathrm{softmax}\left(\frac{QK^\top}{\sqrt d}\right) V.$$


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
# ## Why divide by the root of d?
#
# A product of two vectors of $d$ standard normal entries has a standard deviation of $\sqrt d$.
# Unscaled, scores grow with the width, and the softmax of large scores puts everything on one key,
# where its gradient vanishes. The curve shows how many of 50 keys a query effectively looks at
# (the exponential of the entropy of its weights).

# %%
widths = 2 ** np.arange(0, 11)
effective = {"scaled": [], "not scaled": []}
for d in widths:
    scores = random.standard_normal((200, d)) @ random.standard_normal((50, d)).T
    for name, scale in (("scaled", d**0.5), ("not scaled", 1)):
        w = softmax(scores / scale)
        entropies = -(w * np.log(w + 1e-300)).sum(axis=1)
        effective[name].append(np.exp(entropies).mean())
figure, panel = plt.subplots(figsize=(7, 3.2), layout="constrained")
for name, counts in effective.items():
    panel.plot(widths, counts, "o-", label=name)
panel.set_xscale("log", base=2)
panel.set_xlabel("width d of queries and keys")
panel.set_ylabel("keys looked at, of 50")
panel.legend(frameon=False)
plt.show()

# %% [markdown]
# ## Many heads, and the layers
#
# A head is attention over a projection of its own. Four heads of width 8 are one projection to 32,
# cut in four; a last projection mixes what the heads found. We take the weights out of a layer and
# compute by hand what it computes, and let Keras's own layer do it too.

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

# %% [markdown]
# Different heads attend to different steps, here still by chance:

# %%
plotting.attention_heatmaps(
    ops.convert_to_numpy(layer.attention_scores(x)),
    title="Four untrained heads",
    query_axis="query position [steps]",
    key_axis="key position [steps]",
)

# %% [markdown]
# ## Valid lengths
#
# Sequences of different lengths are padded to one. `create_padding_mask` turns valid lengths into
# a mask, one length an example or one a query. Hidden keys get a weight of exactly 0.

# %%
ones = np.ones((2, 4, 100), "float32")
memory = np.ones((2, 6, 100), "float32")
layer = CachedMultiHeadAttention(num_heads=5, key_dim=20)
one_each = create_padding_mask(np.array([3, 2]), 6)
print("output", layer(ones, memory, padding_mask=one_each).shape)
weights = ops.convert_to_numpy(layer.attention_scores(ones, memory, padding_mask=one_each))
print("example 0:", weights[0, 0, 0].round(3), "example 1:", weights[1, 0, 0].round(3))
one_a_query = create_padding_mask(np.array([[1, 2, 3, 4], [6, 6, 6, 6]]), 6)
weights = ops.convert_to_numpy(layer.attention_scores(ones, memory, padding_mask=one_a_query))
weights[0, 0].round(2)

# %% [markdown]
# ## The other parts, on tensors of ones
#
# The blocks of the next lessons are functions; they take tensors as they take Keras's symbolic
# ones. Post-norm is the paper's order, pre-norm the one that trains more easily (Xiong et al.,
# 2020).

# %%
x = np.ones((2, 100, 24), "float32")
mask = create_padding_mask(np.array([3, 2]), 100)
encoded = kerastrans.transformer_encoder(
    x, num_heads=8, key_dim=3, ff_dim=48, dropout=0.5, norm="post", padding_mask=mask
)
decoded = kerastrans.transformer_decoder(
    x,
    encoded,
    num_heads=8,
    key_dim=3,
    ff_dim=48,
    dropout=0.5,
    norm="post",
    encoder_padding_mask=mask,
)
small = np.ones((2, 3, 4), "float32")
wider = kerastrans.position_wise_ffn(small, 4, output_dim=8)
print("feed-forward", wider.shape, "encoder", encoded.shape, "decoder", decoded.shape)

# %% [markdown]
# ## Exercises
#
# 1. Attention by addition scores a query and a key by $w^\top\tanh(W_q q + W_k k)$ (Bahdanau et
#    al., 2015). Write it in NumPy. What does it cost beside the dot product?
# 2. Which weights does a query have whose valid length is 0? Why is a uniform row worse than zeros?
# 3. Twice the heads of half the width: do parameters or arithmetic change?
#
# Answers: [answers.ipynb](answers.ipynb).
