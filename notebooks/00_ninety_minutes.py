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
# # 0. Ninety minutes to a Transformer of your own
#
# You write the five parts of a Transformer in plain Keras, and lay each beside the one of
# kerastrans. Then you train your model: to copy random sequences, and to forecast a real series.
# Plan 30 minutes to build, 25 for the random sequences, 25 for the series and 10 to save. The other
# lessons explain each part. Lines with `# claim` prove the sentence of that name; skip them.

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

import tempfile
from pathlib import Path

import keras
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from keras import layers, ops

import kerastrans

keras.utils.set_random_seed(0)
random = np.random.default_rng(0)
SEEDS = 3

# %% [markdown]
# ## Attention in five lines
#
# ![Queries and keys give scores, the softmax turns them into weights, and the weights mix the
# values.](../docs/images/lessons/head.svg)
#
# 1. A sequence is a list of vectors, one per step. Three Dense layers turn each of them into a
#    *query* (what the step looks for), a *key* (what it can be found by) and a *value* (what it
#    passes on).
# 2. The score of a query and a key is their dot product, divided by the root of their width.
# 3. A softmax turns the scores of each query into weights, which sum to 1.
# 4. The result of a query is the sum of all values, each times its weight.
# 5. Several *heads* do this side by side, and a last Dense layer joins their results:
#    `keras.layers.MultiHeadAttention(num_heads, key_dim)`.
#
# In *self-attention* queries, keys and values are from the same sequence. In *cross-attention* the
# queries are from one sequence, and the keys and values from another. A *mask* says which keys a
# query may see. [Lesson 2](02_attention.ipynb) computes all of this by hand.
#
# ## Positions
#
# A sum does not know the order of its terms. So each step gets its position, as sines and cosines
# that are added to its vector ([lesson 1](01_positional_encoding.ipynb)).


# %%
@keras.saving.register_keras_serializable("lesson")  # Keras finds the class when it reloads a model
class PositionalEncoding(layers.Layer):
    def __init__(self, max_len, dim, **kwargs):
        super().__init__(**kwargs)
        self.max_len, self.dim = max_len, dim
        positions = np.arange(max_len)[:, None]  # (max_len, 1)
        angles = positions / 10000 ** (np.arange(0, dim, 2) / dim)  # (max_len, dim / 2)
        self.table = np.zeros((max_len, dim), "float32")
        self.table[:, 0::2] = np.sin(angles)
        self.table[:, 1::2] = np.cos(angles)

    def call(self, inputs):  # (batch, time, dim), with time up to max_len
        steps = ops.arange(ops.shape(inputs)[1])
        return inputs + ops.take(self.table, steps, axis=0)

    def get_config(self):
        return {**super().get_config(), "max_len": self.max_len, "dim": self.dim}


zeros = np.zeros((1, 6, 4), "float32")
yours, ours = (
    ops.convert_to_numpy(layer(6, 4)(zeros))
    for layer in (PositionalEncoding, kerastrans.PositionalEncoding)
)
print(yours[0].round(4))
assert np.abs(yours - ours).max() < 1e-6  # claim: positions

# %% [markdown]
# <!-- claim: positions --> `kerastrans.PositionalEncoding` is called in the same way and returns
# the same numbers. It also accepts `max_len=None`, for sequences of any length.
#
# ## The look-ahead mask
#
# A decoder produces one step after the other. While it learns, all steps are there, so a mask has
# to hide the later ones. Each row is a query, each column a key.


# %%
def create_look_ahead_mask(size):
    steps = ops.arange(size)
    return steps[:, None] >= steps  # (query, key): True = may be attended to


mask = create_look_ahead_mask(6)
print(ops.convert_to_numpy(mask).astype(int))

x = random.standard_normal((2, 6, 16)).astype("float32")  # (batch, time, dim)
attention = layers.MultiHeadAttention(num_heads=2, key_dim=8)
by_mask, by_option = (
    ops.convert_to_numpy(attention(x, x, **options))
    for options in ({"attention_mask": mask}, {"use_causal_mask": True})
)
assert np.array_equal(mask, kerastrans.create_look_ahead_mask(6))  # claim: mask
assert np.abs(by_mask - by_option).max() < 1e-6  # claim: option

