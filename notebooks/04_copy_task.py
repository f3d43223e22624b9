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
# All parts together. The model reads six steps of twelve random numbers and repeats them, one step
# at a time, each from the steps that it generated before. The task is small, and it uses every
# part: cross-attention finds the step, the positions say which one it is, and the mask keeps the
# answer hidden. The lesson runs in about a minute.

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

import kerastrans
from kerastrans import plotting
from kerastrans.data import random_sequences, teacher_forcing_pairs

keras.utils.set_random_seed(0)
LENGTH, CHANNELS = 6, 12

# %% [markdown]
# ## The model
#
# `transformer_encoder` and `transformer_decoder` are functions from tensor to tensor, and
# `build_transformer_model` stacks them into a plain functional Keras model.
#
# ![The encoder projects the history, adds positions, and applies self-attention and a feed-forward
# network; the decoder does the same with the steps so far and attends to the memory of the encoder
# between the two.](../docs/images/lessons/architecture.svg)
#
# Attention occurs three times. The encoder attends to the whole history, in both directions, since
# all of it is known. The decoder first attends to its own steps, with a mask that hides the later
# ones. Then it attends to the memory, the outputs of the encoder: the queries come from the steps
# that were generated so far, the keys and values from the memory, so that each output step can ask
# for a step of the history. The memory does not depend on what the decoder generates; it is
# computed once per sequence. Each attention adds its result to its input, and a feed-forward
# network ends the block ([lesson 2b](02b_inside_a_block.ipynb)).
#
# Note `d_model`: each step of 12 values is projected to 64 numbers before its position is added.
# Without the projection, values and positions would share twelve columns, and the values, which are
# as large, would drown the positions: no query could find its step. A projection can put the two in
# different directions; [the answers](answers.ipynb) measure this. `model.summary()` lists the
# layers in the order of the data; the column on the right shows which layers feed each of them.


# %%
def build():
    return kerastrans.build_transformer_model(
        input_shape=(LENGTH, CHANNELS),
        num_heads=4,
        key_dim=16,
        ff_dim=128,
        num_encoder_blocks=2,
        num_decoder_blocks=2,
        dropout=0.0,
        d_model=64,
    )


model = build()
model.summary()

# %% [markdown]
# ## Teacher forcing
#
# In training the decoder sees the true values, moved by one step: a start token of zeros, then all
# steps but the last. All steps are learnt at once, in one pass.

# %%
train = random_sequences(5000, LENGTH, CHANNELS, seed=0)
decoder_inputs, targets = teacher_forcing_pairs(train, start_token=0.0)
print(
    "inputs of the decoder",
    decoder_inputs[0, :3, 0].round(2),
    "targets",
    targets[0, :3, 0].round(2),
)

EPOCHS = 14
rate = keras.optimizers.schedules.CosineDecay(2e-3, EPOCHS * 79)
model.compile(keras.optimizers.Adam(rate), "mse")
test = random_sequences(1000, LENGTH, CHANNELS, seed=1)
test_inputs, _ = teacher_forcing_pairs(test, start_token=0.0)
model.optimizer.build(model.trainable_variables)
start = [keras.ops.convert_to_numpy(x) for x in model.optimizer.variables]  # for other seeds


def fit():
    """Train the model; errors of each epoch."""
    return model.fit(
        [train, decoder_inputs],
        targets,
        validation_data=([test, test_inputs], test),
        epochs=EPOCHS,
        batch_size=64,
        verbose=0,
    ).history


history = fit()
print(f"training error {history['loss'][0]:.3f} -> {history['loss'][-1]:.5f}")

# %% [markdown]
# The learning curves show the error of the training sequences and, as validation, that of a
# thousand others, both with teacher forcing. If a model memorises its training sequences, the first
# error goes on falling and the second one does not: it overfits. <!-- claim: curves --> Here both
# fall together, and at the end the validation error is less than twice the training error. The
# model has learnt to copy, not to recite.

# %%
# Alt text: Learning curves on a logarithmic scale: the training and the validation error fall
# together over fourteen epochs.
figure, panel = plt.subplots(figsize=(7, 3.2), layout="constrained")
for (part, errors), style in zip(history.items(), ("o-", "s--"), strict=True):
    label = {"loss": "training", "val_loss": "validation"}[part]
    panel.plot(np.arange(1, EPOCHS + 1), errors, style, label=label)
