import keras
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from keras import ops

from kerastrans.layers import (
    EndPositionalEncoding,
    LearntPositionalEncoding,
    PositionalEncoding,
)
from tests.conftest import to_numpy


def sinusoids(length, dim):
    """Vaswani et al. (2017), section 3.5, in float64."""
    table = np.empty((length, dim))
    for column in range(dim):
        angle = np.arange(length) / 10000 ** (column // 2 * 2 / dim)
        table[:, column] = np.cos(angle) if column % 2 else np.sin(angle)
    return table


@given(length=st.integers(1, 200), dim=st.integers(1, 33))
def test_sinusoids_equal_the_formula_for_any_width(length, dim):
    result = to_numpy(PositionalEncoding(length, dim)(np.zeros((1, length, dim), "float32")))
    np.testing.assert_allclose(result[0], sinusoids(length, dim), atol=2e-5)


def test_sinusoids_equal_the_lesson():
    result = to_numpy(PositionalEncoding(6, 4)(np.zeros((1, 6, 4), "float32")))
    np.testing.assert_allclose(
        result[0, 1], [0.84147098, 0.54030231, 0.00999983, 0.99995], atol=1e-6
    )
    distances = result[0] @ result[0].T  # equal steps apart, equal products: 1.540252 in the lesson
    np.testing.assert_allclose(np.diag(distances, 1), 1.5402523, atol=1e-5)


@pytest.mark.parametrize("layer", [PositionalEncoding(20, 5), LearntPositionalEncoding(20, 5)])
def test_offset_selects_rows_of_the_complete_encoding(layer):
    x = np.random.default_rng(0).standard_normal((2, 20, 5), "float32")
    whole = to_numpy(layer(x))
    np.testing.assert_allclose(to_numpy(layer(x[:, 7:9], offset=7)), whole[:, 7:9], atol=1e-6)
    step = layer.decode(x[:, 7:8], positions=ops.convert_to_tensor([7]))
    np.testing.assert_allclose(to_numpy(step), whole[:, 7:8], atol=1e-6)


@pytest.mark.parametrize(
    "policy",
    ["mixed_float16", "mixed_bfloat16", pytest.param("float64", marks=pytest.mark.tensorflow)],
)
def test_output_has_the_dtype_of_the_inputs(policy):
    layer = PositionalEncoding(None, 5, dtype=policy)
    result = layer(np.zeros((1, 2000, 5), "float32"))
    assert keras.backend.standardize_dtype(result.dtype) == layer.compute_dtype
    # Angles are float32: even distant neighbours differ as they should, to the dtype's rounding.
    values = to_numpy(ops.cast(result, "float32"))[0, -10:]
    np.testing.assert_allclose(values, sinusoids(2000, 5)[-10:], atol=8e-3)


def test_learnt_encoding_learns_one_vector_per_position():
    layer = LearntPositionalEncoding(6, 3)
    result = to_numpy(layer(np.zeros((1, 4, 3), "float32")))
    np.testing.assert_array_equal(result[0], to_numpy(layer.embeddings)[:4])
    assert layer.count_params() == 18
    assert len(layer.trainable_weights) == 1


@pytest.mark.parametrize("kind", [PositionalEncoding, LearntPositionalEncoding])
def test_more_positions_than_max_len_are_refused(kind):
    with pytest.raises(ValueError, match="holds max_len=4 positions, got a sequence of 5"):
        kind(4, 3)(np.zeros((1, 5, 3), "float32"))


def test_wrong_width_is_refused():
    with pytest.raises(ValueError, match="requires inputs whose last axis is 4"):
        PositionalEncoding(5, 4)(np.zeros((1, 5, 3), "float32"))


@pytest.mark.parametrize("kind", [PositionalEncoding, LearntPositionalEncoding])
def test_layer_reloads_from_its_config(kind):
    layer = kind(7, 5, name="here")
    assert kind.from_config(layer.get_config()).get_config() == layer.get_config()


@pytest.mark.parametrize(
    "kind", [PositionalEncoding, LearntPositionalEncoding, EndPositionalEncoding]
)
def test_integers_are_encoded_as_numbers(kind):
    layer = kind(5, 4)
    numbers = np.arange(24).reshape(2, 3, 4)
    found = to_numpy(layer(numbers.astype("int32")))
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, to_numpy(layer(numbers.astype("float32"))))
