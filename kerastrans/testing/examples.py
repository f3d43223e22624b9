"""Small example inputs with the shapes that a model declares."""

import numpy as np


def example_windows(count, length, num_channels, seed=0):
    """Return smooth windows: the sum of a wave of period 6, a random walk and noise.

    Args:
        count: int, number of windows.
        length: int, number of steps.
        num_channels: int, number of values at each step.
        seed: int, seed of the phases, the walk and the noise.

    Returns:
        float32 array `(count, length, num_channels)`.

    Example:
        >>> example_windows(4, 24, 3).shape
        (4, 24, 3)
    """
    rng = np.random.default_rng(seed)
    phase = rng.uniform(0, 2 * np.pi, (count, 1, num_channels))
    wave = np.sin(2 * np.pi * np.arange(length)[:, None] / 6 + phase)
    walk = 0.2 * rng.standard_normal((count, length, num_channels)).cumsum(axis=1)
    return (wave + walk + 0.05 * rng.standard_normal(walk.shape)).astype("float32")


def example_inputs(model, count, num_steps, seed=0):
    """Return example arrays for every input of a functional model.

    Numeric inputs are `example_windows`. Covariates are 0 or 1, which is valid for numbers and
    categories. Tokens are 1 to 3. An input with one integer per window, which is a position or a
    valid length, counts from 1.

    Args:
        model: Functional Keras model.
        count: int, number of windows.
        num_steps: int, length of axes of variable length, such as those of decoder inputs.
        seed: int, seed of the random numbers.

    Returns:
        Dict of input name -> array `(count, ...)`.

    Example:
        >>> from kerastrans import zoo
        >>> inputs = example_inputs(zoo.build("cyclenet", 24, 12, 3), 4, num_steps=12)
        >>> {name: array.shape for name, array in inputs.items()}
        {'history': (4, 24, 3), 'position': (4,)}
    """
    rng = np.random.default_rng(seed)
    arrays = {}
    for number, symbol in enumerate(model.inputs):
        shape = count, *(num_steps if size is None else size for size in symbol.shape[1:])
        if "int" in symbol.dtype:
            values = 1 + np.arange(count) if len(shape) == 1 else rng.integers(1, 4, shape)
        elif len(shape) == 3 and not symbol.name.endswith("covariates"):
            values = example_windows(*shape, seed=seed + number)
        else:
            values = rng.integers(0, 2, shape)
        arrays[symbol.name] = values.astype(symbol.dtype)
    return arrays
