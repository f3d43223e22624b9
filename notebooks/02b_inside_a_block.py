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
# # 2b. Inside a block
#
# A Transformer is a stack of blocks, and attention is one of four kinds of parts of a block. This
# lesson takes the others apart, the residual connection, the normalisation and the feed-forward
# network, and ends with a layer of your own. It takes two minutes of CPU.
#
#     x ---+---> norm ---> attention -----> + ---+---> norm ---> feed-forward ---> + ---> out
#          |                                ^    |                                 ^
#          +--------------------------------+    +---------------------------------+
#
# This is the pre-norm block of `transformer_encoder`. The paper normalises after each sum
# (post-norm). A decoder block has a third sublayer between the two, cross-attention.

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
from kerastrans.data import random_sequences

keras.utils.set_random_seed(0)
random = np.random.default_rng(0)

# %% [markdown]
# ## Feed-forward: the same network at each step
#
# Two dense layers, applied to each step separately: the first one widens, the second one returns to
# the width of the block. <!-- claim: rows --> Equal steps therefore have equal results, and a
# convolution of width 1 with the same weights computes the same.

# %%
inputs = keras.Input((3, 4))
network = keras.Model(inputs, kerastrans.position_wise_ffn(inputs, 16, output_dim=8))
rows = ops.convert_to_numpy(network(np.ones((2, 3, 4), "float32")))
print("shape", rows.shape, "first values of the three steps:", rows[0, :, 0])
assert (rows == rows[:, :1]).all()  # claim: rows

expand, contract = (layer for layer in network.layers if isinstance(layer, layers.Dense))
convolutions = keras.Sequential([layers.Conv1D(16, 1, activation="relu"), layers.Conv1D(8, 1)])
convolutions.build((None, 3, 4))
for convolution, dense in zip(convolutions.layers, (expand, contract), strict=True):
    kernel, bias = dense.get_weights()
    convolution.set_weights([kernel[None], bias])
steps = random.standard_normal((2, 3, 4)).astype("float32")
difference = np.abs(ops.convert_to_numpy(network(steps)) - convolutions(steps)).max()
print(f"largest difference from convolutions of width 1: {difference:.1e}")
assert difference < 1e-5  # claim: rows

# %% [markdown]
# ## Normalisation: over the width, or over the batch?
#
# Layer normalisation subtracts the mean of each step's own values and divides by their standard
# deviation. Batch normalisation does the same for each channel over the whole batch.
# <!-- claim: norms --> Of the rows 1, 2 and 2, 3, layer normalisation makes -1, 1 in both; batch
# normalisation makes -1, -1 and 1, 1 (0.998, since Keras adds 0.001 to the variance).
# <!-- claim: alone --> Layer normalisation gives a row the same result whatever else is in the
# batch; batch normalisation does not. Sequences have different lengths and batches are small, so
# blocks use layer normalisation.

# %%
x = np.array([[1.0, 2.0], [2.0, 3.0]], "float32")
by_layer = ops.convert_to_numpy(layers.LayerNormalization()(x))
by_batch = ops.convert_to_numpy(layers.BatchNormalization()(x, training=True))
print("layer normalisation", by_layer.round(3).tolist())
print("batch normalisation", by_batch.round(3).tolist())
assert np.allclose(by_layer, [[-1, 1], [-1, 1]], atol=0.01)  # claim: norms
assert np.allclose(by_batch, [[-1, -1], [1, 1]], atol=0.01)  # claim: norms
other = np.array([[1.0, 2.0], [20.0, 30.0]], "float32")
moved = [
    float(np.abs(layer(other, **options)[0] - layer(x, **options)[0]).max())
    for layer, options in (
        (layers.LayerNormalization(), {}),
        (layers.BatchNormalization(), {"training": True}),
    )
]
print("change of the first row when the second one changes:", moved)
assert moved[0] == 0  # claim: alone
assert moved[1] > 1e-4  # claim: alone