# %% [markdown]
# <!-- claim: mask --> `kerastrans.create_look_ahead_mask` returns the same mask. In both, as in
# Keras, True means "may be attended to". Some texts write 1 where a key is *hidden*, and add
# -1e9 times the mask to the scores. Given to Keras as it is, such a mask shows the future and hides
# the past; [lesson 3](03_masks.ipynb) measures what that costs.
#
# <!-- claim: option --> `use_causal_mask=True` makes the same mask inside the layer, for any number
# of steps. We use it below.
#
# ## The encoder block
#
#     inputs -> LayerNormalization -> MultiHeadAttention -> Dropout -> (+ inputs) = x
#     x -> LayerNormalization -> Dense(ff_dim, relu) -> Dropout -> Dense(dim) -> Dropout -> (+ x)
#
# Attention mixes the steps, the two Dense layers work on each step by itself. Each part *adds* its
# result to what it has read: that is a residual connection. The normalisation gives every step a
# mean of 0 and a variance of 1 before a part reads it ([lesson 2b](02b_inside_a_block.ipynb)).


# %%
def feed_forward(x, ff_dim, dropout):
    y = layers.LayerNormalization(epsilon=1e-6)(x)  # (batch, time, dim)
    y = layers.Dense(ff_dim, activation="relu")(y)  # (batch, time, ff_dim)
    y = layers.Dropout(dropout)(y)
    y = layers.Dense(x.shape[-1])(y)  # (batch, time, dim)
    return x + layers.Dropout(dropout)(y)


def transformer_encoder(inputs, num_heads, key_dim, ff_dim, dropout=0.1):
    x = layers.LayerNormalization(epsilon=1e-6)(inputs)  # (batch, time, dim), as all below
    x = layers.MultiHeadAttention(num_heads, key_dim, dropout=dropout)(query=x, value=x)
    x = inputs + layers.Dropout(dropout)(x)
    return feed_forward(x, ff_dim, dropout)


def same_weights(yours, ours):
    """Give our model the weights of yours; ours has all heads in one axis."""
    pairs = zip(yours.get_weights(), ours.weights, strict=True)
    ours.set_weights([weight.reshape(variable.shape) for weight, variable in pairs])


def largest_difference(yours, ours, inputs):
    yours, ours = (model.predict(inputs, verbose=0) for model in (yours, ours))
    return np.abs(yours - ours).max()


inputs = keras.Input((6, 16))
yours, ours = (
    keras.Model(inputs, block(inputs, num_heads=2, key_dim=8, ff_dim=32))
    for block in (transformer_encoder, kerastrans.transformer_encoder)
)
same_weights(yours, ours)
print(f"{yours.count_params():,} weights, difference {largest_difference(yours, ours, x):.1g}")
assert yours.count_params() == ours.count_params()  # claim: encoder
assert largest_difference(yours, ours, x) < 1e-5  # claim: encoder

# %% [markdown]
# <!-- claim: encoder --> `kerastrans.transformer_encoder` takes the same arguments in the same
# order, has as many weights, and with your weights it returns your numbers, but for rounding.
#
# **Dropout** sets a share of the numbers to 0, at random and anew in each training step, and
# enlarges the others to keep the mean, so that the model cannot rely on any single number.
# <!-- claim: dropout --> It works in training only: two calls with `training=True` differ, and two
# of `predict` are equal, since `predict` switches it off.

# %%
noisy = [ops.convert_to_numpy(yours(x, training=True)) for _ in range(2)]
quiet = [yours.predict(x, verbose=0) for _ in range(2)]
assert np.abs(noisy[0] - noisy[1]).max() > 0.01  # claim: dropout
assert np.abs(quiet[0] - quiet[1]).max() == 0  # claim: dropout

