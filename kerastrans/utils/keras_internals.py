"""All uses of undocumented parts of Keras, each with its reason.

`tests/utils/test_keras_internals.py` has a canary for each function, which fails if a new release
of Keras changes the part in question.
"""

import contextlib
import contextvars
import sys

import keras
import numpy as np
from keras.src import backend
from keras.src.backend.common import global_state
from keras.src.initializers import random_initializers
from keras.src.losses.loss import scale_loss_for_distribution
from keras.src.saving import serialization_lib
from keras.src.trainers.data_adapters import data_adapter_utils

FORMER_SHAPES = {"memory_shape": "value_shape", "prompt_shape": "value_shape"}


class Imported:
    """Stand-in for a module that Keras inspects for types, without importing it.

    Args:
        name: str, name of the module.
    """

    def __init__(self, name):
        self.name = name

    @property
    def available(self):
        """True if the module is imported, so that objects of its types can exist."""
        return self.name in sys.modules

    def __getattr__(self, name):
        return getattr(sys.modules[self.name], name)


def leave_tensorflow_out():
    """Keep Keras from importing TensorFlow on another backend when it writes a configuration.

    Keras checks whether a value is a TensorFlow shape, and imports TensorFlow if it is installed.
    This takes seconds and 400 MB, although such values cannot exist before the import.
    """
    if keras.backend.backend() != "tensorflow":
        serialization_lib.tf = Imported("tensorflow")


def calls(model):
    """Return the calls of a functional model, except its inputs, in an executable order.

    Each call has `operation`, the layer or op, and `input_tensors` and `outputs`, KerasTensors.

    Keras has no public view of the calls of a functional graph. `Function.call` reads the same
    attribute.
    """
    return [
        node
        for depth in sorted(model._nodes_by_depth, reverse=True)
        for node in model._nodes_by_depth[depth]
        if not node.is_input
    ]


def call_arguments(node):
    """Return `(args, kwargs)` of one of `calls(model)`, which contain KerasTensors."""
    return node.arguments.args, node.arguments.kwargs


def op_name(operation):
    """Return the name of a `keras.ops` function in a functional graph: "Add" for `keras.ops.add`.

    The classes of these operations are not exported, so only their names can be compared.
    """
    return type(operation).__name__


def all_layers(model):
    """Return the layers of a model at every depth, the model itself first.

    `model.layers` is documented, but only contains the first level.
    """
    return model._flatten_layers()


class KeepsQuantization:
    """Mixin of layers with layers inside: stored files know how `quantize` has changed those.

    Keras builds a layer from its shapes alone, and then finds other variables in the file.
    """

    def get_build_config(self):
        changed = {
            str(number): (layer.quantization_mode, layer.get_config()["quantization_config"])
            for number, layer in enumerate(all_layers(self))
            if getattr(layer, "quantization_mode", None)
        }
        config = super().get_build_config()
        return {**config, "quantization": changed} if changed else config

    def build_from_config(self, config):
        shapes = config.get("shapes_dict", {}).items()  # by the names of version 0.3, too
        shapes = {FORMER_SHAPES.get(name, name): shape for name, shape in shapes}
        super().build_from_config({**config, "shapes_dict": shapes} if shapes else config)
        layers = all_layers(self)
        for number, (mode, options) in config.get("quantization", {}).items():
            options = keras.saving.deserialize_keras_object(options)
            layers[int(number)].quantize(mode, config=options)


def mask_of(x):
    """Return the implicit mask of a tensor or KerasTensor, such as that of `Embedding(mask_zero)`.

    Layers receive the masks of their arguments, but the masks of tensors that are passed on in
    another way, as in decoding, can only be read from the tensors. Without a mask it returns None.
    """
    return backend.get_keras_mask(x)


def set_mask(x, mask):
    """Set the implicit mask of a tensor, as `Layer.__call__` does for its outputs."""
    backend.set_keras_mask(x, mask)


def scale_for_replicas(loss):
    """Return the share of one replica in a mean loss, as the losses of Keras do.

    On TensorFlow the losses of the replicas of a `tf.distribute` strategy are added up. Keras has
    no public name for the factor, which its `Loss.__call__` applies together with its weights.
    """
    return scale_loss_for_distribution(loss)


