"""
Title: Translation, ported from Dive into Deep Learning
Author: The kerastrans contributors
Date created: 2026/11/29
Last modified: 2026/11/29
Description: The book's Transformer for English and French, in Keras by hand and in one call.
Accelerator: None
"""

"""
## Introduction

The chapter on the Transformer of ["Dive into Deep Learning"](
https://d2l.ai/chapter_attention-mechanisms-and-transformers/transformer.html) builds an encoder and
a decoder from classes, hides padding by the length of the sentence, and decodes greedily. With
`KERASTRANS_DATA_DIR` the pairs are sentences of Tatoeba as in the book; without it, numbers written
out in words. This example requires `pip install ".[text]"`.
"""

import os

import keras
import numpy as np
import pandas as pd
from keras import ops

import kerastrans
from kerastrans import text

SMALL = os.environ.get("KERASTRANS_EXAMPLES") == "small"  # smaller sizes for the tests
WIDTH, HEADS, HIDDEN, BLOCKS, DROPOUT, EPOCHS = 64, 4, 128, 2, 0.1, 1 if SMALL else 12
if "KERASTRANS_DATA_DIR" in os.environ:
    pairs, STEPS = text.load_pairs(), 12
    pairs = [pairs[i] for i in np.random.default_rng(0).permutation(len(pairs))]
else:
    pairs, STEPS = text.number_pairs(5000), 20
pairs = pairs[:200] if SMALL else pairs
held_out = 20 if SMALL else 500
english, french = (text.train_tokenizer(side) for side in zip(*pairs[held_out:], strict=True))
source, lengths = text.encode(english, [e for e, _ in pairs], STEPS)
target, _ = text.encode(french, [f for _, f in pairs], STEPS)
sizes = english.get_vocab_size(), french.get_vocab_size()
inputs, targets = text.translation_arrays(source, lengths, target)
train = [x[held_out:] for x in inputs], targets[held_out:]
print(f"{len(pairs) - held_out:,} pairs to train, {held_out} to test")

"""
## By hand

The book's classes in plain Keras: positions, the mask, the parts of a block, the model, and the
loop that feeds each token back. Each sublayer normalises after it adds.
"""


class Embed(keras.layers.Layer):
    """Embedding, scaled and with sinusoidal positions."""

    def __init__(self, vocab_size):
        super().__init__()
        self.embedding = keras.layers.Embedding(vocab_size, WIDTH)
        angles = np.arange(STEPS)[:, None] / 10_000 ** (np.arange(0, WIDTH, 2) / WIDTH)
        table = np.stack([np.sin(angles), np.cos(angles)], axis=-1)
        self.table = table.reshape(STEPS, WIDTH).astype("float32")

    def call(self, tokens):
        """Return `(batch, time, width)`."""
        x = self.embedding(tokens) * WIDTH**0.5
        return x + ops.take(self.table, ops.arange(ops.shape(tokens)[1]), axis=0)


class PaddingMask(keras.layers.Layer):
    """Tells which tokens of the source are not padding."""

    def call(self, source, lengths):
        """Return `(batch, 1, time)`."""
        return (ops.arange(ops.shape(source)[1]) < lengths[:, None])[:, None]


def add_norm(x, y):
    """Add a residual connection, and normalise after it."""
    return keras.layers.LayerNormalization()(x + keras.layers.Dropout(DROPOUT)(y))


def attend(x, memory, **options):
    """Add attention."""
    attention = keras.layers.MultiHeadAttention(HEADS, WIDTH // HEADS, dropout=DROPOUT)
    return add_norm(x, attention(x, memory, **options))


def feed_forward(x):
    """Add the network that each position has for itself."""
    return add_norm(x, keras.layers.Dense(WIDTH)(keras.layers.Dense(HIDDEN, "relu")(x)))


def by_hand():
    """Return the book's model."""
    source, lengths = keras.Input((None,), dtype="int32"), keras.Input((), dtype="int32")
    shifted = keras.Input((None,), dtype="int32")
    mask = PaddingMask()(source, lengths)
    x = keras.layers.Dropout(DROPOUT)(Embed(sizes[0])(source))
    for _ in range(BLOCKS):
        x = feed_forward(attend(x, x, attention_mask=mask))
    y = keras.layers.Dropout(DROPOUT)(Embed(sizes[1])(shifted))
    for _ in range(BLOCKS):
        y = attend(y, y, use_causal_mask=True)
        y = feed_forward(attend(y, x, attention_mask=mask))
    return keras.Model([source, lengths, shifted], keras.layers.Dense(sizes[1])(y))


def decode_by_hand(model, source, lengths):
    """Feed the most probable token back, one step after the other."""
    tokens = np.full((len(source), 1), text.START, "int32")
    for _ in range(STEPS):
        logits = ops.convert_to_numpy(model([source, lengths, tokens]))[:, -1]
        tokens = np.concatenate([tokens, logits.argmax(-1)[:, None].astype("int32")], axis=1)
    ended = np.cumsum(tokens == text.END, axis=1) > 0
    return np.where(ended, text.PAD, tokens)[:, 1:]


"""
## With kerastrans

`norm="post"` is the book's order; the default, `"pre"`, is easier to train.
"""


def ported():
    """Return the same model."""
    return kerastrans.build_seq2seq_transformer(
        *sizes, WIDTH, HEADS, HIDDEN, BLOCKS, BLOCKS, DROPOUT, norm="post"
    )


def decode(model, source, lengths):
    """Decode greedily, with a cache of keys and values."""
    return model.generate(source, lengths, STEPS)


"""
## Comparison

The mean of the book's BLEU over held-out pairs, in percent. Both models are trained on batches of
64 pairs, for as many epochs.
"""

references = text.decode(french, target[:held_out])
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=text.PAD)
variants = {"by hand": (by_hand, decode_by_hand), "kerastrans": (ported, decode)}
rows = []
for name, (build, decoder) in variants.items():
    for seed in range(1 if SMALL else 2):
        keras.utils.set_random_seed(seed)
        model = build()
        model.compile(keras.optimizers.Adam(1e-3), loss)
        model.fit(*train, batch_size=64, epochs=EPOCHS, verbose=0)
        tokens = decoder(model, source[:held_out], lengths[:held_out])
        translations = zip(text.decode(french, tokens), references, strict=True)
        score = 100 * float(np.mean([text.bleu(*pair) for pair in translations]))
        rows.append([name, seed, "BLEU", score, model.count_params()])
scores = pd.DataFrame(rows, columns=["variant", "seed", "metric", "value", "weights"])
print(scores.round(1).to_string(index=False))

"""
## Conclusions

`model.generate(source, lengths, steps, kerastrans.BeamSampler(4))` decodes with a beam, and
`kerastrans.attention_scores` returns the weights that the book plots.
"""