# %% [markdown]
# ## The decoder block
#
#     inputs -> LayerNormalization -> causal self-attention -> Dropout -> (+ inputs) = x
#     x -> LayerNormalization -> attention to the encoder's output -> Dropout -> (+ x) = x
#     x -> LayerNormalization -> Dense(ff_dim, relu) -> Dropout -> Dense(dim) -> Dropout -> (+ x)
#
# It is the encoder block with a mask in its self-attention, and with cross-attention in the middle:
# the queries are the decoder's steps, the keys and values are the outputs of the encoder.


# %%
def transformer_decoder(inputs, encoder_output, num_heads, key_dim, ff_dim, dropout=0.1):
    x = layers.LayerNormalization(epsilon=1e-6)(inputs)  # (batch, time, dim), as all below
    attention = layers.MultiHeadAttention(num_heads, key_dim, dropout=dropout)
    x = attention(query=x, value=x, use_causal_mask=True)
    residual = inputs + layers.Dropout(dropout)(x)
    x = layers.LayerNormalization(epsilon=1e-6)(residual)
    attention = layers.MultiHeadAttention(num_heads, key_dim, dropout=dropout)
    x = attention(query=x, value=encoder_output)  # encoder_output: (batch, encoder time, dim)
    x = residual + layers.Dropout(dropout)(x)
    return feed_forward(x, ff_dim, dropout)


memory = keras.Input((5, 16))
yours, ours = (
    keras.Model([inputs, memory], block(inputs, memory, num_heads=2, key_dim=8, ff_dim=32))
    for block in (transformer_decoder, kerastrans.transformer_decoder)
)
same_weights(yours, ours)
both = [x, random.standard_normal((2, 5, 16)).astype("float32")]
print(f"{yours.count_params():,} weights, difference {largest_difference(yours, ours, both):.1g}")
assert largest_difference(yours, ours, both) < 1e-5  # claim: decoder

changed = [x.copy(), both[1]]
changed[0][:, 3:] = random.standard_normal((2, 3, 16))  # a constant would be normalised away
moved = np.abs(yours.predict(changed, verbose=0) - yours.predict(both, verbose=0)).max(axis=(0, 2))
print("steps that change with step 4:", moved.round(4))
assert moved[:3].max() < 1e-5 < 0.01 < moved[3:].min()  # claim: causal

# %% [markdown]
# <!-- claim: decoder --> With your weights `kerastrans.transformer_decoder` returns your numbers.
# <!-- claim: causal --> And the mask works: if the inputs change from the fourth step on, the first
# three outputs stay as they are. Test every decoder like this before you train it.
#
# ## The model
#
#     history -> Dense(d_model) -> PositionalEncoding -> encoder blocks
#             -> LayerNormalization = memory
#     steps -> Dense(d_model) -> PositionalEncoding -> decoder blocks, which attend to memory
#           -> LayerNormalization -> Dense(channels)
#
# Each history of `input_shape` steps and channels goes into the encoder, the steps so far go into
# the decoder, and its output at each step is the *next* step. The first Dense layer makes room: if
# values and positions shared the few channels, the values would drown the positions
# ([lesson 4](04_copy_task.ipynb)).


# %%
def build_transformer_model(
    input_shape, key_dim, num_heads, ff_dim, num_encoder_blocks, num_decoder_blocks, dropout=0.1
):
    time, channels = input_shape
    d_model = 64

    history = keras.Input((time, channels))
    x = layers.Dense(d_model)(history)  # (batch, time, d_model)
    x = PositionalEncoding(time, d_model)(x)
    for _ in range(num_encoder_blocks):
        x = transformer_encoder(x, num_heads, key_dim, ff_dim, dropout)
    memory = layers.LayerNormalization(epsilon=1e-6)(x)

    steps = keras.Input((None, channels))  # as many as there are so far
    x = layers.Dense(d_model)(steps)
    x = PositionalEncoding(time + 1, d_model)(x)
    for _ in range(num_decoder_blocks):
        x = transformer_decoder(x, memory, num_heads, key_dim, ff_dim, dropout)
    x = layers.LayerNormalization(epsilon=1e-6)(x)
    return keras.Model([history, steps], layers.Dense(channels)(x))  # (batch, time, channels)