def refuse_class_weight():
    """Make Keras refuse `class_weight` by its name for arrays of more than two axes.

    Keras reads the classes of the targets before a loss sees them. For those of a series it raises
    a TypeError of NumPy, "only 0-dimensional arrays can be converted to Python scalars".
    """
    convert = data_adapter_utils.class_weight_to_sample_weights

    def checked(y, class_weight):
        if len(shape := tuple(np.shape(y))) > 2:
            raise ValueError(
                f"class_weight requires targets that are classes, got the shape {shape}: "
                "give sample_weight, one weight for each window, (batch,), or step, (batch, time)."
            )
        return convert(y, class_weight)

    data_adapter_utils.class_weight_to_sample_weights = checked


def dropout_state(layer):
    """Return the noise shape and the seed generator of a `keras.layers.Dropout`.

    A layer that draws its own mask needs the same generator, which is part of a saved model.
    """
    return layer.noise_shape, getattr(layer, "seed_generator", None)


def seed_generators(model, seed):
    """Set the random generators of a model's layers to the state that follows from `seed`.

    Their states are weights that Keras does not write into its files.
    """
    states = [variable for variable in model.variables if variable.name == "seed_generator_state"]
    seeds = np.random.default_rng(seed).integers(2**31, size=len(states))
    for state, first in zip(states, seeds, strict=True):
        state.assign(np.array([first, 0]))


class StackedCells(keras.layers.StackedRNNCells):
    """Stacked LSTM cells whose new states are nested like `state_size`.

    For a single cell Keras returns the states without the surrounding list, which breaks the scan
    of JAX.
    """

    def call(self, inputs, states, training=False):
        outputs, states = super().call(inputs, states, training=training)
        return outputs, states if keras.tree.is_nested(states[0]) else [states]


def cell_of(rnn):
    """Return the cell of a `keras.layers.RNN`, which Keras documents only as an argument."""
    return rnn.cell


def state_sizes(cell):
    """Return the widths of a cell's states as a flat list, starting with the first stacked cell."""
    return keras.tree.flatten(cell.state_size)


def run_cell(cell, inputs, states, **kwargs):
    """Run one step of a cell and return its outputs and new states, with states as flat lists.

    Keras documents the states of a single cell, but not the nesting for stacked cells.
    """
    nested = keras.tree.pack_sequence_as(cell.state_size, list(states))
    outputs, states = cell(inputs, nested, **kwargs)
    return outputs, keras.tree.flatten(states)


def config_of(loss):
    """Return the `get_config` of a loss, or another object, with the delta that `Huber` omits."""
    return loss.get_config() | getattr(loss, "_fn_kwargs", {})


def serialize_loss(loss):
    """Return what `keras.losses.serialize` does, with the delta that `Huber` omits."""
    written = keras.losses.serialize(loss)
    if isinstance(loss, keras.losses.Huber):
        written["config"]["delta"] = config_of(loss)["delta"]
    return written


def is_code(error):
    """Return whether `load_model` refused a file because it contains Python code.

    Keras raises a plain ValueError, which can only be recognised by its message.
    """
    return "lambda" in str(error).lower()


@contextlib.contextmanager
def without_values():
    """Build models inside this context without allocating memory for their variables.

    A stateless scope defers the initial values of variables and lists them for later. Keras has no
    public way to remove them from that list, without which the next scope would allocate them.
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
    """Random functions for Keras's initializers that return zeros within `without_draws`."""

    def __getattr__(self, name):
        is_draw = name in ("uniform", "normal", "truncated_normal")
        return _zeros if is_draw and _draws_nothing.get() else getattr(backend.random, name)


def _zeros(shape, *args, dtype=None, **kwargs):
    """Return zeros in place of a random draw of this shape."""
    return keras.ops.convert_to_tensor(np.zeros(shape, dtype or keras.config.floatx()))


@contextlib.contextmanager
def without_draws():
    """Initialise weights created inside this context to zero, because a file will replace them.

    JAX compiles a draw for each shape of weights, which takes most of the time of loading a model.
    Keras has no way to build a model without initial values.
    """
    random_initializers.random = Draws()
    token = _draws_nothing.set(True)
    try:
        yield
    finally:
        _draws_nothing.reset(token)
