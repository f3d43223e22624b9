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
# # Answers to the exercises
#
# Three for each lesson; where a number is asked for, it is measured here. Runs in one to two
# minutes.

# %%
# %matplotlib inline
import os
import tempfile
import time
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import matplotlib.pyplot as plt
import numpy as np
from keras import ops

import kerastrans
from kerastrans import (
    CachedMultiHeadAttention,
    LearntPositionalEncoding,
    PositionalEncoding,
    evaluation,
)
from kerastrans.data import (
    StandardScaler,
    chronological_split,
    random_sequences,
    sliding_windows,
    teacher_forcing_pairs,
    window_dataset,
)

keras.utils.set_random_seed(0)
random = np.random.default_rng(0)


def refused(function):
    """The message of the error that a call ends with."""
    try:
        function()
    except (ValueError, OSError) as error:
        return str(error)


# %% [markdown]
# ## 1. Positional encoding
#
# **Another base.** With a base of 100 the slowest pair turns once in about 630 steps instead of
# 63,000. Within 200 positions the product then falls lower, and positions far apart are told apart
# better; but past the longest wavelength positions begin to look alike again.


# %%
def encoding(length, dim, base):
    angles = np.arange(length)[:, None] / base ** (np.arange(0, dim, 2) / dim)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(length, dim)


figure, panel = plt.subplots(figsize=(7, 3), layout="constrained")
for base in (10_000, 100):
    rows = encoding(200, 32, base)
    panel.plot(rows @ rows[0], label=f"base {base:,}")
panel.set_xlabel("distance [steps]")
panel.set_ylabel("product of two encodings")
panel.legend(frameon=False)
plt.show()

# %% [markdown]
# **A learnt encoding** has one vector for each of 60 positions and none for the sixty-first: it
# refuses, in words. The sinusoids are a formula, which has a value everywhere.

# %%
learnt = LearntPositionalEncoding(60, 32)
print(refused(lambda: learnt.check_length(61)))
print(PositionalEncoding(None, 32)(np.zeros((1, 61, 32), "float32")).shape)

# %% [markdown]
# **Sines alone.** A shift needs $\sin(a + b) = \sin a\cos b + \cos a\sin b$, and from $\sin a$
# alone the second term is missing. Fitting the best linear map from each row to the next shows it:

# %%
full = encoding(400, 16, 10_000)
for name, rows in (("sines and cosines", full), ("sines alone", full[:, ::2])):
    shift, *_ = np.linalg.lstsq(rows[:-1], rows[1:], rcond=None)
    print(f"{name}: largest error {np.abs(rows[:-1] @ shift - rows[1:]).max():.1e}")

# %% [markdown]
# ## 2. Attention
#
# **Additive attention** computes a vector for every pair of query and key, not one number. That is
# $d$ times the memory, and no matrix product to speed it up.

# %%
queries, keys = random.standard_normal((2, 512, 64))
direction = random.standard_normal(64)


def additive():
    return np.tanh(queries[:, None] + keys[None]) @ direction


for name, score in (("dot product", lambda: queries @ keys.T), ("additive", additive)):
    score()
    start = time.perf_counter()
    score()
    print(f"{name:>12}: {1e3 * (time.perf_counter() - start):8.2f} ms for 512 x 512 scores")

# %% [markdown]
# In a model that learns a copy task of 12 steps, additive attention ended at an error of 0.0056
# where dot products had 0.0015, and took 1.1 times as long an epoch
# (`benchmarks/accuracy/exercises.py`, 15 epochs).
#
# **A valid length of 0** hides every key. A softmax over equal (large, negative) scores would be
# uniform: the mean of all padding would be returned as if it were data. Zeros add nothing to the
# residual stream.

# %%
layer = CachedMultiHeadAttention(num_heads=2, key_dim=8)
mask = kerastrans.create_padding_mask(np.array([0]), 4)
print(ops.convert_to_numpy(layer.attention_scores(np.ones((1, 4, 16)), padding_mask=mask)).max())

# %% [markdown]
# **Twice the heads of half the width** change nothing in the projections, and so neither parameters
# nor their arithmetic; the score matrices double in number, each product being half as long. More
# softmaxes are computed, over more memory.

# %%
for heads, width in ((4, 16), (8, 8)):
    layer = CachedMultiHeadAttention(num_heads=heads, key_dim=width)
    layer.build((1, 6, 64))
    print(heads, "heads of", width, "->", layer.count_params(), "parameters")

# %% [markdown]
# ## 3. Masks
#
# **No mask at all** lets every step see the answer, so it is learnt even faster under teacher
# forcing, and generating fails in the same way. **The last step** of an inverted mask has an empty
# row: its weights are zeros, and self-attention returns the bias of its last projection alone.
# **A window of three steps** still copies: cross-attention finds the step, the position says which.
# What it cannot do is carry something from far back in what it has said.