# %% [markdown]
# What does layer normalisation leave of a series of one channel? Each step has a single value,
# which is its own mean: the result is 0 plus the learnt offset, whatever the value is. The
# time-series classification example of keras.io, which many scripts follow, applies its blocks to
# such a series. <!-- claim: width --> Trained to tell two kinds of series apart, its blocks add one
# constant to all steps; of their 172 weights, only the four offsets of the normalisations have
# moved, since the gradient of all others is 0. After a projection to 16 features every kernel of
# the blocks learns. `transformer_encoder` therefore refuses inputs of width 1.


# %%
def block_of_the_example(x):
    attended = layers.MultiHeadAttention(2, 4)(x, x)
    residual = x + layers.LayerNormalization()(attended)
    hidden = layers.Conv1D(8, 1, activation="relu")(residual)
    return residual + layers.LayerNormalization()(layers.Conv1D(x.shape[-1], 1)(hidden))


def fit_classifier(width):
    """Return the trained blocks of a classifier, and how far each of their weights has moved."""
    keras.utils.set_random_seed(0)
    inputs = keras.Input((32, 1))
    blocks_in = layers.Dense(width)(inputs) if width > 1 else inputs
    blocks_out = block_of_the_example(block_of_the_example(blocks_in))
    probability = layers.Dense(1, "sigmoid")(layers.Flatten()(blocks_out))
    model, stack = keras.Model(inputs, probability), keras.Model(blocks_in, blocks_out)
    before = [weight.numpy() for weight in stack.trainable_weights]
    model.compile("adam", "binary_crossentropy")
    model.fit(noise, has_trend, epochs=3, verbose=0)
    changes = zip(stack.trainable_weights, before, strict=True)
    return stack, [(weight.name, np.abs(weight.numpy() - old)) for weight, old in changes]


draw = np.random.default_rng(1)
noise = draw.standard_normal((256, 32, 1)).astype("float32")
has_trend = draw.integers(0, 2, 256)
noise += has_trend[:, None, None] * np.linspace(-1, 1, 32, dtype="float32")[:, None]
stack, moved = fit_classifier(width=1)
added = ops.convert_to_numpy(stack(noise)) - noise
count = sum(int((change > 0).sum()) for _, change in moved)
print(f"width 1: {count} of {stack.count_params()} weights have moved,")
print(f"the blocks add {added.mean():.4f} to every step, with a deviation of {added.std():.0e}")
assert stack.count_params() == 172  # claim: width
assert count == 4  # claim: width
assert added.std() < 1e-5  # claim: width
_, moved = fit_classifier(width=16)
kernels = [change.max() for name, change in moved if name == "kernel"]
print(f"width 16: each kernel of the blocks has moved by {min(kernels):.3f} or more")
assert min(kernels) > 1e-3  # claim: width

# %% [markdown]
# ## Residual connection: a block starts as nearly the identity
#
# Each sublayer adds its result to its input. What happens without it? A stack of 12 blocks is asked
# how far two steps of a random sequence stay apart, by the cosine of their vectors.
# <!-- claim: residual --> With residual connections the steps of an untrained stack stay different,
# with a cosine below 0.97 for three seeds. Without them, attention averages the steps again and
# again, until all steps of a sequence are equal except for rounding: the cosine is above 0.999.


# %%
def blocks(x, residual):
    for _ in range(12):
        for sublayer in (layers.MultiHeadAttention(4, 8), layers.Dense(32, activation="relu")):
            normalised = layers.LayerNormalization()(x)
            is_attention = isinstance(sublayer, layers.MultiHeadAttention)
            result = sublayer(normalised, normalised) if is_attention else sublayer(normalised)
            x = x + result if residual else result
    return ops.convert_to_numpy(x)


def cosine_of_steps(x):
    first, second = x[0, :2]
    return float(first @ second / np.linalg.norm(first) / np.linalg.norm(second))


