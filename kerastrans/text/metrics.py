"""Accuracy and BLEU of token sequences."""

import math
from collections import Counter

import keras
from keras import ops

from kerastrans.text.tokens import PAD
from kerastrans.utils.validation import check_positive_integers, import_extra


@keras.saving.register_keras_serializable(package="kerastrans")
class TokenAccuracy(keras.metrics.Mean):
    """Share of the tokens that are the most probable ones, padding left out.

    Args:
        pad_token: int, targets that do not count.
    """

    def __init__(self, pad_token=PAD, name="token_accuracy", **kwargs):
        super().__init__(name=name, **kwargs)
        self.pad_token = pad_token

    def update_state(self, targets, logits, sample_weight=None):
        """Targets `(batch, time)`, logits `(batch, time, vocabulary)`."""
        chosen = ops.cast(ops.argmax(logits, axis=-1), "int32")
        targets = ops.cast(targets, "int32")
        counts = ops.cast(targets != self.pad_token, self.dtype)
        if sample_weight is not None:
            counts = counts * ops.cast(sample_weight, self.dtype)
        super().update_state(ops.cast(chosen == targets, self.dtype), counts)

    def get_config(self):
        return {**super().get_config(), "pad_token": self.pad_token}


def bleu(prediction, reference, max_order=2):
    """BLEU of one sentence, in which longer runs of words weigh more than in the original.

    exp(min(0, 1 - reference length / prediction length)) times the product over n = 1..k of
    p_n^(1/2^n), where p_n is the share of the prediction's runs of n words that are in the
    reference.

    Args:
        prediction: str, words separated by spaces.
        reference: str, words separated by spaces.
        max_order: int, the longest run k; at most the words of the prediction count.

    Returns:
        float in [0, 1]; 0 for an empty prediction.

    Raises:
        ValueError: an empty reference, `max_order` below 1.

    Source: Papineni et al. (2002), section 2.3, with the weights of Zhang et al., Dive into
    Deep Learning, section 10.7.
    """
    check_positive_integers(max_order=max_order)
    said, wanted = prediction.split(), reference.split()
    if not wanted:
        raise ValueError("bleu wants a reference of at least one word, got an empty one.")
    if not said:
        return 0.0
    score = math.exp(min(0.0, 1 - len(wanted) / len(said)))
    for order in range(1, min(max_order, len(said)) + 1):
        runs, known = _runs(said, order), _runs(wanted, order)
        score *= ((runs & known).total() / runs.total()) ** (0.5**order)
    return score


def corpus_bleu(predictions, references):
    """Corpus BLEU by sacrebleu, on words parted by spaces as they stand.

    Args:
        predictions: sequence of str.
        references: sequence of lists of str, all translations that are right.

    Returns:
        float in [0, 100].

    Raises:
        ImportError: the extra `text` is not installed.
        ValueError: numbers of sentences that differ, none at all, one without a reference.

    Source: Papineni et al. (2002); Post (2018).
    """
    sacrebleu = import_extra("sacrebleu.metrics", "corpus_bleu", "text")
    if len(predictions) != len(references) or not all(references) or not len(predictions):
        raise ValueError(
            "corpus_bleu wants one list of references, not empty, for each prediction, got "
            f"{len(predictions)} predictions and {len(references)} lists."
        )
    most = max(map(len, references))
    streams = [[r[i] if i < len(r) else None for r in references] for i in range(most)]
    return (
        sacrebleu.BLEU(tokenize="none", force=True).corpus_score(list(predictions), streams).score
    )


def _runs(words, order):
    """How often each run of `order` words occurs."""
    return Counter(zip(*(words[i:] for i in range(order)), strict=False))
