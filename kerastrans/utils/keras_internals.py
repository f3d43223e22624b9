"""The one place that uses what Keras does not document: each use with its reason.

`tests/utils/test_keras_internals.py` has a canary for each function, which names it when a new
release of Keras moves what it relies on.
"""

import contextlib
import contextvars
import sys

import keras
import numpy as np
from keras.src import backend
from keras.src.backend.common import global_state
from keras.src.initializers import random_initializers
from keras.src.saving import serialization_lib


class Imported:
    """A module that Keras may ask for types, as far as the process has imported it.

    Args:
        name: str, of the module.
    """

    def __init__(self, name):
        self.name = name

    @property
    def available(self):
        """Whether there can be objects of its types."""
        return self.name in sys.modules

    def __getattr__(self, name):
        return getattr(sys.modules[self.name], name)


def leave_tensorflow_out():
    """Keep Keras from importing TensorFlow on another backend when it writes a configuration.

    It asks whether a value is one of TensorFlow's shapes, for which it imports the package where it
    is installed: seconds and 400 MB, for what cannot be where nobody has imported it.
    """
    if keras.backend.backend() != "tensorflow":
        serialization_lib.tf = Imported("tensorflow")


def calls(model):
    """The calls of a functional model in an order in which they can run, without its inputs.

    Each call has `operation`, the layer or op; `input_tensors` and `outputs`, KerasTensors.

    Keras has no public view of a functional graph's calls. `Function.call` reads the same.
    """
    return [
        node
        for depth in sorted(model._nodes_by_depth, reverse=True)
        for node in model._nodes_by_depth[depth]
        if not node.is_input
    ]


def call_arguments(node):
    """What one of `calls(model)` was called with: `(args, kwargs)`, with KerasTensors inside."""
    return node.arguments.args, node.arguments.kwargs


def op_name(operation):
    """The name of a `keras.ops` function in a functional graph: "Add" for `keras.ops.add`.

    The classes of these operations are not exported, so there is nothing else to compare.
    """
    return type(operation).__name__


def all_layers(model):
    """The layers of a model at every depth, the model itself first.

    `model.layers` is documented, but stops at the first level.
    """
    return model._flatten_layers()


def forget_functions(model):
    """Have a model traced anew where it is next trained or evaluated.

    The functions that `fit`, `evaluate` and `predict` made have the constants of its layers in
    them. Keras makes them anew after `compile` alone, which would also begin a new optimizer.
    """
    model.train_function = model.test_function = model.predict_function = None


def dropout_state(layer):
    """Noise shape and seed generator of a `keras.layers.Dropout`, which has them as attributes.

    A layer that draws its own mask needs the same generator: it is part of a saved model.
    """
    return layer.noise_shape, getattr(layer, "seed_generator", None)


class StackedCells(keras.layers.StackedRNNCells):
    """LSTM cells on top of each other, whose new states are nested as `state_size` is.

    Of a single cell Keras returns the states without the list that they came in, at which the scan
    of JAX stops.
    """

    def call(self, inputs, states, training=False):
        outputs, states = super().call(inputs, states, training=training)
        return outputs, states if keras.tree.is_nested(states[0]) else [states]


def cell_of(rnn):
    """The cell of a `keras.layers.RNN`, where it is documented only as an argument."""
    return rnn.cell


def state_sizes(cell):
    """Widths of a cell's states in one list: of stacked cells those of the first come first."""
    return keras.tree.flatten(cell.state_size)


def run_cell(cell, inputs, states, **kwargs):
    """One step of a cell on its states in one list: outputs and new states in one list.

    Keras documents the states of one cell, not how those of stacked cells are nested.
    """
    nested = keras.tree.pack_sequence_as(cell.state_size, list(states))
    outputs, states = cell(inputs, nested, **kwargs)
    return outputs, keras.tree.flatten(states)


def is_code(error):
    """Whether `load_model` refused a file because it holds Python code.

    Keras raises a plain ValueError, which only its text tells from others.
    """
    return "lambda" in str(error).lower()


@contextlib.contextmanager
def without_values():
    """Variables of the models built inside never get values: they take no memory.

    A scope without state puts their values off, and lists them to give them later. There is no
    public way to strike them off that list, without which the next scope would allocate them.
    """
    listed = global_state.get_global_attribute("uninitialized_variables")
    global_state.set_global_attribute("uninitialized_variables", [])
    try:
        with keras.StatelessScope(initialize_variables=False):
            yield
    finally:
        global_state.set_global_attribute("uninitialized_variables", listed)


_draws_nothing = contextvars.ContextVar("draws_nothing", default=False)


class Draws:
    """The random numbers of Keras's initializers, but zeros within `without_draws`."""

    def __getattr__(self, name):
        is_draw = name in ("uniform", "normal", "truncated_normal")
        return _zeros if is_draw and _draws_nothing.get() else getattr(backend.random, name)


def _zeros(shape, *args, dtype=None, **kwargs):
    return keras.ops.convert_to_tensor(np.zeros(shape, dtype or keras.config.floatx()))


@contextlib.contextmanager
def without_draws():
    """Weights made inside begin at zero, since a file's replace them.

    JAX compiles a draw for each of their shapes, which takes most of the time of reading a model.
    Keras has no way to build a model that gets its weights from elsewhere.
    """
    random_initializers.random = Draws()
    token = _draws_nothing.set(True)
    try:
        yield
    finally:
        _draws_nothing.reset(token)
