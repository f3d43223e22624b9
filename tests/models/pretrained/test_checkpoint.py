import json
import re

import ml_dtypes
import numpy as np
import pytest
from keras import layers, ops

from kerastrans.models import pretrained
from kerastrans.models.pretrained.checkpoint import assign, linear, read_checkpoint
from kerastrans.models.pretrained.chronos import bolt_port as chronos_bolt
from tests.helpers.checkpoints import CHRONOS_BOLT, changed, random_tensors, write


@pytest.fixture(scope="module")
def tensors():
    return random_tensors(chronos_bolt.build_network(CHRONOS_BOLT)[1])


@pytest.fixture
def folder(tmp_path, tensors):
    return write(tmp_path, CHRONOS_BOLT, tensors)


def assert_refused(folder, *parts, error=ValueError):
    """One line that names the folder and what is wrong."""
    with pytest.raises(error, match=re.escape(str(folder))) as caught:
        pretrained.load(folder)
    message = str(caught.value)
    assert "\n" not in message
    for part in parts:
        assert part in message


def test_an_empty_folder(tmp_path):
    assert_refused(tmp_path, "config.json", error=FileNotFoundError)


def test_a_configuration_alone(folder):
    (folder / "model.safetensors").unlink()
    assert_refused(folder, "model.safetensors", error=FileNotFoundError)


def test_a_pickle_alone_is_not_read(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    assert_refused(folder, "pytorch_model.bin", "pickle")


@pytest.mark.parametrize("size", [0, 4, 100, -1])
def test_truncated_weights(folder, size):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:size])
    assert_refused(folder, "model.safetensors", "damaged")


@pytest.mark.parametrize(
    "header",
    [
        b"[]",
        b'{"a": 1}',
        b'{"a": {"dtype": "F32", "shape": [9999], "data_offsets": [0, 4]}}',
        b'{"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4000000000]}}',
        b'{"a": {"dtype": "F99", "shape": [1], "data_offsets": [0, 4]}}',
    ],
)
def test_a_header_that_lies(folder, header):
    header = header.ljust(-(-len(header) // 8) * 8)
    content = len(header).to_bytes(8, "little") + header + bytes(4)
    (folder / "model.safetensors").write_bytes(content)
    assert_refused(folder, "model.safetensors", "damaged")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"a": NaN', "\x00"])
def test_a_damaged_configuration(folder, text):
    (folder / "config.json").write_text(text)
    assert_refused(folder, "config.json")


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({}, "names no architecture"),  # which TimesFM's package leaves out
        ({"architectures": None}, "chronos_bolt"),
        ({"architectures": ["T5Model"], "model_type": "t5"}, "chronos_bolt"),
    ],
)
def test_another_architecture(folder, config, words):
    (folder / "config.json").write_text(json.dumps(config))
    assert_refused(folder, words)


def test_a_missing_key_is_named(tmp_path, tensors):
    key = "encoder.block.1.layer.0.SelfAttention.k.weight"
    rest = {name: value for name, value in tensors.items() if name != key}
    assert_refused(write(tmp_path, CHRONOS_BOLT, rest), "lacks", key)


def test_a_surplus_key_is_named(tmp_path, tensors):
    surplus = {**tensors, "extra.weight": np.zeros(3, "float32")}
    assert_refused(write(tmp_path, CHRONOS_BOLT, surplus), "additional key", "extra.weight")


@pytest.mark.parametrize("key", ["shared.weight", "input_patch_embedding.hidden_layer.weight"])
def test_a_misshapen_key_is_named(tmp_path, tensors, key):
    misshapen = {**tensors, key: tensors[key][:-1].copy()}
    assert_refused(write(tmp_path, CHRONOS_BOLT, misshapen), key, "shape")


def test_tied_tables_may_be_there(tmp_path, tensors):
    tied = {**tensors, "encoder.embed_tokens.weight": tensors["shared.weight"].copy()}
    pretrained.load(write(tmp_path, CHRONOS_BOLT, tied))


@pytest.mark.parametrize("value", [0, -1, 2.5, "8", None, True, 10**12])
@pytest.mark.parametrize("name", ["d_model", "num_layers", "context_length"])
def test_an_impossible_size_is_named(tmp_path, tensors, name, value):
    folder = write(tmp_path, changed(CHRONOS_BOLT, **{name: value}), tensors)
    assert_refused(folder, name)


def test_a_misfit_leaves_all_weights_as_they_were():
    first, second = layers.Dense(2, use_bias=False), layers.Dense(3, use_bias=False)
    first.build((None, 4)), second.build((None, 4))
    before = ops.convert_to_numpy(first.kernel)
    layout = {**linear("first", first), **linear("second", second)}
    tensors = {"first.weight": np.ones((2, 4)), "second.weight": np.ones((4, 4))}
    with pytest.raises(ValueError, match=r"second\.weight"):
        assign(tensors, layout)
    np.testing.assert_array_equal(ops.convert_to_numpy(first.kernel), before)


def test_weights_in_bfloat16_are_read(tmp_path):
    values = np.array([1.0, -2.5], ml_dtypes.bfloat16)
    header = b'{"a": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}} '
    (tmp_path / "config.json").write_text("{}")
    content = len(header).to_bytes(8, "little") + header + values.tobytes()
    (tmp_path / "model.safetensors").write_bytes(content)
    np.testing.assert_array_equal(read_checkpoint(tmp_path)[1]["a"].astype("float32"), [1.0, -2.5])
