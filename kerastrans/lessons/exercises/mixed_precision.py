"""Exercises of lesson 8."""

import keras
import numpy as np

from kerastrans.lessons.exercise import Exercise


def half_encoding(positions, dim):
    """Return sinusoidal encodings in float16; neighbours stay apart at any position."""
    angles = positions[:, None].astype("float32") / 10000 ** (np.arange(0, dim, 2) / dim)
    return np.stack([np.sin(angles), np.cos(angles)], -1).reshape(-1, dim).astype("float16")


def unscaled_gradient(gradient, scale):
    """Send a gradient through float16 multiplied by scale, and return it unscaled in float32."""
    scaled = np.float16(gradient * scale)  # as backpropagation computes it
    return np.float32(scaled) / np.float32(scale)


def float32_layers(model):
    """Return the names of the layers that compute in float32."""
    return [layer.name for layer in model.layers if layer.compute_dtype == "float32"]


def _half_angles(positions, dim):
    rates = (10000 ** -(np.arange(0, dim, 2) / dim)).astype("float16")
    angles = positions.astype("float16")[:, None] * rates
    pairs = np.stack([np.sin(angles), np.cos(angles)], axis=-1)
    return pairs.reshape(-1, dim).astype("float16")


def _with_dtype(answer, positions, dim):
    result = np.asarray(answer(positions, dim))
    return result, result.dtype.name


def _logarithm(answer, gradient, scale):
    with np.errstate(over="ignore"):
        return np.log(np.maximum(answer(gradient, scale), 1e-30))


def _on_a_model(answer, policies):
    layers = [
        keras.layers.Dense(1, name=name, dtype=policy)
        for name, policy in zip(("first", "middle", "last"), policies, strict=True)
    ]
    return np.array(answer(keras.Sequential(layers)))


POSITIONS = np.array([0, 1, 2048, 2049, 2999])

EXERCISES = (
    Exercise(
        "8.1",
        half_encoding,
        {
            "Positions were rounded to float16: 2049 becomes 2048.": lambda positions, dim: (
                half_encoding(positions.astype("float16"), dim)
            ),
            "Angles were computed in float16; round only the result.": _half_angles,
            "The result is not in float16: cast the sines and cosines.": lambda positions, dim: (
                half_encoding(positions, dim).astype("float32")
            ),
        },
        (
            "What is np.float16(2049)?",
            "Compute angles in float32, and cast the sines and cosines.",
            "angles = positions.astype('float32')[:, None] / ...; cast at the end.",
        ),
        cases=((POSITIONS, 8),),
        why="float16 counts in twos beyond 2048.",
        run=_with_dtype,
    ),
    Exercise(
        "8.2",
        unscaled_gradient,
        {
            "The gradient is not scaled: below 6e-8 it becomes 0, and its weight stops.": (
                lambda gradient, scale: np.float32(np.float16(gradient))
            ),
            "Unscaled in float16 it becomes 0 again: divide in float32.": (
                lambda gradient, scale: np.float32(np.float16(gradient * scale) / np.float16(scale))
            ),
            "The gradient is still scaled: divide by scale.": lambda gradient, scale: np.float32(
                np.float16(gradient * scale)
            ),
        },
        (
            "np.float16(2e-8) is 0; np.float16(2e-8 * 1024) is not.",
            "Cast the scaled gradient to float16, then to float32.",
            "np.float32(np.float16(gradient * scale)) / np.float32(scale)",
        ),
        cases=((2e-8, 1024.0), (3e-9, 32768.0), (100.0, 1024.0)),
        why="LossScaleOptimizer does this; compile adds it under mixed_float16.",
        run=_logarithm,
    ),
    Exercise(
        "8.3",
        float32_layers,
        {
            "This is the dtype of the weights, which is float32 in all layers: compute_dtype.": (
                lambda model: [x.name for x in model.layers if x.variable_dtype == "float32"]
            ),
            "These are the layers in half precision.": lambda model: [
                x.name for x in model.layers if x.compute_dtype != "float32"
            ],
        },
        (
            "A layer has a dtype for its weights and one for its arithmetic.",
            "layer.compute_dtype is that of its arithmetic.",
            "[layer.name for layer in model.layers if layer.compute_dtype == 'float32']",
        ),
        cases=((("float32", "mixed_float16", "float32"),), (("mixed_bfloat16",) * 3,)),
        why="In our models the two ends keep float32.",
        run=_on_a_model,
    ),
)