TIME, CHANNELS = 6, 12
sizes = {"key_dim": 16, "num_heads": 4, "ff_dim": 64, "dropout": 0.0}
blocks = {"num_encoder_blocks": 1, "num_decoder_blocks": 1}
model = build_transformer_model((TIME, CHANNELS), **sizes, **blocks)
ours = kerastrans.build_transformer_model((TIME, CHANNELS), **sizes, **blocks)
same_weights(model, ours)
sequence = random.standard_normal((4, TIME, CHANNELS)).astype("float32")
difference = largest_difference(model, ours, [sequence, sequence])
print(f"{model.count_params():,} weights, difference {difference:.1g}")
assert difference < 1e-5  # claim: model

# %% [markdown]
# <!-- claim: model --> `kerastrans.build_transformer_model` takes the same arguments in the same
# order, and with your weights it returns your numbers. Its own width inside is `d_model=64`, too.
#
# There are three families of Transformers, and you have the parts of all:
#
# - *encoder-only*: one pass from the history to the result, such as
#   [PatchTST](../docs/architectures/patchtst.md);
# - *decoder-only*: causal blocks without cross-attention, which continue a sequence, such as GPT
#   ([lesson 4b](04b_what_each_part_is_worth.ipynb), [Generate](../docs/guide/generate.md));
# - *encoder-decoder*: this lesson, and translation ([lesson 6](06_translation.ipynb)).
#
# ## Random sequences
#
# The task: read six steps of twelve random numbers, and say them again. In training, the decoder
# gets the true steps, moved by one: a start token of zeros, then the sequence. Its targets are the
# sequence, then an end token of zeros. This is *teacher forcing*: all steps are learnt in one pass.
#
# Overfit one batch first: a model that cannot learn 64 sequences by heart usually has an error in
# its code.

# %%
train = random.standard_normal((5000, TIME, CHANNELS)).astype("float32")
test = random.standard_normal((500, TIME, CHANNELS)).astype("float32")
token = np.zeros((len(train), 1, CHANNELS), "float32")
steps = np.concatenate([token, train], axis=1)  # (5000, 7, 12)
targets = np.concatenate([train, token], axis=1)  # (5000, 7, 12)

EPOCHS = 6
rate = keras.optimizers.schedules.CosineDecay(3e-3, EPOCHS * 79)  # 79 batches per epoch
model.compile(keras.optimizers.Adam(rate), "mse")
batch = model.fit([train[:64], steps[:64]], targets[:64], batch_size=64, epochs=200, verbose=0)
losses = batch.history["loss"]
print(f"one batch: error {losses[0]:.3f} -> {losses[-1]:.4f}")
if SEEDS > 1:  # trained in full
    assert losses[-1] < 0.05 < 0.5 < losses[0]  # claim: batch

# %% [markdown]
# <!-- claim: batch --> After 200 steps its error is below 0.05; before, it was above 0.5. Now all
# sequences, with new weights. (`restart` keeps the compiled model, since compiling takes time.)
#
# When the model is used, nobody knows the true steps. Each output becomes the next input, from the
# start token on. Only this error counts; that of teacher forcing promises too much if a mask is
# wrong.


# %%
def restart(model, weights):
    model.set_weights(weights)
    for variable in model.optimizer.variables:
        variable.assign(ops.zeros_like(variable))


def generate(model, history, start, num_steps):
    steps = start  # (batch, 1, channels)
    for _ in range(num_steps):
        outputs = model.predict([history, steps], batch_size=500, verbose=0)
        steps = np.concatenate([steps, outputs[:, -1:]], axis=1)  # the last output is new
    return steps[:, 1:]  # (batch, num_steps, channels), without the start token


