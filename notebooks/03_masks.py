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
# A mask does that: one boolean a pair of steps. Turned round by mistake it hides the past and shows
# the future, and the training error does not tell. We make the mistake, and measure it. Runs in
# about a minute.

# %%
# %matplotlib inline
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from keras import layers, ops

from kerastrans import (
    CachedMultiHeadAttention,
    PositionalEncoding,
    combine_masks,
    create_look_ahead_mask,
    create_padding_mask,
)
from kerastrans.data import random_sequences, teacher_forcing_pairs
from kerastrans.models.parts.sublayers import add_norm, position_wise_ffn

keras.utils.set_random_seed(0)

# %% [markdown]
# ## One meaning: True may be attended to
#
# Keras reads masks that way, and so does everything here. The look-ahead mask is a lower triangle;
# the padding mask is True where there is data; together they are combined by "and".

# %%
look_ahead = create_look_ahead_mask(5)
padding = create_padding_mask(np.array([3]), 5)
print(ops.convert_to_numpy(look_ahead).astype(int))
print("padding:", ops.convert_to_numpy(padding).astype(int))
print(ops.convert_to_numpy(combine_masks(look_ahead, padding)).astype(int))

# %% [markdown]
# ## The mistake
#
# Some texts mark what is *hidden* with 1 (the sources of this lesson do) and hand that to a layer
# that reads 1 as *visible*. The decoder then sees only what comes later. Here is a small
# encoder-decoder for the copy task, in which the mask is an argument: repeat six steps of twelve
# random numbers.

# %%
LENGTH, CHANNELS, D_MODEL = 6, 12, 64


def build(mask):
    """One encoder and one decoder block; `mask` is what the decoder's self-attention obeys."""
    history = keras.Input((LENGTH, CHANNELS))
    shifted = keras.Input((LENGTH, CHANNELS))

    def embed(x):
        return PositionalEncoding(LENGTH, D_MODEL)(layers.Dense(D_MODEL)(x))

    def attention():
        return CachedMultiHeadAttention(num_heads=4, key_dim=16)

    def feed_forward(x):
        return position_wise_ffn(x, 128)

    memory = add_norm(add_norm(embed(history), attention()), feed_forward)
    self_attention, cross_attention = attention(), attention()
    x = add_norm(embed(shifted), lambda x: self_attention(x, attention_mask=mask))
    x = add_norm(x, lambda x: cross_attention(x, memory))
    outputs = layers.Dense(CHANNELS)(add_norm(x, feed_forward))
    return keras.Model([history, shifted], outputs)


visible = create_look_ahead_mask(LENGTH)
inverted = ops.logical_not(visible)
train, test = (
    random_sequences(3000, LENGTH, CHANNELS, 0),
    random_sequences(500, LENGTH, CHANNELS, 1),
)


def generate(model, sequences):
    """Step by step, each output the next input: what a forecast has to do."""
    shifted = np.zeros_like(sequences)
    for step in range(LENGTH):
        outputs = ops.convert_to_numpy(model([sequences, shifted]))
        if step + 1 < LENGTH:
            shifted[:, step + 1] = outputs[:, step]
    return outputs


class GeneratedError(keras.callbacks.Callback):
    """After every epoch, the error of what the model generates from its own outputs."""

    def __init__(self):
        super().__init__()
        self.errors = []

    def on_epoch_end(self, epoch, logs=None):
        self.errors.append(float(np.mean((generate(self.model, test) - test) ** 2)))


def run(mask):
    keras.utils.set_random_seed(0)
    model = build(mask)
    model.compile(keras.optimizers.Adam(2e-3), "mse")
    inputs, targets = teacher_forcing_pairs(train, start_token=0.0)
    seen, wanted = teacher_forcing_pairs(test, start_token=0.0)
    generated = GeneratedError()
    history = model.fit(
        [train, inputs],
        targets,
        validation_data=([test, seen], wanted),
        epochs=12,
        batch_size=64,
        verbose=0,
        callbacks=[generated],
    ).history
    return {"teacher-forced": history["val_loss"], "generated": generated.errors}


curves = {"correct mask": run(visible), "inverted mask": run(inverted)}

# %%
figure, panel = plt.subplots(figsize=(8, 3.6), layout="constrained")
for (name, errors), colour in zip(curves.items(), ("#2e86ab", "#d1495b"), strict=True):
    for (kind, values), style in zip(errors.items(), ("--", "-"), strict=True):
        epochs = np.arange(1, len(values) + 1)
        panel.plot(epochs, values, style, color=colour, label=f"{name}, {kind}")
panel.axhline(1, color="#888888", lw=0.8, ls=":")
panel.annotate("variance of the data", (1, 1.03), color="#666666", fontsize=9)
panel.set_ylim(-0.05, 1.6)
panel.set_xlabel("epoch")
panel.set_ylabel("mean squared error")
panel.legend(frameon=False, loc="upper right", ncols=2)
plt.show()
pd.DataFrame({name: {k: v[-1] for k, v in e.items()} for name, e in curves.items()}).round(4)

# %% [markdown]
# Under teacher forcing the inverted model looks as if it learnt: its inputs are the true values
# moved by one step, so the step *after* the current one in its input holds the answer itself. When
# it has to generate, there is nothing after it yet, and its error is most of the variance of the
# data. **Judge a decoder by what it generates, never by its teacher-forced error alone.**
#
# The same comparison with the sources' two blocks and 40 epochs was measured when this project
# began: teacher-forced 0.30 and generated 0.98 with the inverted mask, 0.004 and 0.004 with the
# right one.
#
# ## A test that would have found it
#
# Causality can be tested without training: change a later input, and no earlier output may move.


# %%
def leaks(mask):
    """The largest change of the first three outputs when later inputs change."""
    model = build(mask)
    shifted = train[:4].copy()
    before = ops.convert_to_numpy(model([train[:4], shifted]))
    shifted[:, 3:] += 1
    after = ops.convert_to_numpy(model([train[:4], shifted]))
    return float(np.abs(after - before)[:, :3].max())


print(f"correct mask: {leaks(visible):.1e}, inverted mask: {leaks(inverted):.1e}")

# %% [markdown]
# ## Exercises
#
# 1. Leave the mask out altogether. Is that better or worse than the inverted one?
# 2. The last step of the inverted mask sees nothing. What does `CachedMultiHeadAttention` give it?
# 3. Hide everything but the step itself and the two before it. What can such a decoder still learn?
#
# Answers: [answers.ipynb](answers.ipynb).
