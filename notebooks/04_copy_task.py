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
# # 4. Encoder, decoder, model: the copy task
#
# All parts together. The model reads six steps of twelve random numbers and says them again, one
# step at a time, each from what it said before. It is the smallest task that needs every part:
# cross-attention has to find the step, the positions have to say which, the mask has to keep the
# answer hidden. Runs in about a minute.

# %%
# %matplotlib inline
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import matplotlib.pyplot as plt
import numpy as np

import kerastrans
from kerastrans import plotting
from kerastrans.data import random_sequences, teacher_forcing_pairs

keras.utils.set_random_seed(0)
LENGTH, CHANNELS = 6, 12

# %% [markdown]
# ## The model
#
# `transformer_encoder` and `transformer_decoder` are functions from tensor to tensor, and
# `build_transformer_model` stacks them into a plain functional Keras model. Note `d_model`: each
# step of 12 values is projected to 64 numbers before its position is added. Without the projection
# the position would be added to the values themselves and destroy them.

# %%
model = kerastrans.build_transformer_model(
    input_shape=(LENGTH, CHANNELS),
    num_heads=4,
    key_dim=16,
    ff_dim=128,
    num_encoder_blocks=2,
    num_decoder_blocks=2,
    dropout=0.0,
    d_model=64,
)
print(f"{model.count_params():,} parameters in {len(model.layers)} layers")
for name in ("encoder_0", "decoder_0"):
    print(name, [layer.name for layer in model.layers if layer.name.startswith(name)])

# %% [markdown]
# ## Teacher forcing
#
# In training the decoder is shown the true values, moved by one step: a start token of zeros, then
# all but the last. All steps are learnt at once.

# %%
train = random_sequences(5000, LENGTH, CHANNELS, seed=0)
decoder_inputs, targets = teacher_forcing_pairs(train, start_token=0.0)
print(
    "decoder sees", decoder_inputs[0, :3, 0].round(2), "and is to say", targets[0, :3, 0].round(2)
)

rate = keras.optimizers.schedules.CosineDecay(2e-3, 14 * 79)
model.compile(keras.optimizers.Adam(rate), "mse")
history = model.fit([train, decoder_inputs], targets, epochs=14, batch_size=64, verbose=0).history
print(f"training error {history['loss'][0]:.3f} -> {history['loss'][-1]:.5f}")

# %% [markdown]
# ## Autoregression
#
# On sequences it has never seen, from the start token alone. `generate` compiles the whole loop.

# %%
test = random_sequences(1000, LENGTH, CHANNELS, seed=1)
said = model.generate(test, LENGTH, start_token=0.0)
print(f"mean squared error of what is generated: {np.mean((said - test) ** 2):.5f} (variance: 1)")

figure, panels = plt.subplots(2, 1, figsize=(8, 4.2), sharex=True, layout="constrained")
for row, panel in enumerate(panels):
    panel.plot(test[row].ravel(), color="#444444", lw=3, alpha=0.4, label="sequence")
    panel.plot(said[row].ravel(), color="#d1495b", lw=1, label="generated")
    for step in range(1, LENGTH):
        panel.axvline(step * CHANNELS - 0.5, color="#bbbbbb", lw=0.8, ls=":")
    panel.set_ylabel(f"sequence {row + 1}\nvalue")
panels[0].legend(ncols=2, frameon=False, loc="upper right")
panels[1].set_xlabel("12 channels of step 1, of step 2, ...")
plt.show()

# %% [markdown]
# ## How it does it
#
# To say step $t$, the decoder has to look at step $t$ of the encoder. Its cross-attention shows
# that it does; decoder self-attention has nothing above its diagonal.

# %%
example = test[:1]
seen, _ = teacher_forcing_pairs(model.generate(example, LENGTH, start_token=0.0), start_token=0.0)
scores = kerastrans.attention_scores(model, [example, seen])
plotting.attention_heatmaps(
    scores["cross"],
    title="Cross-attention while copying",
    query_axis="step to say",
    key_axis="step of the sequence",
)

# %%
plotting.attention_heatmaps(
    scores["decoder_self"],
    title="Decoder self-attention: the future is empty",
    query_axis="step to say",
    key_axis="step said before",
)

# %% [markdown]
# ## What it has not learnt
#
# The model has seen numbers of a standard deviation of 1. Thirty times larger ones are another
# world for it, and longer sequences too. The sources test on numbers thirty times larger than those
# that they train on; here is what that does.

# %%
for scale in (0.5, 1, 2, 5, 30):
    said = model.generate(scale * test, LENGTH, start_token=0.0)
    relative = np.mean((said - scale * test) ** 2) / scale**2
    print(f"values times {scale:>4}: error {relative:.4f} of their variance")

# %% [markdown]
# That is why forecasting scales its data first, with the mean and the standard deviation of the
# training rows: [lesson 5](05_forecasting.ipynb).
#
# ## Exercises
#
# 1. Take `d_model=None`, which leaves the projection out, and `d_model=12`, which projects to the
#    same width. How far do they get?
# 2. Take the positions away from the encoder. Which steps are confused?
# 3. Let the decoder say the sequence backwards. What changes in the picture of cross-attention?
#
# Answers: [answers.ipynb](answers.ipynb).