# %%
steps = np.arange(6)
distance = steps[:, None] - steps[None]
print(((distance >= 0) & (distance < 3)).astype(int))

# %% [markdown]
# ## 4. The copy task
#
# **Without the projection** positions are added to the twelve values, and layer normalisation
# over both destroys the values: more training does not help (0.89 to 0.94 after 40 epochs, with
# three seeds). **Projected to the same width of 12** the model learns, slowly (0.18 to 0.26 after
# 40 epochs), since 12 numbers are few for a step, its position and what attention found. With 64
# there is room:

# %%
train, test = random_sequences(2000, 6, 12, 0), random_sequences(300, 6, 12, 1)
inputs, targets = teacher_forcing_pairs(train, start_token=0.0)
for d_model in (None, 12, 64):
    keras.utils.set_random_seed(0)
    model = kerastrans.build_transformer_model(
        (6, 12),
        num_heads=4,
        key_dim=16,
        ff_dim=128,
        num_encoder_blocks=1,
        num_decoder_blocks=1,
        dropout=0.0,
        d_model=d_model,
    )
    model.compile(keras.optimizers.Adam(2e-3), "mse")
    model.fit([train, inputs], targets, epochs=8, batch_size=64, verbose=0)
    said = model.generate(test, 6, start_token=0.0)
    print(f"d_model={d_model}: error of what it generates {np.mean((said - test) ** 2):.3f}")

# %% [markdown]
# **Without positions in the encoder** all steps are confused: the decoder knows which step it is to
# say, but the encoder's vectors do not say which they are, so the best it can do is their mean.
# **Backwards**, cross-attention is the other diagonal.

# %%
keras.utils.set_random_seed(0)
model = kerastrans.build_transformer_model(
    (6, 12),
    num_heads=4,
    key_dim=16,
    ff_dim=128,
    num_encoder_blocks=1,
    num_decoder_blocks=1,
    dropout=0.0,
    d_model=64,
)
model.compile(keras.optimizers.Adam(2e-3), "mse")
inputs, targets = teacher_forcing_pairs(train[:, ::-1], start_token=0.0)
model.fit([train, inputs], targets, epochs=8, batch_size=64, verbose=0)
seen, _ = teacher_forcing_pairs(model.generate(test[:1], 6, start_token=0.0), start_token=0.0)
kerastrans.plotting.attention_heatmaps(
    kerastrans.attention_scores(model, [test[:1], seen])["cross"],
    title="Cross-attention while copying backwards",
    query_axis="step to say",
    key_axis="step of the sequence",
)

# %% [markdown]
# ## 5. Forecasting
#
# The three changes, each trained as in the lesson with its first seed:

# %%
EPOCHS = 6
series = kerastrans.datasets.load("nyc_departures")
train, _, test = chronological_split(series.to_numpy("float32"), (0.7, 0.1, 0.2), 168)
contexts, targets = sliding_windows(test, 168, 24)


def error_of(build, **options):
    keras.utils.set_random_seed(0)
    windows = window_dataset(train, 168, 24, shuffle=True, seed=0, **options)
    model = build()
    rate = keras.optimizers.schedules.CosineDecay(3e-3, EPOCHS * len(windows))
    model.compile(keras.optimizers.Adam(rate), "mae")
    model.fit(windows, epochs=EPOCHS, shuffle=False, verbose=0)
    return np.abs(evaluation.forecast_windows(model, contexts, 24) - targets).mean()


def transformer(dropout=0.0, lags=()):
    return kerastrans.build_transformer_model(
        (168, 3),
        patch_length=24,
        lags=lags,
        num_heads=4,
        key_dim=16,
        ff_dim=128,
        num_encoder_blocks=1,
        num_decoder_blocks=1,
        dropout=dropout,
    )


forced = {"teacher_forcing": True, "patch_length": 24}
changes = {
    "the lesson's": (transformer, forced),
    "dropout 0.2": (lambda: transformer(dropout=0.2), forced),
    "lags (168,)": (lambda: transformer(lags=(168,)), forced),
    "nlinear": (lambda: kerastrans.zoo.build("nlinear", 168, 24, 3), {}),
}
errors = {name: error_of(build, **options) for name, (build, options) in changes.items()}
errors["the week before"] = np.abs(contexts[:, :24] - targets).mean()
for name, error in errors.items():
    print(f"{name:16} {error:.2f}")

# %% [markdown]
# ANSWERS5
#
# ## 6. Translation
#
# **Valid lengths of 10** let padding be attended to: its embedding is learnt like a word's. The
# model gets along, for training showed it the same; a sentence padded to another length then
# changes its translation. **A word in no vocabulary** is `<unk>`, one vector for all of them; what
# the sentence says without it is what is translated. `encode(..., allow_unknown=False)` refuses.
# **Tied embeddings** save one matrix, target vocabulary times width:

