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
# # 8. Mixed precision
#
# Half of the bits, half of the memory, and on a GPU several times the speed; but only if nothing
# overflows. We see what the formats can hold, where a Transformer would break, and train one in
# each. Runs in about a minute. On a CPU half precision is slower: the lesson is about the numbers.

# %%
# %matplotlib inline
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from keras import ops

import kerastrans
from kerastrans import CachedMultiHeadAttention
from kerastrans.data import random_sequences, teacher_forcing_pairs

keras.utils.set_random_seed(0)

# %% [markdown]
# ## Three formats
#
# float16 has precision and little range, bfloat16 has the range of float32 and little precision.

# %%
table = pd.DataFrame(
    {
        "float32": [np.finfo("float32").max, np.finfo("float32").tiny, 2.0**-23],
        "float16": [np.finfo("float16").max, np.finfo("float16").tiny, 2.0**-10],
        "bfloat16": [2.0**127 * (2 - 2.0**-7), 2.0**-126, 2.0**-7],
    },
    index=["largest number", "smallest normal number", "step at 1"],
)
table.map("{:.2g}".format)

# %% [markdown]
# ## Where it would break
#
# A common way to hide a score is to add -1e9 to it. In float16 that is minus infinity, and the
# softmax of a row of minus infinities is not a number. `CachedMultiHeadAttention` computes scores
# and softmax in float32 and gives a query that sees nothing a weight of zero.

# %%
with np.errstate(over="ignore", invalid="ignore"):
    hidden = np.full(3, -1e9).astype("float16")
    row = np.exp(hidden - hidden.max())
    print("-1e9 in float16:", hidden[0], "softmax of a hidden row:", row / row.sum())

layer = CachedMultiHeadAttention(num_heads=2, key_dim=8, dtype="mixed_float16")
nothing = np.zeros((1, 4), bool)
seen = layer(np.ones((1, 4, 16), "float32"), padding_mask=nothing)
print("kerastrans:", ops.convert_to_numpy(seen)[0, 0, :4], seen.dtype)

# %% [markdown]
# ## A policy for the whole model
#
# Under `mixed_float16` layers compute in float16 and keep their weights in float32. Keras scales
# the loss, so that small gradients do not vanish. The two ends of our models, where the data's own
# values pass, stay in float32.

# %%
LENGTH, CHANNELS = 6, 12
EPOCHS = 8
train, test = (
    random_sequences(2000, LENGTH, CHANNELS, 0),
    random_sequences(500, LENGTH, CHANNELS, 1),
)
inputs, targets = teacher_forcing_pairs(train, start_token=0.0)

curves, errors = {}, {}
for policy in ("float32", "mixed_bfloat16", "mixed_float16"):
    keras.config.set_dtype_policy(policy)
    keras.utils.set_random_seed(0)
    model = kerastrans.build_transformer_model(
        (LENGTH, CHANNELS),
        num_heads=4,
        key_dim=16,
        ff_dim=128,
        num_encoder_blocks=1,
        num_decoder_blocks=1,
        dropout=0.0,
        d_model=64,
    )
    optimizer = keras.optimizers.Adam(2e-3)
    if policy == "mixed_float16":
        optimizer = keras.optimizers.LossScaleOptimizer(optimizer)
    model.compile(optimizer, "mse")
    fit = {"epochs": EPOCHS, "batch_size": 64, "verbose": 0}
    curves[policy] = model.fit([train, inputs], targets, **fit).history["loss"]
    said = model.generate(test, LENGTH, start_token=0.0)
    errors[policy] = float(np.mean((said - test) ** 2))
keras.config.set_dtype_policy("float32")

figure, panel = plt.subplots(figsize=(7, 3.4), layout="constrained")
styles = {"float32": "-", "mixed_bfloat16": "--", "mixed_float16": ":"}
for name, losses in curves.items():
    panel.plot(np.arange(1, EPOCHS + 1), losses, styles[name], lw=2, label=name)
panel.set_yscale("log")
panel.set_xlabel("epoch")
panel.set_ylabel("training error (MSE)")
panel.legend(frameon=False)
plt.show()
for name, error in errors.items():
    print(f"{name:>15}: error of what it generates {error:.4f}")

# %% [markdown]
# The three curves lie on each other, and the errors agree: the weights, the ends of the model and
# the softmax are in float32 all the time.
#
# ## Long sequences
#
# Rounding could add up when each step is fed back. It does not drift apart here: a model in half
# precision against the same weights in float32, over 200 steps.

# %%
weights = model.get_weights()
full = kerastrans.build_transformer_model(
    (LENGTH, CHANNELS),
    num_heads=4,
    key_dim=16,
    ff_dim=128,
    num_encoder_blocks=1,
    num_decoder_blocks=1,
    dropout=0.0,
    d_model=64,
)
full.set_weights(weights)
gap = np.abs(model.generate(test[:8], 200, 0.0) - full.generate(test[:8], 200, 0.0))
scale = np.abs(full.generate(test[:8], 200, 0.0)).mean()
for steps in (1, 10, 50, 200):
    print(
        f"first {steps:>3} steps: mean difference {gap[:, :steps].mean() / scale:.2%} of the values"
    )

# %% [markdown]
# ## Exercises
#
# 1. Build the positional encoding under `mixed_float16` with 3,000 steps. Do neighbours stay apart?
# 2. Take away the scaling of the loss. What happens to gradients below 6e-8?
# 3. Which layers of `build_transformer_model` keep float32? `model.summary()` does not tell; their
#    `compute_dtype` does.
#
# Answers: [answers.ipynb](answers.ipynb).
