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
# The same Transformer on words: an embedding before, a choice of the next word after. It learns
# 600 short sentences; we look at what it makes of them, of others, and where it looks. Runs in one
# to two minutes. It wants the extra `text`: `pip install "kerastrans[text]"`.

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
# Real pairs come from Tatoeba. They are read from the folder that `KERASTRANS_DATA_DIR` names;
# without it, this lesson takes numbers written out in both languages, which are made on the spot
# (`load_pairs()` would download 167,130 pairs). Several translations of one sentence would be
# several right answers to one question, so we keep the first.

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
# A tokenizer for each language, trained on the training pairs alone. Every vocabulary begins with
# `<pad> <bos> <eos> <unk>`; sentences end with `<eos>` and are padded to ten steps, and their valid
# lengths go to the model, so that nothing attends to padding.

# %%
english, french = (text.train_tokenizer(side) for side in zip(*train, strict=True))
source, lengths = text.encode(english, [e for e, _ in train], STEPS, truncate=True)
target, _ = text.encode(french, [f for _, f in train], STEPS, truncate=True)
print(english.get_vocab_size(), "English and", french.get_vocab_size(), "French words")
print(train[5][1], "->", target[5], "->", text.decode(french, target[5:6]))

# %% [markdown]
# ## Model and training
#
# Two blocks of width 32, four heads, as small as in the sources. The loss is the cross-entropy per
# word, in which padding does not count.

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
    """References parted into words as the tokenizer does."""
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
# Those it has learnt by heart. Honest is what it makes of sentences it has not seen. From 600 pairs
# no one learns French; numbers, which follow rules, go better.
# `benchmarks/accuracy/translation.py` measures a larger model on more pairs.

# %%
for name, pairs in (("seen", train[:100]), ("unseen", unseen)):
    references = as_words([f for _, f in pairs])
    found = translate([e for e, _ in pairs])
    right = np.mean([f == r for f, r in zip(found, references, strict=True)])
    score = corpus_bleu(found, [[r] for r in references])
    print(f"{name:>6}: corpus BLEU {score:5.1f}, exactly right {right:.0%}")

# %% [markdown]
# ## Other ways to choose a word
#
# Beam search keeps the most probable beginnings; a random sampler draws, from all words or from the
# likely ones only. The cached loop is the same.

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
# `attention_scores` runs the model as it is and keeps every block's weights. Rows are the French
# words as they are said, columns the English ones; padding gets nothing and stays empty.

# %%
one = max(shown, key=lambda pair: len(pair[1]))[0]
tokens, length = text.encode(english, [one], STEPS)
said = model.generate(tokens, length, STEPS)
seen = np.concatenate([[[text.START]], said[:, :-1]], axis=1)
scores = kerastrans.attention_scores(model, [tokens, length, seen])
words = [french.id_to_token(int(t)) for t in said[0] if t != text.PAD]
plotting.attention_heatmaps(
    scores["cross"][:, :, : len(words)],
    words,
    [english.id_to_token(int(t)) for t in tokens[0]],
    title="Cross-attention",
    query_axis="French word to say",
    key_axis="English word",
)

# %% [markdown]
# ## Exercises
#
# 1. Let the model see no padding mask (valid lengths of 10 for every sentence). What happens to
#    attention, and to the translations?
# 2. Translate a sentence with a word that is in no vocabulary. What does the model see?
# 3. Tie the embeddings (`tied_embeddings=True`). How many parameters are saved?
#
# Answers: [answers.ipynb](answers.ipynb).
