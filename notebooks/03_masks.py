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
# # 3. Masks, and what an inverted one does
#
# A decoder is trained on all steps at once, so each step must be kept from seeing those after it.
# A mask does that, with one boolean per pair of steps. Inverted by mistake, it hides the past and
# shows the future, and the training error does not reveal it. We make the mistake, measure it, and
# compare it with no mask at all. The lesson runs in about two minutes.

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
from keras import layers, ops

import kerastrans
from kerastrans import (
    CachedMultiHeadAttention,
    PositionalEncoding,
    combine_masks,
    create_look_ahead_mask,
    create_padding_mask,
    position_wise_ffn,
)
from kerastrans.data import random_sequences, teacher_forcing_pairs

keras.utils.set_random_seed(0)

# %% [markdown]
# ## One meaning: True may be attended to
#
# Keras reads masks in this way, and so does everything here. The look-ahead mask is a lower
# triangle; the padding mask is True at steps with data; `combine_masks` joins them by "and".
#
# ![Four masks of six steps as grids, filled where a query may attend to a key: look-ahead, padding,
# both, and an inverted look-ahead mask.](../docs/images/lessons/masks.svg)
#
# Inside the layer a hidden score becomes a large negative number before the softmax, so that its
# weight is 0. With $M = 1$ for hidden pairs, as many texts write it,
#
# $$\mathrm{attention}(Q, K, V) = \mathrm{softmax}\left(\frac{QK^\top}{\sqrt d} + M \cdot
# (-\infty)\right) V.$$
#
# <!-- claim: formula --> With -1e9 for minus infinity, the formula gives the weights of the layer.

# %%
look_ahead = create_look_ahead_mask(5)
print(ops.convert_to_numpy(look_ahead).astype(int))

layer = CachedMultiHeadAttention(num_heads=1, key_dim=4)
x = np.random.default_rng(0).standard_normal((1, 5, 4)).astype("float32")
weights = ops.convert_to_numpy(layer.attention_scores(x, attention_mask=look_ahead))[0, 0]
(query, bias_q), (key, bias_k) = (layer.get_weights()[i : i + 2] for i in (0, 2))
hidden = 1 - ops.convert_to_numpy(look_ahead)
scores = (x[0] @ query + bias_q) @ (x[0] @ key + bias_k).T / 4**0.5 + hidden * -1e9
by_hand = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
print("largest difference from the layer:", np.abs(by_hand - weights).max())
assert np.abs(by_hand - weights).max() < 1e-6  # claim: formula

# %% [markdown]
# ## Two masks, three axes
#
# A look-ahead mask has the axes (query, key): it is the same for all examples. A padding mask has
# the axes (batch, key): it is the same for all queries. To combine them, give the padding mask an
# axis of length 1 in place of the queries, `padding[:, None]`. The result is (batch, query, key),
# and a key is visible if both masks say so.
#
# What happens without that axis? Shapes are aligned from the right, so the batch meets the queries.
# If their lengths differ, there is an error, and you are lucky. <!-- claim: axis --> If there are
# as many examples as steps, as here, there is no error. The result has no axis for the batch, and
# its first row hides what is padding in the first example, its second row what is padding in the
# second one.

# %%
lengths = np.array([1, 2, 3, 4, 5])
padding = create_padding_mask(lengths, 5)
both = ops.convert_to_numpy(combine_masks(look_ahead, padding[:, None]))
wrong = ops.convert_to_numpy(combine_masks(look_ahead, padding))
print("look-ahead", look_ahead.shape, "padding", padding.shape, "both", both.shape)
print(both[2].astype(int))
print("without the axis:", wrong.shape)
assert both.shape == (5, 5, 5)  # claim: axis
assert (both.any(axis=1).sum(axis=1) == lengths).all()  # claim: axis
assert wrong.shape == (5, 5)  # claim: axis

# %% [markdown]
# ## The mistake
#
# Some texts mark *hidden* pairs with 1, and pass this mask to a layer that reads 1 as *visible*.
# The decoder then sees only later steps. Here is a small encoder-decoder whose mask is an argument.
# Its task is to repeat six steps of twelve random numbers.

# %%
LENGTH, CHANNELS, D_MODEL = 6, 12, 64


def add_norm(x, sublayer):
    """The residual connection of lesson 2b, with the normalisation before the sublayer."""
    return x + sublayer(layers.LayerNormalization()(x))


