"""Exercises of lesson 2."""

import numpy as np

from kerastrans.lessons.exercise import Exercise


def masked_softmax(scores, mask):
    """Return the softmax over the visible keys; a row with no visible key is zeros."""
    visible = np.where(mask, scores, -np.inf)
    largest = visible.max(axis=-1, keepdims=True)
    exponentials = np.exp(visible - np.where(largest == -np.inf, 0, largest))
    total = exponentials.sum(axis=-1, keepdims=True)
    return exponentials / np.where(total == 0, 1, total)


def attention(queries, keys, values, mask):
    """Return scaled dot-product attention for a mask (queries, keys), True = visible."""
    scores = np.where(mask, queries @ keys.T / np.sqrt(queries.shape[-1]), -1e9)
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True) @ values


def additive_scores(queries, keys, w_query, w_key, direction):
    """Return the additive scores (queries, keys) of Bahdanau et al. (2015)."""
    return np.tanh((queries @ w_query)[:, None] + (keys @ w_key)[None]) @ direction


def count_parameters(d_model, num_heads, key_dim, value_dim, output_dim):
    """Return the number of parameters of multi-head attention with biases."""
    queries_and_keys = 2 * (d_model + 1) * num_heads * key_dim
    values = (d_model + 1) * num_heads * value_dim
    return queries_and_keys + values + (num_heads * value_dim + 1) * output_dim


def _scaled_by(factor):
    """Attention whose scores are multiplied by one more factor, of queries, keys and values."""
    return lambda q, k, v, mask: attention(q * factor(q, k, v), k, v, mask)


def _hidden_scores_are_zero(queries, keys, values, mask):
    scores = queries @ keys.T / np.sqrt(queries.shape[-1]) * mask
    return masked_softmax(scores, np.ones_like(mask)) @ values


def _softmax_over_all(queries, keys, values, mask):
    scores = np.where(mask, queries @ keys.T / np.sqrt(queries.shape[-1]), -np.inf)
    return np.exp(scores) / np.exp(scores).sum() @ values


def _empty_rows_are(value):
    return lambda scores, mask: np.where(
        mask.any(axis=-1, keepdims=True), masked_softmax(scores, mask), value
    )


@np.errstate(over="ignore", invalid="ignore")
def _shifted(scores, mask, shift):
    exponentials = np.exp(scores - shift) * mask
    total = exponentials.sum(axis=-1, keepdims=True)
    return exponentials / np.where(total == 0, 1, total)


@np.errstate(over="ignore", invalid="ignore")
def _sum_of_one_or_more(scores, mask):
    exponentials = np.exp(scores) * mask
    return exponentials / np.maximum(exponentials.sum(axis=-1, keepdims=True), 1)


def _softmax_over_queries(queries, keys, values, mask):
    scores = np.where(mask, queries @ keys.T / np.sqrt(queries.shape[-1]), -1e9)
    return masked_softmax(scores.T, np.ones_like(mask).T).T @ values


def _hidden_after_softmax(queries, keys, values, mask):
    scores = queries @ keys.T / np.sqrt(queries.shape[-1])
    return masked_softmax(scores, np.ones_like(mask)) * mask @ values


_random = np.random.default_rng(0)
QUERIES, KEYS = _random.standard_normal((4, 8)), _random.standard_normal((5, 8))
VALUES = _random.standard_normal((5, 3))
MASK = np.tril(np.ones((4, 5), bool))
EMPTY_ROW = np.array([[True, True, False], [False, False, False]])

