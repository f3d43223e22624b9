"""Canaries: each names what a new Keras has moved, before a user meets it in another place."""

import importlib
import os
import subprocess
import sys
import threading

import keras
import numpy as np
import pytest
from keras import layers, ops

from kerastrans.decoding.contract import ARITHMETIC_OPS, MASK_OPS
from kerastrans.utils import keras_internals

TWO = ("Add", "Divide", "Equal", "Greater", "GreaterEqual", "Less", "LessEqual", "LogicalAnd")
TWO += ("LogicalOr", "Maximum", "Minimum", "Multiply", "NotEqual", "Subtract", "TrueDivide")


def test_calls_are_listed_in_order_with_their_arguments():
    inputs, mask = keras.Input((3,)), keras.Input((3,))
    dense, add = layers.Dense(3, name="dense"), layers.Add(name="add")
    x = dense(inputs)
    model = keras.Model([inputs, mask], add([x, ops.multiply(mask, 2.0)]))
    nodes = keras_internals.calls(model)
    assert sorted(node.operation.name for node in nodes)[:2] == ["add", "dense"]
    assert nodes[-1].operation is add
    (first,) = [node for node in nodes if node.operation is dense]
    assert first.input_tensors == [inputs]
    assert first.outputs == [x]
    assert keras_internals.call_arguments(first) == ((inputs,), {})
    (product,) = [node for node in nodes if not isinstance(node.operation, layers.Layer)]
    args, kwargs = keras_internals.call_arguments(product)
    assert [*args, *kwargs.values()] == [mask, 2.0]


@pytest.mark.parametrize("name", sorted(ARITHMETIC_OPS | MASK_OPS))
def test_operations_are_identified_by_class_name(name):
    snake = "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")
    x = keras.KerasTensor((2, 3), "float32")
    rest = (x,) if name in TWO else {"Cast": ("int32",), "ExpandDims": (1,)}.get(name, ())
    if name == "Where":
        rest = (x, x)
    output = getattr(ops, snake)(x, *rest)
    (node,) = keras_internals.calls(keras.Function(x, output))
    assert keras_internals.op_name(node.operation) == name


def test_model_subclass_with_inputs_and_outputs_is_functional():
    class Own(keras.Model):
        pass

    inputs = keras.Input((3,))
    model = Own(inputs, layers.Dense(2)(inputs))
    assert isinstance(model, keras.Function)
    assert len(keras_internals.calls(model)) == 1


def test_loss_of_a_single_replica_keeps_its_size():
    assert float(keras_internals.scale_for_replicas(ops.convert_to_tensor(3.0))) == 3.0


@pytest.mark.parametrize("method", ["fit", "train_on_batch"])
def test_class_weight_is_refused_for_series_and_still_weighs_classes(method):
    importlib.import_module("kerastrans.heads.losses")  # calls refuse_class_weight
    model = keras.Sequential(
        [keras.Input((2,)), layers.Dense(2, "softmax", kernel_initializer="zeros")]
    )
    model.compile(keras.optimizers.SGD(0.0), "categorical_crossentropy")
    options = {"class_weight": {0: 1.0, 1: 3.0}, **({"verbose": 0} if method == "fit" else {})}
    loss = getattr(model, method)(np.zeros((2, 2)), np.eye(2), **options)
    loss = loss.history["loss"][0] if method == "fit" else loss
    assert float(loss) == pytest.approx(2 * np.log(2), rel=1e-5)
    with pytest.raises(ValueError, match=r"class_weight requires .*, got the shape \(2, 4, 1\)"):
        getattr(model, method)(np.zeros((2, 2)), np.zeros((2, 4, 1)), **options)


def test_nested_layers_are_listed():
    inner = keras.Sequential([keras.Input((3,)), layers.Dense(2, name="deep")])
    model = keras.Sequential([keras.Input((3,)), inner])
    assert "deep" in [layer.name for layer in keras_internals.all_layers(model)]
    assert "deep" not in [layer.name for layer in model.layers]


def test_dropout_has_its_noise_shape_and_a_seed_generator():
    shape, generator = keras_internals.dropout_state(layers.Dropout(0.5, (2, 1), seed=3))
    assert shape == (2, 1)
    assert generator.get_config()["seed"] == 3
    assert keras_internals.dropout_state(layers.Dropout(0.0))[0] is None


