"""Samplers, which choose the next decoder input from the output of a step.

A sampler keeps the memory of one decoding loop as a tuple of tensors with one row per sequence, and
returns the next decoder input once per step. It is hashable, because compiled loops are cached by
sampler.
"""

from dataclasses import dataclass, field
from numbers import Real

import keras
import numpy as np
from keras import ops

from kerastrans.decoding.feedback import AncestralSampler, FeedBack, Sampler
from kerastrans.text.tokens import END, PAD, START
from kerastrans.utils.validation import check_non_negative, check_positive_integers, check_seed

__all__ = ["AncestralSampler", "BeamSampler", "FeedBack", "GreedySampler", "RandomSampler"]

NEVER = -1e9  # logit of tokens that must not be chosen


@dataclass(frozen=True, kw_only=True)
class _TokenSampler(Sampler):
    """Base class of token samplers; subclasses define `choose`.

    The memory contains the tokens written, a flag for each row that has ended, and the additional
    tensors of the subclass. A start or end token of -1 is none.
    """

    pad_token: int = PAD
    start_token: int = START
    end_token: int = END

    def __post_init__(self):
        if self.pad_token < 0 <= self.end_token:
            raise ValueError(f"after end_token={self.end_token} a pad_token follows, got none, -1.")

    def start(self, first, num_steps, *draws):
        rows = ops.shape(first)[0]
        tokens = ops.full((rows, num_steps), self.pad_token, "int32")
        return tokens, ops.zeros((rows,), "bool"), *draws

    def advance(self, outputs, index, memory):
        tokens, ended, *draws = memory
        chosen = self.choose(self.possible(outputs), index, *draws)
        chosen = ops.where(ended, self.pad_token, ops.cast(chosen, "int32"))
        tokens = ops.slice_update(tokens, (0, index), chosen[:, None])
        ended = ops.logical_or(ended, chosen == self.end_token)
        return chosen[:, None], (tokens, ended, *draws), None

    def is_finished(self, memory):
        return ops.all(memory[1])

    def possible(self, outputs):
        """Return float32 logits `(rows, vocabulary)` that exclude the padding and start tokens."""
        tokens = ops.arange(outputs.shape[-1])
        never = ops.logical_or(tokens == self.pad_token, tokens == self.start_token)
        dtype = keras.backend.result_type(outputs.dtype, "float32")
        return ops.where(never, NEVER, ops.cast(outputs[:, 0], dtype))


@dataclass(frozen=True)
class GreedySampler(_TokenSampler):
    """Sampler that chooses the most probable token at every step."""

    def choose(self, logits, index):
        return ops.argmax(logits, axis=-1)