def build(mask):
    """One encoder and one decoder block; `mask` is that of the decoder's self-attention."""
    history = keras.Input((LENGTH, CHANNELS))
    shifted = keras.Input((LENGTH, CHANNELS))

    def embed(x):
        return PositionalEncoding(LENGTH, D_MODEL)(layers.Dense(D_MODEL)(x))

    def feed_forward(x):
        return position_wise_ffn(x, 128)

    attend, self_attend, cross_attend = (
        CachedMultiHeadAttention(num_heads=4, key_dim=16) for _ in range(3)
    )
    memory = add_norm(embed(history), attend)
    memory = add_norm(memory, feed_forward)
    x = add_norm(embed(shifted), lambda x: self_attend(x, attention_mask=mask))  # the mask
    x = add_norm(x, lambda x: cross_attend(x, memory))
    x = add_norm(x, feed_forward)
    return keras.Model([history, shifted], layers.Dense(CHANNELS)(x))


visible = create_look_ahead_mask(LENGTH)
inverted = ops.logical_not(visible)
train, test = (
    random_sequences(3000, LENGTH, CHANNELS, 0),
    random_sequences(500, LENGTH, CHANNELS, 1),
)


def generate(model, histories):
    """Step by step, each output the next input: what a forecast has to do."""
    shifted = np.zeros_like(histories)
    for step in range(LENGTH):
        outputs = ops.convert_to_numpy(model([histories, shifted]))
        if step + 1 < LENGTH:
            shifted[:, step + 1] = outputs[:, step]
    return outputs


class GeneratedError(keras.callbacks.Callback):
    """After every epoch, the error of what the model generates from its own outputs."""

    def __init__(self, histories):
        super().__init__()
        self.histories = histories
        self.errors = []

    def on_epoch_end(self, epoch, logs=None):
        generated = generate(self.model, self.histories)
        self.errors.append(float(np.mean((generated - test) ** 2)))


EPOCHS = 8
SEEDS = 3


def run(mask, histories=(train, test)):
    """Errors after each epoch, teacher-forced and generated: arrays (seeds, epochs)."""
    errors = {"teacher-forced": [], "generated": []}
    inputs, targets = teacher_forcing_pairs(train, start_token=0.0)
    validation = teacher_forcing_pairs(test, start_token=0.0)
    for seed in range(SEEDS):
        keras.utils.set_random_seed(seed)
        model = build(mask)
        model.compile(keras.optimizers.Adam(2e-3), "mse")
        generated = GeneratedError(histories[1])
        history = model.fit(
            [histories[0], inputs],
            targets,
            validation_data=([histories[1], validation[0]], validation[1]),
            epochs=EPOCHS,
            batch_size=64,
            verbose=0,
            callbacks=[generated],
        ).history
        errors["teacher-forced"].append(history["val_loss"])
        errors["generated"].append(generated.errors)
    return {kind: np.array(values) for kind, values in errors.items()}


curves = {"correct mask": run(visible)}

# %%
curves["inverted mask"] = run(inverted)

# %% [markdown]
# Before you run the next cell, predict its result: this is the first of the exercises.

# %% [markdown]
# **3.1** Predict the generated error without any mask, compared with the inverted one.

# %%
prediction = ...  # "larger", "much smaller", "the same"
kerastrans.lessons.check("3.1", prediction)

# %%
curves["no mask"] = run(None)

# %% [markdown]
# The lines are means over the seeds.

# %%
# Alt text: Errors over eight epochs: with the correct mask and with no mask both errors fall to
# almost zero, without a mask later; with the inverted mask the teacher-forced error falls and the
# generated error stays high.
figure, panel = plt.subplots(figsize=(8, 3.6), layout="constrained")
for (name, errors), colour in zip(curves.items(), ("#2e86ab", "#d1495b", "#edae49"), strict=True):
    for (kind, values), style in zip(errors.items(), ("--", "-"), strict=True):
        epochs = np.arange(1, EPOCHS + 1)
        panel.plot(epochs, values.mean(axis=0), style, color=colour, label=f"{name}, {kind}")
panel.axhline(1, color="#888888", lw=0.8, ls=":")
panel.annotate("variance of the data", (EPOCHS, 1.03), ha="right", color="#666666", fontsize=9)
panel.set_ylim(-0.05, 2)
panel.set_xlabel("epoch")
panel.set_ylabel("mean squared error")
panel.legend(frameon=False, loc="upper right", ncols=3, fontsize=8)
plt.show()
for name, errors in curves.items():
    print(f"{name}:", {kind: values[:, -1].round(4).tolist() for kind, values in errors.items()})
    print("    generated, after four epochs:", errors["generated"][:, min(EPOCHS, 4) - 1].round(3))