@pytest.mark.parametrize("sizes", [(3,), (3, 5)])
def test_one_step_of_stacked_cells_equals_the_layer(sizes):
    stacked = keras_internals.StackedCells([layers.LSTMCell(size) for size in sizes])
    rnn = layers.RNN(stacked, return_sequences=True, return_state=True)
    x = np.random.default_rng(0).standard_normal((2, 4, 1)).astype("float32")
    whole, *states = rnn(x)
    cell = keras_internals.cell_of(rnn)
    widths = [size for size in sizes for _ in range(2)]
    assert keras_internals.state_sizes(cell) == widths
    flat = [ops.zeros((2, width)) for width in widths]
    for step in range(4):
        outputs, flat = keras_internals.run_cell(cell, x[:, step], flat, training=False)
        np.testing.assert_allclose(outputs, whole[:, step], atol=1e-6)
    for one, other in zip(keras.tree.flatten(states), flat, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_the_config_of_a_loss_is_whole():
    found = [keras_internals.config_of(keras.losses.Huber(delta=delta)) for delta in (1.0, 50.0)]
    assert [config["delta"] for config in found] == [1.0, 50.0]
    dense = layers.Dense(2)
    assert keras_internals.config_of(dense) == dense.get_config()


def test_error_identifies_a_file_with_code(tmp_path):
    model = keras.Sequential([keras.Input((3,)), layers.Lambda(lambda x: x + 1)])
    model.save(tmp_path / "code.keras")
    with pytest.raises(ValueError) as refused:  # noqa: PT011  the text is what is_code reads
        keras.saving.load_model(tmp_path / "code.keras", safe_mode=True)
    assert keras_internals.is_code(refused.value)
    with pytest.raises(ValueError) as refused:  # noqa: PT011
        keras.saving.load_model(tmp_path / "missing.keras", safe_mode=True)
    assert not keras_internals.is_code(refused.value)


WITHOUT_TENSORFLOW = """
import sys
import keras, kerastrans
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
model.compile("adam", "mse")
keras.Sequential.from_config(model.get_config())
model.get_compile_config()
assert "tensorflow" not in sys.modules
import tensorflow as tf
print(keras.saving.serialize_keras_object(tf.TensorShape([2, 3])))
"""


@pytest.mark.slow
def test_configs_are_written_without_tensorflow_on_another_backend():
    pytest.importorskip("jax")
    environment = {**os.environ, "KERAS_BACKEND": "jax"}
    command = [sys.executable, "-c", WITHOUT_TENSORFLOW]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[2, 3]"


def test_only_weights_replaced_by_a_file_are_not_initialised():
    elsewhere = layers.Dense(3)
    with keras_internals.without_draws():
        zeros = [layers.Dense(3), layers.Dense(3, kernel_initializer="truncated_normal")]
        zeros = [layers.Embedding(3, 2), *zeros]
        for layer in zeros:
            layer.build((None, 4))
        inside = threading.Thread(target=elsewhere.build, args=((None, 4),))
        inside.start()
        inside.join()
    assert all(not np.any(layer.get_weights()[0]) for layer in zeros)
    later = layers.Dense(3)
    later.build((None, 4))
    for layer in (elsewhere, later):
        assert len(np.unique(layer.get_weights()[0])) == 12


def test_the_generators_of_all_layers_follow_from_the_seed():
    inputs = layers.Input((4,))
    nested = keras.Model(inputs, layers.Dropout(0.5)(inputs))
    model = keras.Model(inputs, layers.GaussianNoise(1.0)(nested(inputs)))
    values = np.ones((8, 4), "float32")
    drawn = []
    for seed in (0, 0, 1):
        keras_internals.seed_generators(model, seed)
        drawn.append([np.asarray(ops.convert_to_numpy(model(values, training=True)))])
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert (drawn[0][0] != drawn[2][0]).mean() > 0.5


def test_the_implicit_mask_of_a_tensor_is_read_and_set():
    embed = layers.Embedding(4, 2, mask_zero=True)
    tokens = np.array([[1, 0]])
    outputs = embed(tokens)
    np.testing.assert_array_equal(
        ops.convert_to_numpy(keras_internals.mask_of(outputs)), [[True, False]]
    )
    assert keras_internals.mask_of(embed(keras.Input((2,)))).dtype == "bool"
    assert keras_internals.mask_of(ops.convert_to_tensor(tokens)) is None
    keras_internals.set_mask(outputs, ops.ones((1, 2), "bool"))
    other = layers.Dropout(0.1)(outputs)  # passes on what was set
    assert ops.convert_to_numpy(keras_internals.mask_of(other)).all()