errors = []
for seed in range(SEEDS):
    keras.utils.set_random_seed(seed)
    restart(model, build_transformer_model((TIME, CHANNELS), **sizes, **blocks).get_weights())
    history = model.fit([train, steps], targets, batch_size=64, epochs=EPOCHS, verbose=0).history
    generated = generate(model, test, token[: len(test)], TIME)
    errors.append({"forced": history["loss"][-1], "generated": np.mean((generated - test) ** 2)})
table = pd.DataFrame(errors).rename_axis("seed")
print(table.round(4))
if SEEDS > 1:
    highest = table.mean() + 3 * table.std()
    assert highest["generated"] < 0.02  # claim: copies

# Alt text: Two sequences that the model has not seen, and what it generates, which coincide.
figure, panels = plt.subplots(2, 1, figsize=(8, 4), sharex=True, layout="constrained")
for row, panel in enumerate(panels):
    panel.plot(test[row].ravel(), color="#444444", lw=3, alpha=0.4, label="sequence")
    panel.plot(generated[row].ravel(), color="#d1495b", lw=1, label="generated")
    panel.set_ylabel(f"sequence {row + 1}\nvalue")
panels[0].legend(ncols=2, frameon=False, loc="lower right", bbox_to_anchor=(1, 1))
panels[1].set_xlabel("12 channels of step 1, of step 2, ...")
plt.show()

# %% [markdown]
# <!-- claim: copies --> The generated error of sequences that the model has never seen is below
# 2 % of their variance, with a margin of three standard deviations of the three seeds.
#
# `kerastrans.generate` is the same loop, compiled, with a cache of keys and values
# ([lesson 7](07_cached_decoding.ipynb)). It needs layers that can go step by step, so it runs our
# model, with your weights. <!-- claim: loop --> Its numbers are those of your loop.

# %%
same_weights(model, ours)
cached = kerastrans.generate(ours, test, TIME, start_token=0.0)
print(f"largest difference from kerastrans.generate: {np.abs(cached - generated).max():.1g}")
assert np.abs(cached - generated).max() < 1e-3  # claim: loop

# %% [markdown]
# ## A real series
#
# New York's three airports count their departures in each hour of 2013. A step is now a day of 24
# hours, a sequence is a week: the model reads seven days and forecasts the eighth. The start token
# is the last known day. We scale each airport by its training days, leave the next 30 days out for
# choices that you may want to make, and test on the last 80 days.

# %%
flights = kerastrans.datasets.load("nyc_departures").to_numpy("float32")  # (8760 hours, 3)
flights = flights.T.reshape(3, 365, 24)  # (airport, day, hour)
mean = flights[:, :255].mean(axis=(1, 2), keepdims=True)
scale = flights[:, :255].std(axis=(1, 2), keepdims=True)


def windows(first, last):
    """Eight days in a row, of all airports: (windows, 8, 24), in the units of the model."""
    days = (flights - mean) / scale
    return np.concatenate([[day[i : i + 8] for i in range(first, last - 7)] for day in days])