panel.set_yscale("log")
panel.set_xlabel("epoch")
panel.set_ylabel("mean squared error")
panel.legend(frameon=False)
plt.show()

# %% [markdown]
# How does a decoder know when to stop? Ours generates six steps, because all sequences have six. If
# lengths differ, the targets get one more step, the *end token*, and the model learns to generate
# it after the last step; the sentences of [lesson 6](06_translation.ipynb) end in this way.
# <!-- claim: end --> With an end token of zeros, inputs and targets have seven steps each: the
# start token and the sequence, and the sequence and the end token.

# %%
both = teacher_forcing_pairs(train[:1], start_token=0.0, end_token=0.0)
print("inputs and targets with an end token:", [x.shape for x in both])
assert [x.shape[1] for x in both] == [LENGTH + 1, LENGTH + 1]  # claim: end
assert not both[0][:, 0].any()  # claim: end
assert not both[1][:, -1].any()  # claim: end

# %% [markdown]
# ## Autoregression
#
# When the model is used, the true values are not known. Each output becomes the next input, from
# the start token on. The loop can be written with `model.predict`: at step $t$ the decoder gets the
# $t$ steps that it has generated, and only its last output is new. <!-- claim: loop --> The method
# `generate` compiles the whole loop and caches what does not change
# ([lesson 7](07_cached_decoding.ipynb)); it returns the same values.
#
# <!-- claim: copies --> On sequences that the model has never seen, its error is below 1 % of the
# variance.

# %%
generated = np.zeros((len(test), 1, CHANNELS), "float32")  # the start token
for _ in range(LENGTH):
    outputs = model.predict([test, generated], verbose=0)
    generated = np.concatenate([generated, outputs[:, -1:]], axis=1)
generated = generated[:, 1:]
error = np.mean((generated - test) ** 2)
print(f"mean squared error of the generated steps: {error:.5f} (variance: 1)")
difference = np.abs(model.generate(test, LENGTH, start_token=0.0) - generated).max()
print(f"largest difference from model.generate: {difference:.1e}")
assert difference < 1e-3  # claim: loop

# Alt text: Two test sequences of 72 values and the generated ones, which coincide.
figure, panels = plt.subplots(2, 1, figsize=(8, 4.2), sharex=True, layout="constrained")
for row, panel in enumerate(panels):
    panel.plot(test[row].ravel(), color="#444444", lw=3, alpha=0.4, label="sequence")
    panel.plot(generated[row].ravel(), color="#d1495b", lw=1, label="generated")
    for step in range(1, LENGTH):
        panel.axvline(step * CHANNELS - 0.5, color="#bbbbbb", lw=0.8, ls=":")
    panel.set_ylabel(f"sequence {row + 1}\nvalue")
panels[0].legend(ncols=2, frameon=False, loc="lower right", bbox_to_anchor=(1, 1))
panels[1].set_xlabel("12 channels of step 1, of step 2, ...")
plt.show()

# %% [markdown]
# ## How it does it
#
# `attention_scores` returns the weights of all attention layers, and `attention_heatmaps` draws one
# map for each head of each block. A row is a query, and its weights sum to 1; an empty cell has a
# weight of exactly 0.
#
# To generate step $t$, the decoder has to look at step $t$ of the encoder. <!-- claim: diagonal -->
# Its cross-attention does: in each of the eight heads, each output step gives its largest weight to
# the input step that it repeats. Here all heads do the same, and one of them would be enough for
# copying. <!-- claim: future --> Decoder self-attention has no weight above its
# diagonal.

# %%
example = test[:1]
seen, _ = teacher_forcing_pairs(model.generate(example, LENGTH, start_token=0.0), start_token=0.0)
scores = kerastrans.attention_scores(model, [example, seen])
# Alt text: Eight heat maps of cross-attention, two blocks of four heads, output steps by steps of
# the sequence; the weights lie on the diagonal.
plotting.attention_heatmaps(
    scores["cross"],
    title="Cross-attention while copying",
    query_axis="output step",
    key_axis="step of the sequence",
)