if SEEDS > 1:  # trained in full: bounds leave a margin of three standard deviations of the seeds

    def spread(errors):
        return 3 * errors.std(ddof=1)

    forced, generated = (errors[:, -1] for errors in curves["inverted mask"].values())
    assert forced.mean() + spread(forced) < 0.05  # claim: inverted
    assert generated.mean() - spread(generated) > 0.5  # claim: inverted
    unmasked = curves["no mask"]["generated"]
    assert unmasked[:, -1].mean() + spread(unmasked[:, -1]) < 0.5  # claim: no mask
    falls = unmasked[:, -1] / unmasked[:, 3]  # of eight epochs, the second four
    assert falls.mean() + spread(falls) < 0.5  # claim: no mask

# %% [markdown]
# <!-- claim: inverted --> Under teacher forcing the inverted model seems to learn: its inputs are
# the true values moved by one step, so the step *after* the current one in its input holds the
# answer itself. When it generates, there is nothing after the current step yet, and its error is
# more than half of the variance of the data, with each of three seeds. **Judge a decoder by what it
# generates, never by its teacher-forced error alone.**
#
# <!-- claim: no mask --> Without any mask the answer is visible as well, and yet this model learns
# to generate: its error is below half of the variance with each of three seeds and still falling,
# to less than half from the fourth epoch to the eighth. The last step has no answer to its right,
# so it has to find its value by cross-attention, and then the other steps can do the same. A leak
# is an opportunity, not a necessity.
#
# Do not rely on this. In a forecast the history does not hold the answer, and the leak is the only
# way to a small training error. We can imitate that: the histories are now other random numbers,
# which say nothing about the sequence. <!-- claim: unrelated --> Without a mask, the teacher-forced
# error falls below a third of the variance of the data, although there is nothing to learn. When
# the model generates, its error is above the variance with each of three seeds, so that it would be
# better to answer 0 every time.

# %%
unrelated = random_sequences(3000, LENGTH, CHANNELS, 2), random_sequences(500, LENGTH, CHANNELS, 3)
leaky = {kind: errors[:, -1] for kind, errors in run(None, unrelated).items()}
print({kind: errors.round(3).tolist() for kind, errors in leaky.items()})
if SEEDS > 1:
    forced, generated = leaky.values()
    assert forced.mean() + spread(forced) < 1 / 3  # claim: unrelated
    assert generated.mean() - spread(generated) > 1  # claim: unrelated

# %% [markdown]
# ## A test that would have found it
#
# Causality can be tested without training: change a later input, and no earlier output may change.
# <!-- claim: test --> The test finds the inverted mask and the missing one.


# %%
def leaks(mask):
    """The largest change of the first three outputs when later inputs change."""
    model = build(mask)
    shifted = train[:4].copy()
    before = ops.convert_to_numpy(model([train[:4], shifted]))
    shifted[:, 3:] += 1
    after = ops.convert_to_numpy(model([train[:4], shifted]))
    return float(np.abs(after - before)[:, :3].max())


print(f"correct: {leaks(visible):.1e}, inverted: {leaks(inverted):.1e}, none: {leaks(None):.1e}")
assert leaks(visible) < 1e-5  # claim: test
assert min(leaks(inverted), leaks(None)) > 0.1  # claim: test

# %% [markdown]
# ## Exercises
#
# Replace `...` by your answer and run the cell. `kerastrans.lessons.hint("3.1")` helps, in three
# steps. Solutions: [answers.ipynb](answers.ipynb).

# %% [markdown]
# **3.2** Return (batch, query, key): True for valid keys that are not later than the query.


# %%
def decoder_mask(lengths, size):
    return ...


kerastrans.lessons.check("3.2", decoder_mask)

# %% [markdown]
# **3.3** Return (query, key): True for the step itself and the width - 1 steps before it.


# %%
def window_mask(size, width):
    return ...


kerastrans.lessons.check("3.3", window_mask)

# %% [markdown]
# **3.4** Return True if an output of the model depends on a later input.


# %%
def sees_future(model, inputs):
    return ...


kerastrans.lessons.check("3.4", sees_future)