steps = random.standard_normal((1, 8, 32)).astype("float32")
print(f"before the blocks: {cosine_of_steps(steps):.2f}")
cosines = {}
for residual in (True, False):
    cosines[residual] = []
    for seed in range(3):
        keras.utils.set_random_seed(seed)
        cosines[residual].append(cosine_of_steps(blocks(steps, residual)))
    print(f"residual={residual}: {np.round(cosines[residual], 4)}")
with_residual, without = cosines[True], cosines[False]
assert np.mean(with_residual) + 3 * np.std(with_residual, ddof=1) < 0.97  # claim: residual
assert np.mean(without) - 3 * np.std(without, ddof=1) > 0.999  # claim: residual

# %% [markdown]
# ## Narrow heads miss the identity; a residual connection gives it for free
#
# The simplest task: return the input. A single layer of attention is trained to do so on random
# sequences of five steps of width 12. <!-- claim: identity --> With four heads of width 3, its
# error is above 0.1 of the variance after twelve epochs; with one head of width 12, or four of
# them, it is below 0.03. All of these return means over the steps, so the mean is not to blame.
# <!-- claim: own step --> The weights show what is: with keys of three numbers, a query gives less
# than 0.65 of its weight to its own step; with keys of twelve numbers, more than 0.7.
#
# <!-- claim: residual identity --> With a residual connection around it, the layer with narrow
# heads has an error below 0.001. The weight of the own step stays at 0.2, the share of each of five
# equal steps: the layer only has to learn to add nothing.

# %%
EPOCHS = 12
SEEDS = 3
train, held_out = random_sequences(2000, 5, 12, seed=0), random_sequences(500, 5, 12, seed=1)
fit = {"validation_data": (held_out, held_out), "epochs": EPOCHS, "batch_size": 64, "verbose": 0}
errors = {}
own_step = {}  # the weight that a query gives to its own step, each seed
for name, (heads, key_dim) in {
    "4 heads of width 3": (4, 3),
    "1 head of width 12": (1, 12),
    "4 heads of width 12": (4, 12),
    "4 heads of width 3, residual": (4, 3),
}.items():
    errors[name], own_step[name] = [], []
    for seed in range(SEEDS):
        keras.utils.set_random_seed(seed)
        inputs = keras.Input((5, 12))
        attention = layers.MultiHeadAttention(heads, key_dim)
        attended = attention(inputs, inputs)
        model = keras.Model(inputs, inputs + attended if "residual" in name else attended)
        model.compile(keras.optimizers.Adam(3e-3), "mse", jit_compile=False)
        errors[name].append(model.fit(train, train, **fit).history["val_loss"])
        _, weights = attention(held_out, held_out, return_attention_scores=True)
        diagonals = np.diagonal(ops.convert_to_numpy(weights), axis1=-2, axis2=-1)
        own_step[name].append(diagonals.mean())
    print(f"{name}: {np.array(errors[name])[:, -1].round(4)}", end=", ")
    print(f"weight of the own step {np.round(own_step[name], 2)}")
# Alt text: Validation errors of three seeds over twelve epochs on a logarithmic scale: four heads
# of width 3 end above 0.1, one head or four heads of width 12 near 0.02, and four heads of width 3
# with a residual connection below 0.001.
figure, panel = plt.subplots(figsize=(7, 3.2), layout="constrained")
for colour, (name, curves) in zip(
    ("#d1495b", "#2e86ab", "#edae49", "#66a182"), errors.items(), strict=True
):
    for seed, curve in enumerate(curves):
        label = None if seed else name
        panel.plot(np.arange(1, EPOCHS + 1), curve, "o-", color=colour, label=label)
