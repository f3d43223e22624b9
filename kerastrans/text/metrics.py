"""Accuracy and BLEU of token sequences."""

import math
from collections import Counter

import keras
from keras import ops

from kerastrans.heads.losses import align_weights
from kerastrans.text.tokens import PAD
from kerastrans.utils.keras_internals import mask_of
from kerastrans.utils.validation import check_positive_integers, import_extra


@keras.saving.register_keras_serializable(package="kerastrans")
class TokenAccuracy(keras.metrics.Mean):
    """Fraction of targets that are the most probable token, ignoring padding.

    Args:
        pad_token: int, token of the padding; such targets are ignored.
        name: Name of the metric.
        **kwargs: Additional arguments of `keras.metrics.Mean`.
    """

    def __init__(self, pad_token=PAD, name="token_accuracy", **kwargs):
        super().__init__(name=name, **kwargs)
        self.pad_token = pad_token

    def update_state(self, targets, logits, sample_weight=None):
        """Update the mean with targets `(batch, time)` and logits `(batch, time, vocabulary)`.

        A weight `(batch,)` counts for all targets of its row, one `(batch, time)` for its own. The
        implicit mask of the logits hides targets.

        Raises:
            ValueError: If the weights have another shape.
        """
        chosen = ops.cast(ops.argmax(logits, axis=-1), "int32")
        targets = ops.cast(targets, "int32")
        counts = ops.cast(targets != self.pad_token, self.dtype)
        if sample_weight is not None:
            counts = counts * align_weights("sample_weight", sample_weight, counts)
        if (mask := mask_of(logits)) is not None:
            counts = counts * align_weights("the mask of logits", mask, counts)
        super().update_state(ops.cast(chosen == targets, self.dtype), counts)

    def get_config(self):
        return {**super().get_config(), "pad_token": self.pad_token}


def bleu(prediction, reference, max_order=2):
    """Return the BLEU of one sentence, with larger weights for long n-grams than in the paper.

    The score is exp(min(0, 1 - reference length / prediction length)) times the product over
    n = 1..k of p_n^(1/2^n), where p_n is the fraction of the prediction's n-grams that occur in the
    reference.

    Args:
        prediction: str, words separated by spaces.
        reference: str, words separated by spaces.
        max_order: int, length k of the longest n-grams, limited to the words of the prediction.

    Returns:
        float in [0, 1]; 0 for an empty prediction.

    Raises:
        ValueError: If the reference is empty or `max_order` is below 1.

    Source: Papineni et al. (2002), section 2.3, with the weights of Zhang et al., Dive into
    Deep Learning, section 10.7.
    """
    check_positive_integers(max_order=max_order)
    predicted, expected = prediction.split(), reference.split()
    if not expected:
        raise ValueError("bleu requires a reference of at least one word, got an empty one.")
    if not predicted:
        return 0.0
    score = math.exp(min(0.0, 1 - len(expected) / len(predicted)))
    for order in range(1, min(max_order, len(predicted)) + 1):
        ngrams, reference_ngrams = _count_ngrams(predicted, order), _count_ngrams(expected, order)
        score *= ((ngrams & reference_ngrams).total() / ngrams.total()) ** (0.5**order)
    return score


def corpus_bleu(predictions, references):
    """Return the corpus BLEU of sacrebleu for sentences that are already split by spaces.

    Args:
        predictions: Sequence of str.
        references: Sequence of lists of str, the correct translations of each sentence.

    Returns:
        float in [0, 100].

    Raises:
        ImportError: If the extra `text` is not installed.
        ValueError: If no sentences are given, if the numbers of predictions and references differ,
            or if a sentence has no reference.

    Source: Papineni et al. (2002); Post (2018).
    """
    sacrebleu = import_extra("sacrebleu.metrics", "corpus_bleu", "text")
    if len(predictions) != len(references) or not all(references) or not len(predictions):
        raise ValueError(
            "corpus_bleu requires a non-empty list of references for each prediction, got "
            f"{len(predictions)} predictions and {len(references)} lists."
        )
    # sacrebleu expects one list per rank of reference, with None for sentences that have fewer.
    max_references = max(map(len, references))
    streams = [[r[i] if i < len(r) else None for r in references] for i in range(max_references)]
    return (
        sacrebleu.BLEU(tokenize="none", force=True).corpus_score(list(predictions), streams).score
    )


def _count_ngrams(words, order):
    """Return a Counter of the n-grams with n = `order`."""
    return Counter(zip(*(words[i:] for i in range(order)), strict=False))
