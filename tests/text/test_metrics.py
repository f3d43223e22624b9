import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from keras import ops
from sacrebleu.metrics import BLEU

from kerastrans.text import metrics
from kerastrans.utils.keras_internals import set_mask


def test_bleu_of_a_right_a_partial_and_a_short_translation():
    assert metrics.bleu("je suis chez moi .", "je suis chez moi .") == 1
    # 4 of 5 words, 2 of 4 pairs: 0.8^(1/2) * 0.5^(1/4)
    assert metrics.bleu("a b x d e", "a b c d e") == pytest.approx(0.8**0.5 * 0.5**0.25)
    assert metrics.bleu("a b", "a b c d") == pytest.approx(math.exp(1 - 4 / 2))
    assert metrics.bleu("a a a", "a b c", 1) == pytest.approx((1 / 3) ** 0.5)  # clipped
    assert metrics.bleu("", "a") == 0
    assert metrics.bleu("x y", "a b") == 0


@given(
    prediction=st.lists(st.sampled_from("abcd"), min_size=4, max_size=9),
    reference=st.lists(st.sampled_from("abcd"), min_size=4, max_size=9),
)
def test_bleu_is_made_of_the_precisions_and_the_brevity_that_sacrebleu_counts(
    prediction, reference
):
    prediction, reference = " ".join(prediction), " ".join(reference)
    score = BLEU(max_ngram_order=2, tokenize="none", smooth_method="none", force=True)
    theirs = score.corpus_score([prediction], [[reference]])
    expected = theirs.bp * math.prod(
        (precision / 100) ** 0.5**order for order, precision in enumerate(theirs.precisions, 1)
    )
    assert metrics.bleu(prediction, reference) == pytest.approx(expected, abs=1e-6)


def test_corpus_bleu_takes_the_nearest_of_several_references():
    predictions = ["the cat sat on the mat", "go home now please"]
    both = [["a cat is here", "the cat sat on the mat"], ["go home now please"]]
    assert metrics.corpus_bleu(predictions, both) == pytest.approx(100)
    assert metrics.corpus_bleu(predictions, [r[:1] for r in both]) < 60


def test_bad_sentences_for_bleu():
    with pytest.raises(ValueError, match="reference of at least one word"):
        metrics.bleu("a", " ")
    with pytest.raises(ValueError, match="max_order must be an integer of at least 1, got 0"):
        metrics.bleu("a", "a", 0)
    for references in ([], [["a"], ["b"]], [[]]):
        with pytest.raises(ValueError, match="a non-empty list of references"):
            metrics.corpus_bleu(["a"], references)


@pytest.mark.parametrize("weights", [[1.0, 0.0], [[1.0, 1.0], [0.0, 0.0]]])
def test_token_accuracy_has_weights_of_rows_or_tokens(weights):
    logits = np.zeros((2, 2, 8), "float32")
    logits[0, [0, 1], [4, 5]] = 1  # both right; in the second row both are wrong
    accuracy = metrics.TokenAccuracy()
    accuracy.update_state(np.array([[4, 5], [6, 7]]), logits, np.array(weights))
    assert float(accuracy.result()) == 1
    accuracy.update_state(np.array([[4, 5], [6, 7]]), logits)
    assert float(accuracy.result()) == pytest.approx(4 / 6)


def test_token_accuracy_ignores_hidden_logits_and_refuses_other_weights():
    logits = np.zeros((2, 2, 8), "float32")
    logits[0, [0, 1], [4, 5]] = 1
    logits, targets = ops.convert_to_tensor(logits), np.array([[4, 5], [6, 7]])
    set_mask(logits, ops.convert_to_tensor([[True, False], [True, False]]))
    accuracy = metrics.TokenAccuracy()
    accuracy.update_state(targets, logits, np.array([[1.0, 0.0], [1.0, 5.0]]))
    assert float(accuracy.result()) == 0.5
    with pytest.raises(ValueError, match=r"sample_weight must have the shape .*, got \(3,\)"):
        accuracy.update_state(targets, logits, np.ones(3))
