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
    """Attention whose scores are multiplied by one more factor, a function of the width."""
    return lambda queries, keys, values, mask: attention(
        queries * factor(queries.shape[-1]), keys, values, mask
    )


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


def _softmax_over_queries(queries, keys, values, mask):
    scores = queries @ keys.T / np.sqrt(queries.shape[-1])
    return masked_softmax(scores.T, mask.T).T @ values


def _hidden_after_softmax(queries, keys, values, mask):
    scores = queries @ keys.T / np.sqrt(queries.shape[-1])
    return masked_softmax(scores, np.ones_like(mask)) * mask @ values


def _without_biases(d_model, num_heads, key_dim, value_dim, output_dim):
    width = num_heads * value_dim
    return 2 * d_model * num_heads * key_dim + d_model * width + width * output_dim


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
            "You divided by d, not by its root.": _scaled_by(lambda d: d**-0.5),
            "The scores are not divided by the root of d.": _scaled_by(lambda d: d**0.5),
            "This mask is inverted: True means visible.": lambda queries, keys, values, mask: (
                attention(queries, keys, values, ~mask)
            ),
            "The mask is ignored.": lambda queries, keys, values, mask: attention(
                queries, keys, values, np.ones_like(mask)
            ),
            "You divided by the root of the number of queries; d is the width, shape[-1].": (
                lambda queries, keys, values, mask: attention(
                    queries * (queries.shape[1] / queries.shape[0]) ** 0.5, keys, values, mask
                )
            ),
            "You divided by the root of the number of keys; d is the width, shape[-1].": (
                lambda queries, keys, values, mask: attention(
                    queries * (queries.shape[1] / len(keys)) ** 0.5, keys, values, mask
                )
            ),
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
        },
        (
            "Multiply the exponentials by the mask before you divide by their sum.",
            "A row without a visible key has the sum 0; divide it by 1 instead.",
            "exponentials / np.where(total == 0, 1, total), with exponentials = exp(...) * mask.",
        ),
        cases=((np.array([[1.0, 2.0, 5.0], [3.0, 0.0, 1.0]]), EMPTY_ROW),),
        why="Zeros add nothing to the residual stream; a mean of padding would.",
    ),
    Exercise(
        "2.3",
        additive_scores,
        {
            "The tanh is missing: the score is then a sum of a query's and a key's part.": (
                lambda q, k, w_q, w_k, direction: (
                    (q @ w_q @ direction)[:, None] + (k @ w_k @ direction)
                )
            ),
            "The tanh comes before the product with w, not after it.": (
                lambda q, k, w_q, w_k, direction: np.tanh(
                    (q @ w_q @ direction)[:, None] + (k @ w_k @ direction)
                )
            ),
            "Rows are keys here: one row per query is expected.": (
                lambda q, k, w_q, w_k, direction: additive_scores(k, q, w_k, w_q, direction)
            ),
            "Additive scores are not divided by the root of the width.": (
                lambda q, k, w_q, w_k, direction: (
                    additive_scores(q, k, w_q, w_k, direction) / np.sqrt(q.shape[-1])
                )
            ),
        },
        (
            "Project the queries and the keys to the same width first.",
            "Every query meets every key: (queries, 1, width) + (1, keys, width).",
            "np.tanh((queries @ w_query)[:, None] + (keys @ w_key)[None]) @ direction",
        ),
        cases=(
            (
                QUERIES,
                KEYS,
                _random.standard_normal((8, 6)),
                _random.standard_normal((8, 6)),
                _random.standard_normal(6),
            ),
        ),
        why="It holds a vector for each pair; the dot product holds one number.",
    ),
    Exercise(
        "2.4",
        count_parameters,
        {
            "The biases are missing: one per output of each of the four projections.": (
                _without_biases
            ),
            "The heads are missing: each projection is num_heads * key_dim or value_dim wide.": (
                lambda d_model, num_heads, key_dim, value_dim, output_dim: count_parameters(
                    d_model, 1, key_dim, value_dim, output_dim
                )
            ),
            "The output projection is missing: it turns the joined heads into output_dim values.": (
                lambda d_model, num_heads, key_dim, value_dim, output_dim: count_parameters(
                    d_model, num_heads, key_dim, value_dim, 0
                )
            ),
            "The heads share one output projection: its bias counts once.": (
                lambda d_model, num_heads, key_dim, value_dim, output_dim: (
                    count_parameters(d_model, num_heads, key_dim, value_dim, output_dim)
                    + (num_heads - 1) * output_dim
                )
            ),
            "The output projection reads all heads: num_heads * value_dim values.": (
                lambda d_model, num_heads, key_dim, value_dim, output_dim: (
                    count_parameters(d_model, num_heads, key_dim, value_dim, 0)
                    + (value_dim + 1) * output_dim
                )
            ),
            "The output has its own width, output_dim.": (
                lambda d_model, num_heads, key_dim, value_dim, output_dim: count_parameters(
                    d_model, num_heads, key_dim, value_dim, d_model
                )
            ),
            "Values have their own width, value_dim.": (
                lambda d_model, num_heads, key_dim, value_dim, output_dim: count_parameters(
                    d_model, num_heads, key_dim, key_dim, output_dim
                )
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