# %%
for tied in (False, True):
    model = kerastrans.build_seq2seq_transformer(
        400,
        500,
        d_model=32,
        num_heads=4,
        ff_dim=64,
        num_encoder_blocks=2,
        num_decoder_blocks=2,
        tied_embeddings=tied,
    )
    print(f"tied_embeddings={tied}: {model.count_params():,} parameters")

# %% [markdown]
# ## 7. Cached decoding
#
# **A batch** shares what a step costs anyway: a series among 64 costs a fraction of one alone.

# %%
model = kerastrans.build_transformer_model(
    (96, 7),
    num_heads=4,
    key_dim=16,
    ff_dim=128,
    num_encoder_blocks=2,
    num_decoder_blocks=2,
    d_model=64,
)
for batch in (1, 8, 64):
    history = random_sequences(batch, 96, 7, seed=0)
    model.generate(history, 24)
    start = time.perf_counter()
    for _ in range(5):
        model.generate(history, 24)
    each = (time.perf_counter() - start) / 5
    print(f"batch {batch:>2}: {1e3 * each:6.1f} ms, {1e3 * each / batch:5.2f} ms a series")

# %% [markdown]
# **Only decoder self-attention grows**: the encoder's output and the keys and values of
# cross-attention are computed once. **Longer loops** keep room for all their steps from the start,
# and attention runs over that room, so 48 of 96 steps take longer than 48 of 48; what is said does
# not depend on the room:

# %%
short, long = model.generate(history[:1], 48), model.generate(history[:1], 96)
print(f"largest difference {np.abs(long[:, :48] - short).max():.1e}")

# %% [markdown]
# ## 8. Mixed precision
#
# **Neighbours stay apart** in angle, which is float32; the result is rounded to float16, and most
# of the columns still differ. **Without scaling the loss** a gradient below the smallest float16
# (6e-8) becomes 0, and its weight stops. **float32** stay the two ends:

# %%
half = PositionalEncoding(None, 32, dtype="mixed_float16")(np.zeros((1, 3000, 32), "float32"))
half = ops.convert_to_numpy(half)[0]
print("smallest difference of neighbours:", np.abs(np.diff(half, axis=0)).max(axis=1).min())
print("2e-8 in float16 is", np.float16(2e-8))
keras.config.set_dtype_policy("mixed_float16")
model = kerastrans.build_transformer_model(
    (6, 12),
    num_heads=4,
    key_dim=16,
    ff_dim=128,
    num_encoder_blocks=1,
    num_decoder_blocks=1,
    d_model=64,
)
keras.config.set_dtype_policy("float32")
print([layer.name for layer in model.layers if layer.compute_dtype == "float32"])

# %% [markdown]
# ## 9. Production
#
# **A history of 100 hours** is refused by TensorFlow, which knows the shape from the signature.
# **A second export** to the same folder is refused before anything is written, and the first stays
# whole. **The scaler's numbers** are two per channel; the training data are neither needed nor to
# be handed on.

# %%
folder = Path(tempfile.mkdtemp())
model = kerastrans.zoo.build("nlinear", 168, 24, 3)
scaler = StandardScaler.fit(random.standard_normal((500, 3)))
kerastrans.export_savedmodel(model, folder / "export", scaler=scaler)
message = refused(lambda: kerastrans.export_savedmodel(model, folder / "export", scaler=scaler))
print(message.replace(str(folder), "FOLDER"))

# %% [markdown]
# ## The questions of the sources, measured
#
# `benchmarks/accuracy/exercises.py` asks four more; the figures are in
# `benchmarks/results/exercises.json`.
#
# **Deeper stacks?** 600 sentence pairs, 60 epochs: with 1, 2, 4 and 6 blocks in each stack a
# training step takes 11, 18, 33 and 45 ms, and the loss that is left is 0.060, 0.057, 0.062 and
# 0.126. On so little data depth costs its time and gives nothing; six blocks are not yet trained.
#
# **Encoder alone, decoder alone, or both?** A day ahead of New York's departures, all trained for
# the same 288 steps: the encoder alone, which returns all 24 hours at once, has a mean absolute
# error of 2.8 flights; both together 6.2, the decoder alone 8.8, for they feed their own errors
# back. A week before as the forecast has 2.5, the last value 10.4. The decoder alone has the
# fewest weights and is the one that needs no pairs: any series teaches it at every step.
#
# **Long inputs?** From 96 to 1,536 steps of context, 16 times as many, a training step of the
# Transformer takes 137 times as long, of the Informer 27, of PatchTST (eight steps a token) 14, of
# NLinear 1.6 times.