panel.set_yscale("log")
panel.set_xlabel("epoch")
panel.set_ylabel("mean squared error,\nvalidation")
panel.legend(frameon=False)
plt.show()
if SEEDS > 1:  # trained in full: bounds leave a margin of three standard deviations of the seeds

    def spread(values):
        return 3 * np.std(values, ddof=1)

    narrow, wide, wide_heads, residual = (np.array(x)[:, -1] for x in errors.values())
    assert narrow.mean() - spread(narrow) > 0.1  # claim: identity
    assert wide.mean() + spread(wide) < 0.03  # claim: identity
    assert wide_heads.mean() + spread(wide_heads) < 0.03  # claim: identity
    assert residual.mean() + spread(residual) < 0.001  # claim: residual identity
    narrow, wide, wide_heads, residual = own_step.values()
    assert np.mean(narrow) + spread(narrow) < 0.65  # claim: own step
    assert np.mean(wide) - spread(wide) > 0.7  # claim: own step
    assert np.mean(wide_heads) - spread(wide_heads) > 0.7  # claim: own step
    assert np.abs(np.array(residual) - 0.2).max() < 0.02  # claim: residual identity

# %% [markdown]
# ## Before the sum, or after it?
#
# A normalisation can be in two places. *Post-norm*, in the paper, normalises each sum,
# `norm(x + sublayer(x))`. *Pre-norm* normalises what the sublayer reads, `x + sublayer(norm(x))`. A
# path of sums then leads from the first block to the last, and gradients come back along it without
# passing a normalisation. Such a stack ends with one more normalisation, because its sums grow.
#
# The paper trains post-norm with a *warm-up*: the learning rate rises slowly at first. Does
# pre-norm learn without it? We train stacks of six blocks to reverse random sequences of eight
# steps, with the full rate from the first step. <!-- claim: pre-norm --> With pre-norm the error
# falls below a tenth of the variance with each of three seeds. With post-norm it is still above
# 0.7. The difference is more than three standard deviations of the seeds. <!-- claim: warm-up -->
# Is the warm-up all that post-norm lacks? Not here: with a warm-up over the first 100 of 376 steps,
# at least one of three seeds is still above 0.7.

# %%
sequences = random_sequences(1500, 8, 8, seed=0)
sizes = {"num_heads": 4, "key_dim": 8, "ff_dim": 64, "dropout": 0.0}
warm_up = keras.optimizers.schedules.PolynomialDecay(2e-5, 100, end_learning_rate=2e-3)  # it rises
curves = {"pre-norm": [], "post-norm": [], "post-norm with warm-up": []}
for name, losses in curves.items():
    norm = name.partition("-")[0]
    for seed in range(SEEDS):
        keras.utils.set_random_seed(seed)
        inputs = keras.Input((8, 8))
        x = kerastrans.PositionalEncoding(8, 32)(layers.Dense(32)(inputs))
        for _ in range(6):
            x = kerastrans.transformer_encoder(x, **sizes, norm=norm)
        if norm == "pre":
            x = layers.LayerNormalization()(x)
        model = keras.Model(inputs, layers.Dense(8)(x))
        rate = warm_up if "warm-up" in name else 2e-3
        model.compile(keras.optimizers.Adam(rate), "mse", jit_compile=False)
        fit = model.fit(sequences, sequences[:, ::-1], epochs=8, batch_size=32, verbose=0)
        losses.append(fit.history["loss"])
    print(f"{name}: {np.array(losses)[:, -1].round(3)}")
# Alt text: Training error of three seeds over eight epochs on a logarithmic scale: with pre-norm
# all curves fall below 0.1, with post-norm they stay near 1, also with warm-up.
figure, panel = plt.subplots(figsize=(7, 3.2), layout="constrained")
for (name, losses), colour in zip(curves.items(), ("#2e86ab", "#d1495b", "#edae49"), strict=True):
    for seed, values in enumerate(losses):
        label = None if seed else name
        panel.plot(np.arange(1, len(values) + 1), values, "o-", color=colour, label=label)