# %%
assert np.triu(np.asarray(scores["decoder_self"]), 1).max() == 0  # claim: future
# Alt text: Eight heat maps of decoder self-attention, two blocks of four heads; all cells above the
# diagonal are empty.
plotting.attention_heatmaps(
    scores["decoder_self"],
    title="Decoder self-attention: the future is empty",
    query_axis="output step",
    key_axis="earlier output step",
)

# %% [markdown]
# ## What it has not learnt
#
# The model was trained on numbers with a standard deviation of 1. Numbers thirty times larger are
# outside its training distribution. <!-- claim: scale --> It copies values of half and of the same
# size with an error below 2 % of their variance; of values thirty times larger, it misses more than
# half of the variance.


# %%
def relative_error(scale):
    generated = model.generate(scale * test, LENGTH, start_token=0.0)
    return np.mean((generated - scale * test) ** 2) / scale**2


for scale in (0.5, 1, 2, 5, 30):
    print(f"values times {scale:>4}: error {relative_error(scale):.4f} of their variance")

# %% [markdown]
# Forecasts therefore scale their data first: [lesson 5](05_forecasting.ipynb).
#
# ## Three seeds
#
# Was it luck? The same model starts again with other weights and another order of the sequences.
# The bounds above hold with each of three seeds, and those of errors with a margin of three
# standard deviations of the seeds.

# %%
SEEDS = 3


def measured():
    """What was said above, of the model as it is trained now."""
    maps = np.asarray(kerastrans.attention_scores(model, [example, seen])["cross"])
    largest = maps.argmax(axis=-1).reshape(-1, LENGTH)  # (heads, output steps)
    return {
        "last epoch / first": history["val_loss"][-1] / history["val_loss"][0],
        "validation / training": history["val_loss"][-1] / history["loss"][-1],
        **{f"values times {scale}": relative_error(scale) for scale in (0.5, 1, 30)},
        "heads on the diagonal": (largest == np.arange(LENGTH)).all(axis=1).sum(),
    }


runs = [measured()]
for seed in range(1, SEEDS):
    keras.utils.set_random_seed(seed)
    model.set_weights(build().get_weights())
    for variable, value in zip(model.optimizer.variables, start, strict=True):
        variable.assign(value)
    history = fit()
    runs.append(measured())
table = pd.DataFrame(runs).rename_axis("seed")
print(table.round(4).T)
if SEEDS > 1:  # trained in full
    highest = table.mean() + 3 * table.std()
    assert highest["last epoch / first"] < 0.01  # claim: curves
    assert highest["validation / training"] < 2  # claim: curves
    assert highest["values times 1"] < 0.01  # claim: copies
    assert (table["heads on the diagonal"] == 8).all()  # claim: diagonal
    assert highest[["values times 0.5", "values times 1"]].max() < 0.02  # claim: scale
    lowest = table.mean() - 3 * table.std()
    assert lowest["values times 30"] > 0.5  # claim: scale

# %% [markdown]
# ## Exercises
#
# Replace `...` by your answer and run the cell. `kerastrans.lessons.hint("4.1")` helps, in three
# steps. Solutions: [answers.ipynb](answers.ipynb).

# %% [markdown]
# **4.1** Return the decoder's inputs under teacher forcing: zeros, then all steps but the last.


# %%
def decoder_inputs(sequences):
    return ...


kerastrans.lessons.check("4.1", decoder_inputs)

# %% [markdown]
# **4.2** Generate steps with model.predict, each from a start of zeros and the outputs before it.


# %%
def generate(model, history, num_steps):
    return ...


kerastrans.lessons.check("4.2", generate)

# %% [markdown]
# **4.3** Under teacher forcing, return the smallest possible error of each step. The encoder has no
# positions; the values are independent and have a variance of 1. (What changes when the model
# generates? The answers measure it.)


# %%
def best_errors(num_steps):
    return ...


kerastrans.lessons.check("4.3", best_errors)

# %% [markdown]
# **4.4** Return the cross-attention (output step, input step) of a perfect copy, or a backward one.


# %%
def ideal_weights(num_steps, backwards):
    return ...


kerastrans.lessons.check("4.4", ideal_weights)

# %% [markdown]
# **4.5** d_model=None leaves the input projection out and generates an error of 0.9. What does it
# lack: 'projection', 'width' or 'epochs'?

# %%
prediction = ...  # "epochs", "projection", "width"
kerastrans.lessons.check("4.5", prediction)
