"""Examples of windows, and the model under test: how it is built and called."""

import contextlib
import functools
import random

import keras
import numpy as np

from kerastrans import heads
from kerastrans.decoding.graph import history_input, is_autoregressive
from kerastrans.models import registry
from kerastrans.models.architecture import OPTIONS
from kerastrans.testing.reports import NotApplicable
from kerastrans.utils.random import seeded

BATCH = 3


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


class ModelCase:
    """A model under test, with the properties claimed for it.

    Attributes:
        sizes: Dict of context_length, prediction_length and num_channels.
        equivariance: Claimed equivariance, see `check_model`; None if nothing is claimed.
        mixes_channels: Claimed dependence on other channels; None if nothing is claimed.
        input_names: Names of the inputs in the registry; None if the model is not in it.
    """

    def __init__(self, build, sizes, hyperparameters, equivariance, mixes_channels):
        self.sizes = sizes
        self.equivariance, self.mixes_channels = equivariance, mixes_channels
        self.input_names = None
        self._hyperparameters = hyperparameters
        self._built = build if isinstance(build, keras.Model) else None
        self._build = build
        if isinstance(build, str):
            architecture = registry.info(build)
            registry.check_hyperparameters(
                build, {k: v for k, v in hyperparameters.items() if k not in OPTIONS}
            )
            self._build = functools.partial(registry.build, build)
            self.equivariance = architecture.equivariance
            self.mixes_channels = architecture.mixes_channels
            self.input_names = architecture.inputs

    def build(self, seed=1, **sizes):
        """Build a new model with the weights of this seed, and other sizes if given by name."""
        if self._built is not None:
            raise NotApplicable("the model is already built: pass a function that builds it")
        with seeded(seed):
            return self._build(**{**self.sizes, **sizes}, **self._hyperparameters)

    @functools.cached_property
    def model(self):
        """The model that the checks share and do not change.

        If the model is built here, all weights are changed from their initial values, because
        zeros and ones could hide errors.
        """
        if self._built is not None:
            return self._built
        model = self.build()
        rng = np.random.default_rng(2)
        model.set_weights(
            [x + 0.05 * np.abs(rng.standard_normal(x.shape)) for x in model.get_weights()]
        )
        return model

    def copy(self):
        """Return a model with the same graph and weights that may be changed."""
        with seeded(1):  # for the seeds of dropout layers
            model = keras.models.clone_model(self.model)
        model.set_weights(self.model.get_weights())
        return model

    def rebuild(self):
        """Build the model in the current dtype policy, with the same weights."""
        model = self.build()
        model.set_weights(self.model.get_weights())
        return model

    @property
    def is_autoregressive(self):
        """True if the model is fed with its own forecasts, see `kerastrans.generate`."""
        return is_autoregressive(self.model)

    @property
    def history_name(self):
        """Name of the input that receives the history."""
        return history_input(self.model).name

    def require_numbers(self):
        """Raise `NotApplicable` if the model reads tokens."""
        if "int" in history_input(self.model).dtype:
            raise NotApplicable("the model reads tokens, not numbers")

    def inputs(self, count=BATCH, seed=0):
        """Return a dict of example inputs by name."""
        return example_inputs(self.model, count, self.sizes["prediction_length"], seed)

    def forecast(self, inputs, model=None):
        """Return the point forecasts `(batch, time, num_channels)` as a NumPy array."""
        outputs = self.outputs(inputs, model)
        return heads.of(self.model).point(outputs) if outputs.ndim == 4 else outputs

    def outputs(self, inputs, model=None):
        """Return the output of the model as a NumPy array."""
        model = self.model if model is None else model
        outputs = model(arrange_inputs(model, inputs), training=False)
        return keras.ops.convert_to_numpy(outputs)


def arrange_inputs(model, inputs):
    """Return arrays in the nested structure of the model's inputs.

    A single input is matched whatever its name, because Keras renames an unnamed input when it
    loads a model.
    """
    (first, *rest) = inputs.values()
    if not rest:
        return keras.tree.map_structure(lambda _: first, model.input)
    return keras.tree.map_structure(lambda symbol: inputs[symbol.name], model.input)


def assert_close(actual, expected, tolerance, what):
    """Raise AssertionError if arrays differ by more than `tolerance` times the largest value."""
    size = max(np.abs(expected).max(), 1e-30)
    difference = np.abs(np.asarray(actual, "float64") - expected).max() / size
    if not difference <= tolerance:
        raise AssertionError(
            f"{what} differs by {difference:.1e} of its largest value, {tolerance:.0e} is allowed"
        )


@contextlib.contextmanager
def keep_generators():
    """Restore the states of Python's and NumPy's global generators at the end."""
    states = random.getstate(), np.random.get_state()
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])


@contextlib.contextmanager
def precision(policy, floatx="float32"):
    """Build models in another dtype policy inside this context."""
    before = keras.config.dtype_policy(), keras.config.floatx()
    keras.config.set_floatx(floatx)
    keras.config.set_dtype_policy(policy)
    try:
        yield
    finally:
        keras.config.set_floatx(before[1])
        keras.config.set_dtype_policy(before[0])
