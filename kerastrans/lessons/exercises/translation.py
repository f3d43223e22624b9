"""Exercises of lesson 6."""

import numpy as np

from kerastrans.lessons.exercise import Exercise, known_mistakes


def loss_per_word(log_probabilities, tokens, pad):
    """Return the mean negative log probability of the tokens that are not padding."""
    chosen = np.take_along_axis(log_probabilities, tokens[..., None], axis=-1)[..., 0]
    return -chosen[tokens != pad].mean()


def encode(words, vocabulary, num_steps):
    """Return the tokens of words: <unk> for unknown ones, then <eos>, then <pad>.

    Raise an error if a sentence does not fit: ValueError, IndexError or a failed assert.
    """
    tokens = [vocabulary.get(word, vocabulary["<unk>"]) for word in words]
    tokens.append(vocabulary["<eos>"])
    if len(tokens) > num_steps:
        raise ValueError(f"{len(words)} words and <eos> do not fit in {num_steps} steps")
    return np.array(tokens + [vocabulary["<pad>"]] * (num_steps - len(tokens)))


def bleu(prediction, reference, max_order):
    """Return the brevity penalty times the product of p_n ** (1 / 2**n), n = 1 .. max_order.

    p_n is the share of the prediction's n-grams that occur in the reference, with clipped counts;
    the penalty is exp(min(0, 1 - reference length / prediction length)).
    """
    from collections import Counter

    score = np.exp(min(0, 1 - len(reference) / len(prediction)))
    for order in range(1, max_order + 1):
        found, expected = (
            Counter(zip(*(words[i:] for i in range(order)), strict=False))
            for words in (prediction, reference)
        )
        score *= ((found & expected).total() / found.total()) ** (0.5**order)
    return score


def saved_parameters(source_vocabulary, target_vocabulary, d_model):
    """Return how many parameters tied_embeddings=True saves."""
    return target_vocabulary * d_model


VOCABULARY = {"<pad>": 0, "<bos>": 1, "<eos>": 2, "<unk>": 3, "he": 4, "ran": 5, ".": 6}
_random = np.random.default_rng(0)
LOG_PROBABILITIES = np.log(_random.dirichlet(np.ones(5), (2, 4)))
TOKENS = np.array([[2, 4, 0, 0], [1, 3, 2, 0]])
CAT, FULL = ["the", "the", "cat", "sat"], ["the", "cat", "sat", "on", "a", "mat"]

EXERCISES = (
    Exercise(
        "6.1",
        loss_per_word,
        {
            "Padding is counted: a model that says <pad> would look good.": lambda p, tokens, pad: (
                loss_per_word(p, tokens, -1)
            ),
            "The sum is divided by all steps, not by those that are words.": (
                lambda p, tokens, pad: loss_per_word(p, tokens, pad) * (tokens != pad).mean()
            ),
            "The sign is missing: a loss is the negative log probability.": lambda p, tokens, pad: (
                -loss_per_word(p, tokens, pad)
            ),
        },
        (
            "Pick the log probability of each token first.",
            "np.take_along_axis(log_probabilities, tokens[..., None], axis=-1)[..., 0]",
            "-chosen[tokens != pad].mean()",
        ),
        cases=((LOG_PROBABILITIES, TOKENS, 0),),
        why="SparseCategoricalCrossentropy(ignore_class=text.PAD) computes it from logits.",
    ),
    Exercise(
        "6.2",
        encode,
        known_mistakes("6.2"),
        (
            "vocabulary.get(word, vocabulary['<unk>'])",
            "Append <eos> before the padding.",
            "Raise ValueError if len(words) + 1 > num_steps, otherwise pad to num_steps.",
        ),
        cases=(
            (["he", "ran", "."], VOCABULARY, 6),
            (["tom", "ran"], VOCABULARY, 4),
            (["he", "ran", "."], VOCABULARY, 4),
            (["he", "ran", "."], VOCABULARY, 3),
        ),
        why="text.encode(..., allow_unknown=False) refuses unknown words instead.",
    ),
    Exercise(
        "6.3",
        bleu,
        known_mistakes("6.3"),
        (
            "Count n-grams: collections.Counter(zip(words, words[1:])) for n = 2.",
            "(found & expected).total() / found.total() is the clipped precision.",
            "score *= precision ** (0.5 ** order), from the penalty on.",
        ),
        cases=((CAT, FULL, 2), (FULL, FULL, 3), (["he", "ran", "home"], ["he", "ran"], 2)),
        why="text.bleu computes the same.",
    ),
    Exercise(
        "6.4",
        saved_parameters,
        {
            "The decoder's embedding is shared with the output: the target vocabulary counts.": (
                lambda source, target, d_model: source * d_model
            ),
            "The two languages keep their own embeddings.": (
                lambda source, target, d_model: (source + target) * d_model
            ),
        },
        (
            "The output layer maps the width to one score per target word.",
            "Its matrix has the shape of the decoder's embedding.",
            "target_vocabulary * d_model; the biases of the output remain.",
        ),
        cases=((400, 500, 32),),
        why="16,000 for 500 words of width 32; the biases of the output remain.",
    ),
)
