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
# Half the bits: activations take half the memory, while the weights stay in float32. Nothing may
# overflow. We see what the formats can represent, where a Transformer would break, and train one in
# each. The lesson runs in about two minutes. It is about the numbers; speed depends on the device.

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
# The picture shows what a number becomes: the relative error of rounding, at each size.
# <!-- claim: rounding --> float16 is eight times as exact as bfloat16 for numbers of ordinary size,
# rounds numbers below 1e-8 to zero and numbers above 65,520 to infinity. bfloat16 keeps the same
# relative error over the whole range.

# %%
numbers = np.logspace(-10, 8, 20_000).astype("float32")
rounding = {
    name: np.abs(ops.convert_to_numpy(ops.cast(ops.cast(numbers, name), "float32")) / numbers - 1)
    for name in ("float16", "bfloat16")
}
ordinary = (numbers > 1e-3) & (numbers < 1e4)
largest = {name: errors[ordinary].max() for name, errors in rounding.items()}
assert 7.5 < largest["bfloat16"] / largest["float16"] < 8.5  # claim: rounding
assert (rounding["float16"][numbers < 1e-8] == 1).all()  # claim: rounding
assert np.isinf(rounding["float16"][numbers > 65_520]).all()  # claim: rounding
assert rounding["bfloat16"].max() < 2**-8  # claim: rounding

# Alt text: Relative error of rounding over the size of the number: float16 is lower between 1e-4
# and 65,504, rises to 1 below and is infinite above; bfloat16 stays the same everywhere.
figure, panel = plt.subplots(figsize=(7.5, 3.4), layout="constrained")
for name, errors in rounding.items():
    # Largest error among neighbours; infinite errors are drawn at 10.
    height = np.minimum(errors, 10).reshape(-1, 100).max(axis=1)
    panel.plot(numbers[::100], height, label=name)
panel.set_xscale("log")
panel.set_yscale("log")
panel.axhline(1, color="#888888", lw=0.8, ls=":")
panel.annotate("rounded to zero", (1e-10, 1.2))
panel.annotate("infinite", (1e6, 5))
panel.set_xlabel("size of the number")
panel.set_ylabel("relative error of rounding")
panel.legend(frameon=False)
plt.show()

# %% [markdown]
# ## Where it would break
#
# A common way to hide a score is to add -1e9 to it. <!-- claim: hidden --> In float16 this is minus
# infinity, and the softmax of a row of minus infinities is not a number. `CachedMultiHeadAttention`
# gives weights of zero to a query that sees nothing. <!-- claim: finite --> Its scores may exceed
# the largest float16 number, 65,504: the attention of inputs with a standard deviation of 1,000 is
# finite.

# %%
with np.errstate(over="ignore", invalid="ignore"):
    hidden = np.full(3, -1e9).astype("float16")
    row = np.exp(hidden - hidden.max())
    print("-1e9 in float16:", hidden[0], "softmax of a hidden row:", row / row.sum())

layer = CachedMultiHeadAttention(num_heads=2, key_dim=8, dtype="mixed_float16")
nothing = np.zeros((1, 4), bool)
seen = layer(np.ones((1, 4, 16), "float32"), padding_mask=nothing)
print("kerastrans:", ops.convert_to_numpy(seen)[0, 0, :4], seen.dtype)
assert np.isneginf(hidden).all()  # claim: hidden
assert np.isnan(row / row.sum()).all()  # claim: hidden
hidden_weights = layer.attention_scores(np.ones((1, 4, 16), "float32"), padding_mask=nothing)
assert not ops.convert_to_numpy(hidden_weights).any()  # claim: hidden

layer = CachedMultiHeadAttention(
    num_heads=1, key_dim=32, kernel_initializer="identity", dtype="mixed_float16"
)
large = np.random.default_rng(0).normal(0, 1000, (1, 6, 32)).astype("float32")
scores = large[0] @ large[0].T / 32**0.5
attended = ops.convert_to_numpy(layer(large))
print(f"largest score {scores.max():,.0f}, finite results: {np.isfinite(attended).all()}")
assert scores.max() > 65_504  # claim: finite
assert np.isfinite(attended).all()  # claim: finite

# %% [markdown]
# ## A policy for the whole model
#
# <!-- claim: policy --> Under `mixed_float16` layers compute in float16 and keep their weights in
# float32.
# <!-- claim: scaling --> `compile` then wraps the optimizer in a `LossScaleOptimizer`, so that
# small gradients do not vanish; `compile(..., auto_scale_loss=False)` leaves it out. The first and
# the last layers of our models stay in float32. <!-- claim: errors --> The generated errors of the
# three formats, means of three seeds, differ by less than a hundredth of the variance of the data,
# with a margin of three standard deviations of the seeds.

# %%
LENGTH, CHANNELS = 6, 12
EPOCHS = 8
SEEDS = 3
train, test = (
    random_sequences(2000, LENGTH, CHANNELS, 0),
    random_sequences(500, LENGTH, CHANNELS, 1),
)
inputs, targets = teacher_forcing_pairs(train, start_token=0.0)

