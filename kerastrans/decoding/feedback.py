"""What every sampler answers, and those of numbers: the output itself, or a draw, is fed back."""

import zlib
from dataclasses import dataclass, field

import numpy as np
from keras import ops


class Sampler:
    """What the loop asks of a sampler; numbers and tokens answer `start` and `advance`.

    `start(first, num_steps, *draws)` is what the loop remembers before its first step, and
    `advance(outputs, index, memory)` turns the step's outputs `(rows, 1, width)` into the next
    input, the memory, and the rows to go on from (None: each from itself).
    """

    width = 1  # rows for each sequence

    def draws(self, rows, num_steps):
        """Random numbers that the loop will use, as NumPy arrays."""
        return []

    def is_finished(self, memory):
        """Whether every sequence has ended before the last step."""
        return False

    def result(self, memory):
        """What was generated, one row a sequence."""
        return memory[0]


@dataclass(frozen=True)
class FeedBack(Sampler):
    """Numeric sequences: every output is the next input."""

    def start(self, first, num_steps):
        batch_size, _, output_dim = ops.shape(first)
        return (ops.zeros((batch_size, num_steps, output_dim), first.dtype),)

    def advance(self, outputs, index, memory):
        (written,) = memory
        value = ops.cast(outputs, written.dtype)
        return value, (ops.slice_update(written, (0, index, 0), value),), None


@dataclass(frozen=True)
class AncestralSampler(Sampler):
    """Numbers: a draw from the forecast distribution is the next input.

    Args:
        head: a distribution of `kerastrans.heads`, the model's.
        num_channels: int, values drawn at each step.
        seed: int.
        histories: `(windows, ...)`, each of which has the same number of rows.

    Source: Salinas et al. (2020), section 3.
    """

    head: object
    num_channels: int
    # Neither is part of the compiled loop.
    seed: int = field(default=0, compare=False)
    histories: np.ndarray | None = field(default=None, compare=False)

    def draws(self, rows, num_steps):
        samples = rows // len(self.histories)
        shape = samples, num_steps, self.num_channels, self.head.num_uniforms
        # The seed of a window is that of the call and of its values: its samples are the same in
        # any company, and other windows have others.
        generators = (
            np.random.default_rng([self.seed, zlib.crc32(np.asarray(x, "float32").tobytes())])
            for x in self.histories
        )
        uniform = (random.uniform(1e-6, 1 - 1e-6, shape) for random in generators)
        return [np.concatenate([x.astype("float32") for x in uniform])]

    def start(self, first, num_steps, uniform):
        batch_size, _, output_dim = ops.shape(first)
        return ops.zeros((batch_size, num_steps, output_dim), first.dtype), uniform

    def advance(self, outputs, index, memory):
        written, uniform = memory
        draw = ops.cast(ops.take(uniform, index, axis=1)[:, None], outputs.dtype)
        value = ops.cast(self.head.draw(outputs, draw), written.dtype)
        return value, (ops.slice_update(written, (0, index, 0), value), uniform), None
