"""Base class of samplers, and samplers for numbers, which feed back outputs or random draws."""

import zlib
from dataclasses import dataclass, field

import numpy as np
from keras import ops


class Sampler:
    """Base class of samplers. Samplers of numbers and of tokens define `start` and `advance`.

    `start(first, num_steps, *draws)` returns the memory of the loop before its first step.
    `advance(outputs, index, memory)` converts the outputs `(rows, 1, width)` of a step, or
    `(rows, patch_length, width)` of a model that decodes patches, to the next input, the new
    memory, and the rows that are continued (None if each row continues itself).
    """

    width = 1  # rows per sequence

    def draws(self, rows, num_steps):
        """Return the random numbers that the loop will use, as NumPy arrays."""
        return []

    def is_finished(self, memory):
        """Return whether every sequence has ended before the last step."""
        return False

    def result(self, memory):
        """Return the generated values or tokens, one row per sequence."""
        return memory[0]


@dataclass(frozen=True)
class FeedBack(Sampler):
    """Sampler for numeric sequences that uses every output as the next input."""

    def start(self, first, num_steps):
        batch_size, _, output_dim = ops.shape(first)
        return (ops.zeros((batch_size, num_steps, output_dim), first.dtype),)

    def advance(self, outputs, index, memory):
        (written,) = memory
        value, place = ops.cast(outputs, written.dtype), index * outputs.shape[1]
        return value, (ops.slice_update(written, (0, place, 0), value),), None


@dataclass(frozen=True)
class AncestralSampler(Sampler):
    """Sampler for numbers that uses a draw from the forecast distribution as the next input.

    Args:
        head: Distribution of `kerastrans.heads` that the model ends in.
        num_channels: int, number of values drawn at each step.
        seed: int, seed of the draws.
        histories: Array `(windows, ...)`. All windows have the same number of rows in the batch.
            None for one unknown window.

    Source: Salinas et al. (2020), section 3.
    """

    head: object
    num_channels: int
    # These two fields are not part of the compiled loop.
    seed: int = field(default=0, compare=False)
    histories: np.ndarray | None = field(default=None, compare=False)

    def draws(self, rows, num_steps):
        histories = [0.0] if self.histories is None else self.histories
        samples = rows // len(histories)
        shape = samples, num_steps, self.num_channels, self.head.num_uniforms
        # A window's generator is seeded by the call's seed and the window's values, so that its
        # samples do not depend on the other windows, and different windows have different samples.
        generators = (
            np.random.default_rng([self.seed, zlib.crc32(np.asarray(x, "float32").tobytes())])
            for x in histories
        )
        uniform = (random.uniform(1e-6, 1 - 1e-6, shape) for random in generators)
        return [np.concatenate([x.astype("float32") for x in uniform])]

    def start(self, first, num_steps, uniform):
        batch_size, _, output_dim = ops.shape(first)
        return ops.zeros((batch_size, num_steps, output_dim), first.dtype), uniform

    def advance(self, outputs, index, memory):
        written, uniform = memory
        steps = outputs.shape[1]
        places = index * steps + ops.arange(steps, dtype="int32")
        draw = ops.cast(ops.take(uniform, places, axis=1), outputs.dtype)
        value = ops.cast(self.head.draw(outputs, draw), written.dtype)
        written = ops.slice_update(written, (0, index * steps, 0), value)
        return value, (written, uniform), None
