"""Base class of samplers, and samplers for numbers, which feed back outputs or random draws."""

import zlib
from dataclasses import dataclass, field

import numpy as np
from keras import ops

from kerastrans import heads
from kerastrans.decoding.contract import patch_dependence_of


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
        dependence: Weight `(patch_length, patch_length)`, see `UnfoldPatches`; None for steps that
            are drawn independently of each other, given the inputs.

    Source: Salinas et al. (2020), section 3.
    """

    head: object
    num_channels: int
    # A model has one dependence, and the other two are not part of the compiled loop.
    seed: int = field(default=0, compare=False)
    histories: np.ndarray | None = field(default=None, compare=False)
    dependence: object = field(default=None, compare=False)

    @classmethod
    def of(cls, model, seed=0, histories=None):
        """Return the sampler of a functional model that ends in a distribution."""
        num_channels, dependence = model.inputs[-1].shape[-1], patch_dependence_of(model)
        return cls(heads.of(model), num_channels, seed, histories, dependence)

    def draws(self, rows, num_steps):
        histories = [0.0] if self.histories is None else self.histories
        samples = rows // len(histories)
        shape = samples, num_steps, self.num_channels, self.head.num_normals
        # A window's generator is seeded by the call's seed and the window's values, so that its
        # samples do not depend on the other windows, and different windows have different samples.
        generators = (
            np.random.default_rng([self.seed, zlib.crc32(np.asarray(x, "float32").tobytes())])
            for x in histories
        )
        return [np.concatenate([x.standard_normal(shape, "float32") for x in generators])]

    def start(self, first, num_steps, normals):
        rows, _, num_channels = ops.shape(first)
        if self.dependence is not None:
            patch_length, width = self.dependence.shape[0], normals.shape[2] * normals.shape[3]
            patches = ops.reshape(normals, (-1, patch_length, width))  # width: channels * numbers
            root = ops.cast(self.dependence, normals.dtype)
            normals = ops.reshape(ops.matmul(root, patches), ops.shape(normals))
        return ops.zeros((rows, num_steps, num_channels), first.dtype), normals

    def advance(self, outputs, index, memory):
        written, normals = memory
        steps = outputs.shape[1]
        places = index * steps + ops.arange(steps, dtype="int32")
        draw = ops.cast(ops.take(normals, places, axis=1), outputs.dtype)
        value = ops.cast(self.head.draw(outputs, draw), written.dtype)
        written = ops.slice_update(written, (0, index * steps, 0), value)
        return value, (written, normals), None