panel.set_yscale("log")
panel.set_xlabel("epoch")
panel.set_ylabel("mean squared error")
panel.legend(frameon=False)
plt.show()
pre, post, warmed = (np.array(losses)[:, -1] for losses in curves.values())
if SEEDS > 1:  # trained in full
    assert pre.max() < 0.1  # claim: pre-norm
    assert post.min() > 0.7  # claim: pre-norm
    margin = 3 * max(pre.std(ddof=1), post.std(ddof=1))
    assert post.mean() - pre.mean() > margin  # claim: pre-norm
    assert warmed.max() > 0.7  # claim: warm-up

# %% [markdown]
# ## A layer of your own
#
# In Keras a layer is a class with three methods: `__init__` stores the arguments, `build` makes the
# weights when the shape of the inputs is known, and `call` computes. `get_config` returns the
# arguments, so that a model that contains the layer can be saved and loaded. This one multiplies
# each channel by a weight:


# %%
@keras.saving.register_keras_serializable("lesson")
class Gain(layers.Layer):
    def __init__(self, start=1.0, **kwargs):
        super().__init__(**kwargs)
        self.start = start

    def build(self, shape):  # (batch, time, width)
        initializer = keras.initializers.Constant(self.start)
        self.gain = self.add_weight(shape=(shape[-1],), initializer=initializer)

    def call(self, x):
        return x * self.gain

    def get_config(self):
        return {**super().get_config(), "start": self.start}


print(Gain(2.0)(np.ones((1, 2, 3), "float32")))
print(Gain.from_config(Gain(2.0).get_config()).start)

# %% [markdown]
# A layer that contains other layers makes them in its `build`, and builds each of them there, for
# example `self.query = layers.Dense(32)` and `self.query.build(shape)`. Then all weights exist
# before the first call, and Keras can load saved ones.

# %% [markdown]
# ## The blocks on tensors of ones
#
# `transformer_encoder` and `transformer_decoder` add a block to a functional model. Called on
# arrays, as here, they create new weights each time. `TransformerEncoder` and `TransformerDecoder`
# are the same blocks as layers, which keep theirs.

# %%
x = np.ones((2, 100, 24), "float32")
mask = kerastrans.create_padding_mask(np.array([3, 2]), 100)
sizes = {"num_heads": 8, "key_dim": 3, "ff_dim": 48, "dropout": 0.5, "norm": "post"}
encoded = kerastrans.transformer_encoder(x, padding_mask=mask, **sizes)
decoded = kerastrans.transformer_decoder(x, encoded, encoder_padding_mask=mask, **sizes)
print("encoder", encoded.shape, "decoder", decoded.shape)

# %% [markdown]
# ## Exercises
#
# Replace `...` by your answer and run the cell. `kerastrans.lessons.hint("2b.1")` helps, in three
# steps. Solutions: [answers.ipynb](answers.ipynb).

# %% [markdown]
# **2b.1** Write a layer that adds the sinusoids to (batch, length, dim), and reloads.


# %%
class PositionalEncoding(keras.layers.Layer):
    def __init__(self, max_len, dim, **kwargs):
        super().__init__(**kwargs)

    def call(self, inputs):
        return ...


kerastrans.lessons.check("2b.1", PositionalEncoding)

# %% [markdown]
# **2b.2** Write a layer of multi-head self-attention from four Dense layers. `build` makes them in
# this order: query, key, value, output.


# %%
class MultiHeadAttention(keras.layers.Layer):
    def __init__(self, num_heads, key_dim, **kwargs):
        super().__init__(**kwargs)

    def call(self, x):
        return ...


kerastrans.lessons.check("2b.2", MultiHeadAttention)

# %% [markdown]
# **2b.3** Return layer normalisation of (batch, time, width), epsilon 1e-3 as in Keras.


# %%
def layer_norm(x):
    return ...


kerastrans.lessons.check("2b.3", layer_norm)

# %% [markdown]
# **2b.4** Return the output of a pre-norm encoder block from its three parts.


# %%
def encoder_block(x, norm, attend, feed_forward):
    return ...


kerastrans.lessons.check("2b.4", encoder_block)