EXERCISES = (
    Exercise(
        "2.1",
        attention,
        {
            "You divided by d, not by its root.": _scaled_by(lambda q, k, v: q.shape[1] ** -0.5),
            "The scores are not divided by the root of d.": _scaled_by(
                lambda q, k, v: q.shape[1] ** 0.5
            ),
            "Divide the scores by the root of d, not the weights after the softmax.": (
                lambda q, k, v, mask: attention(
                    q * q.shape[1] ** 0.5, k, v / k.shape[1] ** 0.5, mask
                )
            ),
            "You divided by the root of the number of queries; d is the width, shape[-1].": (
                _scaled_by(lambda q, k, v: (q.shape[1] / len(q)) ** 0.5)
            ),
            "You divided by the root of the number of keys; d is the width, shape[-1].": (
                _scaled_by(lambda q, k, v: (q.shape[1] / len(k)) ** 0.5)
            ),
            "You divided by the root of the width of the values; d is that of the queries.": (
                _scaled_by(lambda q, k, v: (q.shape[1] / v.shape[1]) ** 0.5)
            ),
            "These are the weights; multiply them by the values.": (
                lambda q, k, v, mask: attention(q, k, np.eye(len(k)), mask)
            ),
            "This mask is inverted: True means visible.": (
                lambda q, k, v, mask: attention(q, k, v, ~mask)
            ),
            "The mask is ignored.": lambda q, k, v, mask: attention(q, k, v, np.ones_like(mask)),
            "The softmax runs over the queries: the weights of one query sum to 1.": (
                _softmax_over_queries
            ),
            "One softmax runs over all scores: each query has its own, along axis -1.": (
                _softmax_over_all
            ),
            "Scores were multiplied by the mask, but 0 is a score like others.": (
                _hidden_scores_are_zero
            ),
            "Weights were hidden after the softmax: the visible ones no longer sum to 1.": (
                _hidden_after_softmax
            ),
        },
        (
            "Write the scores first: one number per pair of a query and a key.",
            "Divide by np.sqrt(queries.shape[-1]), and set np.where(mask, scores, -1e9).",
            "softmax(np.where(mask, queries @ keys.T / np.sqrt(d), -1e9)) @ values, along axis -1.",
        ),
        cases=((QUERIES, KEYS, VALUES, MASK), (3 * QUERIES[:2], KEYS, VALUES, MASK[2:])),
        why="This is equation 1 of Vaswani et al. (2017), with a mask.",
    ),
    Exercise(
        "2.2",
        masked_softmax,
        {
            "A row that sees nothing is uniform: it returns the mean of all padding as data.": (
                _empty_rows_are(1 / 3)
            ),
            "A row that sees nothing is not a number: 0 / 0.": _empty_rows_are(np.nan),
            "Hidden scores were set to 0 before the softmax, but 0 is a score like others.": (
                lambda scores, mask: masked_softmax(scores * mask, np.ones_like(mask))
            ),
            "Weights were hidden after the softmax: the visible ones no longer sum to 1.": (
                lambda scores, mask: masked_softmax(scores, np.ones_like(mask)) * mask
            ),
            "This mask is inverted: True means visible.": lambda scores, mask: masked_softmax(
                scores, ~mask
            ),
            "The softmax runs over the queries: the weights of one row sum to 1.": (
                lambda scores, mask: masked_softmax(scores.T, mask.T).T
            ),
            "Scores of -30 have a small sum: replace it only where it is 0.": _sum_of_one_or_more,
            "A hidden score of 1000 leaves nothing for the others: shift by the largest visible "
            "score.": lambda scores, mask: _shifted(scores, mask, scores.max(-1, keepdims=True)),
            "exp(1000) is infinite: subtract the largest visible score first.": (
                lambda scores, mask: _shifted(scores, mask, 0)
            ),
        },
        (
            "A score of minus infinity has the exponential 0: np.where(mask, scores, -np.inf).",
            "Subtract the largest visible score of a row; a row without one has the sum 0, which "
            "is replaced by 1.",
            "exponentials / np.where(total == 0, 1, total); exponentials = np.exp(visible - "
            "np.where(largest == -np.inf, 0, largest)).",
        ),
        cases=tuple(
            (np.array([[1.0, 2.0, hidden], [3.0, 0.0, 1.0]]) + shift, EMPTY_ROW)
            for hidden, shift in ((5, 0), (5, -30), (1000, 0), (5, 1000))
        ),
        why="Zeros add nothing to the residual stream; a mean of padding would.",
    ),
    Exercise(
        "2.3",
        additive_scores,
        {
            "The tanh is missing: the score is then a sum of a query's and a key's part.": (
                lambda q, k, w_q, w_k, w: (q @ w_q @ w)[:, None] + k @ w_k @ w
            ),
            "The tanh comes before the product with w, not after it.": (
                lambda q, k, w_q, w_k, w: np.tanh((q @ w_q @ w)[:, None] + k @ w_k @ w)
            ),
            "Rows are keys here: one row per query is expected.": (
                lambda q, k, w_q, w_k, w: additive_scores(k, q, w_k, w_q, w)
            ),
            "Additive scores are not divided by the root of the width.": (
                lambda q, *others: additive_scores(q, *others) / np.sqrt(q.shape[-1])
            ),
        },
        (
            "Project the queries and the keys to the same width first.",
            "Every query meets every key: (queries, 1, width) + (1, keys, width).",
            "np.tanh((queries @ w_query)[:, None] + (keys @ w_key)[None]) @ direction",
        ),
        cases=((QUERIES, KEYS, *_random.standard_normal((2, 8, 6)), _random.standard_normal(6)),),
        why="It holds a vector for each pair; the dot product holds one number.",
    ),
    Exercise(
        "2.4",
        count_parameters,
        {
            "The biases are missing: one per output of each of the four projections.": (
                lambda d_model, num_heads, key_dim, value_dim, output_dim: (
                    num_heads * (2 * d_model * key_dim + (d_model + output_dim) * value_dim)
                )
            ),
            "The heads are missing: each projection is num_heads * key_dim or value_dim wide.": (
                lambda *sizes: count_parameters(sizes[0], 1, *sizes[2:])
            ),
            "The output projection is missing: it turns the joined heads into output_dim values.": (
                lambda *sizes: count_parameters(*sizes[:4], 0)
            ),
            "The heads share one output projection: its bias counts once.": (
                lambda *sizes: count_parameters(*sizes) + (sizes[1] - 1) * sizes[4]
            ),
            "The output projection reads all heads: num_heads * value_dim values.": (
                lambda *sizes: count_parameters(*sizes[:4], 0) + (sizes[3] + 1) * sizes[4]
            ),
            "The output has its own width, output_dim.": (
                lambda *sizes: count_parameters(*sizes[:4], sizes[0])
            ),
            "Values have their own width, value_dim.": (
                lambda *sizes: count_parameters(*sizes[:3], sizes[2], sizes[4])
            ),
        },
        (
            "There are four projections: for queries, keys and values, and for the result.",
            "A projection from a to b values has (a + 1) * b parameters.",
            "2 (d_model + 1) heads key_dim + (d_model + 1) heads value_dim + "
            "(heads value_dim + 1) output_dim",
        ),
        cases=((24, 8, 3, 3, 24), (24, 8, 3, 4, 32), (64, 4, 16, 16, 64), (64, 8, 8, 8, 64)),
        why="2,400 and 3,056; twice the heads of half the width have the same number.",
    ),
)