train, test = windows(0, 255), windows(285, 365)
per_window = np.repeat(scale.ravel(), len(test) // 3)[:, None, None]


def error(forecast):
    """Mean absolute error in flights per hour."""
    return np.mean(np.abs(forecast - test[:, 7:]) * per_window)


model = build_transformer_model((7, 24), **sizes, **blocks)
rate = keras.optimizers.schedules.CosineDecay(3e-3, 40 * 24)  # 40 epochs of 24 batches
model.compile(keras.optimizers.Adam(rate), "mae")
found = []
for seed in range(SEEDS):
    keras.utils.set_random_seed(seed)
    restart(model, build_transformer_model((7, 24), **sizes, **blocks).get_weights())
    pairs = [train[:, :7], train[:, 6:7]], train[:, 7:]
    model.fit(*pairs, batch_size=32, epochs=40, verbose=0)
    forecast = generate(model, test[:, :7], test[:, 6:7], 1)  # (windows, 1 day, 24 hours)
    found.append(error(forecast))
week, day = error(test[:, :1]), error(test[:, 6:7])
print("Transformer, three seeds:", np.round(found, 2))
print(f"the week before: {week:.2f}, the day before: {day:.2f} flights per hour")
if SEEDS > 1:
    assert max(found) < week < day  # claim: week
    assert np.mean(found) + 3 * np.std(found, ddof=1) < week  # claim: week

hours = np.arange(24)
first = test[:1] * scale[0] + mean[0]
# Alt text: Departures from Newark in the 24 hours of the first test day: observed, forecast, and
# those of the week before.
figure, panel = plt.subplots(figsize=(8, 3.2), layout="constrained")
panel.plot(hours, first[0, 7], color="#444444", lw=3, alpha=0.4, label="observed")
panel.plot(hours, (forecast[0, 0] * scale[0] + mean[0]).ravel(), color="#d1495b", label="forecast")
panel.plot(hours, first[0, 0], "--", color="#2e7d9a", lw=1, label="the week before")
panel.set_xlabel("hour")
panel.set_ylabel("departures per hour")
panel.legend(frameon=False)
plt.show()

# %% [markdown]
# <!-- claim: week --> With each of three seeds the error is smaller than that of repeating the week
# before, which is smaller than that of repeating the day before, and the first difference is larger
# than three standard deviations of the seeds. Always compare with such forecasts: they cost
# nothing. [Lesson 5](05_forecasting.ipynb) continues here, with channels and patches.
#
# ## Save
#
# A `.keras` file has the graph, the weights and the state of the optimizer, and is read by Keras. A
# SavedModel is a folder that TensorFlow runs without your code; writing it requires TensorFlow.

# %%
folder = Path(tempfile.mkdtemp())
question = [test[:5, :7], test[:5, 6:7]]
answer = model.predict(question, verbose=0)
model.save(folder / "days.keras")
again = keras.saving.load_model(folder / "days.keras").predict(question, verbose=0)
print(f".keras: largest difference {np.abs(again - answer).max():.1g}")
assert np.abs(again - answer).max() < 1e-5  # claim: reload

import tensorflow as tf

model.export(folder / "days", verbose=False)
loaded = tf.saved_model.load(str(folder / "days"))
served = loaded.serve(question).numpy()
print(f"SavedModel: largest difference {np.abs(served - answer).max():.1g}")
assert np.abs(served - answer).max() < 1e-5  # claim: reload

# %% [markdown]
# <!-- claim: reload --> Both return the forecast of the model that was saved.
# [Lesson 9](09_production.ipynb) puts the whole loop and the scaling into the file.
#
# ## Exercises
#
# Close the cells above, and write the functions again: the checks run them with given weights.
# Replace `...` by your answer and run the cell. `kerastrans.lessons.hint("0.1")` helps, in three
# steps. Solutions: [answers.ipynb](answers.ipynb).

# %% [markdown]
# **0.1** Return (query, key): True for the keys that a query may attend to.


# %%
def create_look_ahead_mask(size):
    return ...


kerastrans.lessons.check("0.1", create_look_ahead_mask)

# %% [markdown]
# **0.2** Return an encoder block, as in the flow of this lesson, with an epsilon of 1e-6.


# %%
def transformer_encoder(inputs, num_heads, key_dim, ff_dim, dropout):
    return ...


kerastrans.lessons.check("0.2", transformer_encoder)

# %% [markdown]
# **0.3** Return a decoder block, as in the flow of this lesson, with an epsilon of 1e-6.


# %%
def transformer_decoder(inputs, encoder_output, num_heads, key_dim, ff_dim, dropout):
    return ...


kerastrans.lessons.check("0.3", transformer_decoder)

# %% [markdown]
# **0.4** Return the model of your blocks, 64 wide, with a normalisation after both stacks.


# %%
def build_transformer_model(
    input_shape, key_dim, num_heads, ff_dim, num_encoder_blocks, num_decoder_blocks, dropout
):
    return ...


kerastrans.lessons.check("0.4", build_transformer_model)