@dataclass(frozen=True)
class RandomSampler(_TokenSampler):
    """Sampler that draws a token at every step from the model's distribution or a part of it.

    Args:
        temperature: float > 0, divisor of the logits; values below 1 favour probable tokens.
        top_k: int, number of most probable tokens that can be drawn; None for all.
        top_p: float in (0, 1]. Only the most probable tokens can be drawn, as few as have a total
            probability of at least `top_p`. None for all.
        seed: int, seed of the random numbers, which are the same on every backend; None for
            different numbers in each call.

    Raises:
        ValueError: If `temperature` is not above 0, `top_k` is below 1, `top_p` is not in (0, 1],
            or `seed` is not an int of at least 0.

    Source: Fan et al. (2018), section 5.1 (top-k); Holtzman et al. (2020), section 3.1 (top-p).
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    seed: int | None = field(default=None, compare=False)  # all seeds share one compiled loop

    def __post_init__(self):
        super().__post_init__()
        check_non_negative(temperature=self.temperature)
        if self.temperature == 0:
            raise ValueError("temperature must be above 0; for the limit 0 use GreedySampler.")
        if self.top_k is not None:
            check_positive_integers(top_k=self.top_k)
        if self.top_p is not None and not (isinstance(self.top_p, Real) and 0 < self.top_p <= 1):
            raise ValueError(f"top_p must be a number in (0, 1], got {self.top_p!r}.")
        if self.seed is not None:
            check_seed(self.seed)

    def draws(self, rows, num_steps):
        return [np.random.default_rng(self.seed).random((rows, num_steps), "float32")]

    def choose(self, logits, index, draws):
        count = logits.shape[-1] if self.top_k is None else min(self.top_k, logits.shape[-1])
        logits, tokens = ops.top_k(logits, count)  # the most probable first
        logits = (logits - logits[:, :1]) / max(self.temperature, 1e-30)  # which float32 can hold
        probabilities = ops.exp(logits - ops.logsumexp(logits, axis=-1, keepdims=True))
        if self.top_p is not None:
            # Drop tokens that follow enough probability; the first token is always kept.
            before = ops.cumsum(probabilities, axis=-1) - probabilities
            probabilities = ops.where(before < self.top_p, probabilities, 0.0)
        # Invert the cumulative distribution; its total is below 1 if tokens were dropped.
        cumulative = ops.cumsum(probabilities, axis=-1)
        draw = ops.cast(ops.take(draws, index, axis=1)[:, None], cumulative.dtype)
        draw = draw * cumulative[:, -1:]
        place = ops.sum(ops.cast(cumulative <= draw, "int32"), axis=-1, keepdims=True)
        place = ops.minimum(place, count - 1)
        return ops.take_along_axis(ops.cast(tokens, "int32"), place, axis=-1)[:, 0]


@dataclass(frozen=True)
class BeamSampler(_TokenSampler):
    """Beam search, which keeps the `width` most probable beginnings at every step.

    A sequence that has ended stays among them with its probability. The result is the sequence with
    the largest log-probability divided by length^`length_penalty`.

    Args:
        width: int, number of beginnings kept; 1 is greedy decoding.
        length_penalty: float >= 0. With 0 sums of log-probabilities are compared, which favours
            short sequences; with 1 their means.

    Raises:
        ValueError: If `width` is below 1 or `length_penalty` is negative.

    Source: Sutskever et al. (2014), section 3.2.
    """

    width: int = 4
    length_penalty: float = 0.0

    def __post_init__(self):
        super().__post_init__()
        check_positive_integers(width=self.width)
        check_non_negative(length_penalty=self.length_penalty)

    def start(self, first, num_steps):
        tokens, ended = super().start(first, num_steps)
        # All beams of a sequence begin alike, so only the first one counts at the first step.
        is_first = ops.arange(ops.shape(first)[0]) % self.width == 0
        return tokens, ended, ops.where(is_first, 0.0, NEVER)

    def advance(self, outputs, index, memory):
        tokens, ended, scores = memory
        vocabulary = outputs.shape[-1]
        log_probabilities = ops.log_softmax(self.possible(outputs))
        # An ended beam can only be continued by padding, at no cost.
        only_padding = ops.where(ops.arange(vocabulary) == self.pad_token, 0.0, NEVER)
        log_probabilities = ops.where(ended[:, None], only_padding, log_probabilities)
        # Choose among all continuations of the beams of a sequence.
        totals = ops.reshape(scores[:, None] + log_probabilities, (-1, self.width * vocabulary))
        scores, places = ops.top_k(totals, self.width)  # (batch, width)
        places = ops.cast(places, "int32")
        # Rows of the beams that are continued, and the tokens that continue them.
        first_beams = self.width * ops.arange(ops.shape(places)[0], dtype="int32")[:, None]
        parents = ops.reshape(first_beams + places // vocabulary, (-1,))
        chosen = ops.reshape(places % vocabulary, (-1, 1))
        tokens = ops.slice_update(ops.take(tokens, parents, axis=0), (0, index), chosen)
        ended = ops.logical_or(ops.take(ended, parents, axis=0), chosen[:, 0] == self.end_token)
        return chosen, (tokens, ended, ops.reshape(scores, (-1,))), parents

    def result(self, memory):
        tokens, _, scores = memory
        lengths = ops.sum(ops.cast(tokens != self.pad_token, scores.dtype), axis=-1)
        scores = ops.reshape(scores / lengths**self.length_penalty, (-1, self.width))
        first_beams = self.width * ops.arange(ops.shape(scores)[0], dtype="int32")
        best = ops.cast(ops.argmax(scores, axis=-1), "int32")
        return ops.take(tokens, first_beams + best, axis=0)