errors = {}
for policy in ("float32", "mixed_bfloat16", "mixed_float16"):
    keras.config.set_dtype_policy(policy)
    of_seeds = []
    for seed in range(SEEDS):
        keras.utils.set_random_seed(seed)
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
        model.compile(keras.optimizers.Adam(2e-3), "mse")
        fit = {"epochs": EPOCHS, "batch_size": 64, "verbose": 0}
        model.fit([train, inputs], targets, **fit)
        generated = model.generate(test, LENGTH, start_token=0.0)
        of_seeds.append(np.mean((generated - test) ** 2))
    print(f"{policy:>15}: {type(model.optimizer).__name__}")
    errors[policy] = np.array(of_seeds)
keras.config.set_dtype_policy("float32")
assert type(model.optimizer).__name__ == "LossScaleOptimizer"  # claim: scaling
attention = next(x for x in model.layers if isinstance(x, CachedMultiHeadAttention))
assert attention.compute_dtype == "float16"  # claim: policy
assert {weight.dtype for weight in model.weights} == {"float32"}  # claim: policy

for name, of_seeds in errors.items():
    print(f"{name:>15}: generated errors {of_seeds.round(4)}")
if SEEDS > 1:  # trained in full
    means = [of_seeds.mean() for of_seeds in errors.values()]
    spread = max(of_seeds.std(ddof=1) for of_seeds in errors.values())
    assert max(means) - min(means) + 3 * spread < 0.01  # claim: errors

# %% [markdown]
# ## Rounding when outputs are fed back
#
# Rounding could add up when each step is fed back. <!-- claim: drift --> A model in half precision
# and the same weights in float32 generate the six steps of the task with a mean difference below 2
# % of the values, and the last step is no worse than five times the first.

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
reference = full.generate(test, LENGTH, 0.0)
gap = (
    np.abs(model.generate(test, LENGTH, 0.0) - reference).mean(axis=(0, 2))
    / np.abs(reference).mean()
)
print("mean difference at each step:", [f"{x:.2%}" for x in gap])
if EPOCHS > 2:
    assert gap.max() < 0.02  # claim: drift
    assert gap[-1] < 5 * gap[0]  # claim: drift

# %% [markdown]
# ## When a rounding decides
#
# Numbers that are fed back differ a little. A token is chosen or not: a rounding changes nothing,
# or a whole word. We give the same weights to a model of tokens in float32 and in half precision,
# and look at 64 sentences of 32 steps, given the same beginnings. <!-- claim: tokens --> The two
# choose another token at fewer than one step in fifty. <!-- claim: close --> At these steps, the
# two most probable tokens were nearly equal: the gap between their scores is less than a fifth of
# the median gap. From such a step on, a generated sentence can be another one, without being worse.

# %%
outputs = {}
for policy in ("float32", "mixed_float16"):
    keras.config.set_dtype_policy(policy)
    keras.utils.set_random_seed(0)
    words = kerastrans.build_seq2seq_transformer(
        200,
        200,
        d_model=32,
        num_heads=4,
        ff_dim=64,
        num_encoder_blocks=2,
        num_decoder_blocks=2,
        dropout=0.0,
    )
    tokens = np.random.default_rng(0).integers(4, 200, (64, 10 + 32))
    outputs[policy] = words.predict([tokens[:, :10], np.full(64, 10), tokens[:, 10:]], verbose=0)
keras.config.set_dtype_policy("float32")
differs = outputs["float32"].argmax(axis=-1) != outputs["mixed_float16"].argmax(axis=-1)
best_two = np.sort(outputs["float32"], axis=-1)[..., -2:]
gaps = best_two[..., 1] - best_two[..., 0]  # (sentences, steps)
print(f"another token at {differs.sum()} of {differs.size:,} steps")
print(f"largest gap there {gaps[differs].max():.4f}, median of all gaps {np.median(gaps):.4f}")
assert differs.any()  # claim: tokens
assert differs.mean() < 1 / 50  # claim: tokens
assert gaps[differs].max() < np.median(gaps) / 5  # claim: close

# %% [markdown]
# ## Exercises
#
# Replace `...` by your answer and run the cell. `kerastrans.lessons.hint("8.1")` helps, in three
# steps. Solutions: [answers.ipynb](answers.ipynb).

# %% [markdown]
# **8.1** Return sinusoidal encodings in float16; neighbours stay apart at any position.


# %%
def half_encoding(positions, dim):
    return ...


kerastrans.lessons.check("8.1", half_encoding)

# %% [markdown]
# **8.2** Send a gradient through float16 multiplied by scale, and return it unscaled in float32.


# %%
def unscaled_gradient(gradient, scale):
    return ...


kerastrans.lessons.check("8.2", unscaled_gradient)

# %% [markdown]
# **8.3** Return the names of the layers that compute in float32.


# %%
def float32_layers(model):
    return ...


kerastrans.lessons.check("8.3", float32_layers)
