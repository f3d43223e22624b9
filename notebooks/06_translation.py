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
# # 6. From English to French: tokens, BLEU and attention maps
#
# A Transformer on words, with an embedding before it and a choice of the next word after it. It
# learns 600 short sentences; we look at its translations of these and of others, and at its
# attention. The lesson runs in one to two minutes. It requires the extra `text`:
# `pip install "kerastrans[text]"`.

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
import numpy as np
import pandas as pd

import kerastrans
from kerastrans import BeamSampler, RandomSampler, plotting, text
from kerastrans.text import TokenAccuracy, bleu, corpus_bleu, load_pairs, number_pairs

keras.utils.set_random_seed(0)
STEPS = 10

# %% [markdown]
# ## Sentences
#
# Real pairs come from Tatoeba. They are read from the folder in `KERASTRANS_DATA_DIR`; without it,
# this lesson generates numbers written as words in both languages (`load_pairs()` would download
# 167,130 pairs). If a sentence has several translations, we keep the first.

# %%
if os.environ.get("KERASTRANS_DATA_DIR"):
    first = {}
    for english, french in load_pairs(5000):
        first.setdefault(english, french)
    pairs = list(first.items())
    train, unseen = pairs[:600], pairs[600:700]
else:
    pairs = number_pairs(700, limit=1000)
    train, unseen = pairs[:600], pairs[600:]
train[:3], len(train), len(unseen)

# %% [markdown]
# ## Vocabulary
#
# Each language has a tokenizer, trained only on the training pairs. Every vocabulary begins with
# `<pad> <bos> <eos> <unk>`; sentences end with `<eos>` and are padded to ten steps. The model gets
# their valid lengths, so that nothing attends to padding.

# %%
english, french = (text.train_tokenizer(side) for side in zip(*train, strict=True))
source, lengths = text.encode(english, [e for e, _ in train], STEPS, truncate=True)
target, _ = text.encode(french, [f for _, f in train], STEPS, truncate=True)
print(english.get_vocab_size(), "English and", french.get_vocab_size(), "French words")
print(train[5][1], "->", target[5], "->", text.decode(french, target[5:6]))

# %% [markdown]
# ## Model and training
#
# Two blocks of width 32 with four heads. Embeddings are multiplied by the root of the width: their
# entries start small, and positions between -1 and 1 would drown them. The loss is the
# cross-entropy per word; padding does not count.

# %%
EPOCHS = 90
model = kerastrans.build_seq2seq_transformer(
    english.get_vocab_size(),
    french.get_vocab_size(),
    d_model=32,
    num_heads=4,
    ff_dim=64,
    num_encoder_blocks=2,
    num_decoder_blocks=2,
    dropout=0.1,
)
rate = keras.optimizers.schedules.CosineDecay(5e-3, EPOCHS * 10)
model.compile(
    keras.optimizers.Adam(rate, global_clipnorm=1.0),
    keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=text.PAD),
    metrics=[TokenAccuracy()],
)
inputs, targets = text.translation_arrays(source, lengths, target)
history = model.fit(inputs, targets, batch_size=64, epochs=EPOCHS, verbose=0).history
print(
    f"loss per word {history['loss'][0]:.2f} -> {history['loss'][-1]:.3f}, "
    f"right words {history['token_accuracy'][-1]:.1%}"
)

# %% [markdown]
# ## Translating
#
# `generate` chooses the most probable word, feeds it back, and ends when all sentences have ended.
# BLEU compares runs of words with the reference: 1 is the reference itself.


# %%
def translate(sentences, sampler=None):
    tokens, lengths = text.encode(english, sentences, STEPS, truncate=True)
    return text.decode(french, model.generate(tokens, lengths, STEPS, sampler))


def as_words(sentences):
    """References, split into words by a tokenizer."""
    part = text.train_tokenizer(sentences)
    return text.decode(part, text.encode(part, sentences, 40)[0])


wanted = {"Go.", "I lost.", "I'm home.", "He left."}
shown = [pair for pair in train if pair[0] in wanted] or train[:4]
found = translate([e for e, _ in shown])
references = as_words([f for _, f in shown])
pd.DataFrame(
    {
        "English": [e for e, _ in shown],
        "translation": found,
        "reference": references,
        "BLEU (k=2)": [bleu(f, r) for f, r in zip(found, references, strict=True)],
    }
)

# %% [markdown]
# The model has memorised these. The honest test is sentences that it has not seen. <!-- claim:
# unseen
# --> Their corpus BLEU is less than half of that of the seen ones. Some of them contain a word that
# is in no vocabulary; they are scored separately. `benchmarks/accuracy/translation.py` measures a
# larger model on more pairs.

# %%
unknown = english.token_to_id("<unk>")
known = [pair for pair in unseen if unknown not in text.encode(english, [pair[0]], 40)[0]]
groups = {
    "seen": train[:100],
    "unseen, all words known": known,
    "unseen, a word unknown": [pair for pair in unseen if pair not in known],
}
scores = {}
for name, pairs in groups.items():
    if pairs:
        references = as_words([f for _, f in pairs])
        found = translate([e for e, _ in pairs])
        right = np.mean([f == r for f, r in zip(found, references, strict=True)])
        scores[name] = corpus_bleu(found, [[r] for r in references])
        print(f"{name:>24}: {len(pairs)}, corpus BLEU {scores[name]:5.1f}, exact {right:.0%}")
if EPOCHS > 2 and os.environ.get("KERASTRANS_DATA_DIR"):  # numbers, which follow rules, go better
    assert scores["unseen, all words known"] < scores["seen"] / 2  # claim: unseen

# %% [markdown]
# ## Other ways to choose a word
#
# Beam search keeps the most probable beginnings; a random sampler draws, from all words or from the
# likely ones only. The cached loop does not change.

# %%
sentence = unseen[0][0]
samplers = {
    "greedy": None,
    "beam of 4": BeamSampler(4, length_penalty=1.0),
    "temperature 1.5": RandomSampler(1.5, seed=1),
    "top-k 3": RandomSampler(1.0, top_k=3, seed=1),
    "top-p 0.8": RandomSampler(1.0, top_p=0.8, seed=1),
}
print(sentence)
for name, sampler in samplers.items():
    print(f"{name:>16}: {translate([sentence], sampler)[0]}")

# %% [markdown]
# ## Where it looks
#
# `attention_scores` runs the model and returns the weights of every block. Rows are the French
# words in the order of generation, columns the English ones. <!-- claim: padding --> Padding gets a
# weight of zero.

# %%
one = max(shown, key=lambda pair: len(pair[1]))[0]
tokens, length = text.encode(english, [one], STEPS)
generated = model.generate(tokens, length, STEPS)
seen = np.concatenate([[[text.START]], generated[:, :-1]], axis=1)
scores = kerastrans.attention_scores(model, [tokens, length, seen])
words = [french.id_to_token(int(t)) for t in generated[0] if t != text.PAD]
assert scores["cross"][..., int(length[0]) :].max() == 0  # claim: padding
# Alt text: Eight heat maps of cross-attention, two blocks of four heads, French words by English
# words; the columns of padding are empty.
plotting.attention_heatmaps(
    scores["cross"][:, :, : len(words)],
    words,
    [english.id_to_token(int(t)) for t in tokens[0]],
    title="Cross-attention",
    query_axis="next French word",
    key_axis="English word",
)

# %% [markdown]
# ## Exercises
#
# Replace `...` by your answer and run the cell. `kerastrans.lessons.hint("6.1")` helps, in three
# steps. Solutions: [answers.ipynb](answers.ipynb).

# %% [markdown]
# **6.1** Return the mean negative log probability of the tokens that are not padding.


# %%
def loss_per_word(log_probabilities, tokens, pad):
    return ...


kerastrans.lessons.check("6.1", loss_per_word)

# %% [markdown]
# **6.2** Return the tokens of words: <unk> for unknown ones, then <eos>, then <pad>. Refuse a
# sentence that does not fit.


# %%
def encode(words, vocabulary, num_steps):
    return ...


kerastrans.lessons.check("6.2", encode)

# %% [markdown]
# **6.3** Return the brevity penalty times the product of p_n ** (1 / 2**n), n = 1 .. max_order.
# p_n is the share of the prediction's n-grams that occur in the reference, with clipped counts;
# the penalty is exp(min(0, 1 - reference length / prediction length)).


# %%
def bleu(prediction, reference, max_order):
    return ...


kerastrans.lessons.check("6.3", bleu)

# %% [markdown]
# **6.4** Return how many parameters tied_embeddings=True saves.


# %%
def saved_parameters(source_vocabulary, target_vocabulary, d_model):
    return ...


kerastrans.lessons.check("6.4", saved_parameters)
