import itertools

import keras
import numpy as np
import pytest

from kerastrans import zoo
from kerastrans.layers import FourierBlock, FourierCrossAttention
from tests.conftest import to_numpy


def test_fourier_block_equals_the_inverse_transform_of_weighted_frequencies():
    layer = FourierBlock(2, 6, modes=4)
    x = np.random.default_rng(0).standard_normal((3, 16, 5)).astype("float32")
    outputs = to_numpy(layer(x))
    q = x @ to_numpy(layer.query_dense.kernel)
    spectrum = np.fft.rfft(q, axis=1)
    weight = to_numpy(layer.real) + 1j * to_numpy(layer.imaginary)
    kept = np.zeros_like(spectrum)
    for i, frequency in enumerate(layer.frequencies):
        heads = spectrum[:, frequency].reshape(3, 2, 3)
        kept[:, frequency] = np.einsum("bhi,hio->bho", heads, weight[i]).reshape(3, 6)
    expected = np.fft.irfft(kept, 16, axis=1) @ to_numpy(layer.output_dense.kernel)
    assert len(set(layer.frequencies)) == 4
    np.testing.assert_allclose(outputs, expected, atol=1e-5)


@pytest.mark.parametrize("activation", ["tanh", "softmax"])
@pytest.mark.parametrize(("scale", "factor"), [(None, 1 / 16), (1.0, 1.0)])
def test_cross_attention_uses_a_function_of_complex_scores(scale, factor, activation):
    layer = FourierCrossAttention(1, 4, modes=64, scale=scale, activation=activation)
    random = np.random.default_rng(0)
    x = random.standard_normal((2, 10, 3)).astype("float32")
    memory = random.standard_normal((2, 8, 3)).astype("float32")
    outputs = to_numpy(layer(x, memory))
    q = np.fft.rfft(x @ to_numpy(layer.query_dense.kernel), axis=1)[:, layer.frequencies]
    k = np.fft.rfft(memory @ to_numpy(layer.key_dense.kernel), axis=1)[:, layer.value_frequencies]
    scores = np.einsum("bqd,bkd->bqk", q, k)
    if activation == "tanh":
        scores = np.tanh(scores)
    else:
        scores = np.exp(np.abs(scores))
        scores = scores / scores.sum(axis=-1, keepdims=True)
    weight = (to_numpy(layer.real) + 1j * to_numpy(layer.imaginary))[:, 0]
    mixed = np.einsum("bqd,qdo->bqo", np.einsum("bqk,bkd->bqd", scores, k), weight)
    spectrum = np.zeros((2, 6, 4), complex)
    spectrum[:, layer.frequencies] = mixed
    expected = factor * np.fft.irfft(spectrum, 10, axis=1) @ to_numpy(layer.output_dense.kernel)
    np.testing.assert_allclose(outputs, expected, rtol=1e-4, atol=1e-6 * factor)
    assert np.abs(expected).max() > 1e-2 * factor


def test_cross_attention_uses_different_frequencies_for_memory_and_query():
    keras.utils.set_random_seed(0)
    layer = FourierCrossAttention(2, 6, modes=8)
    layer.build((None, 64, 5), (None, 64, 5))
    assert list(layer.frequencies) != list(layer.value_frequencies)
    again = FourierCrossAttention.from_config(layer.get_config())
    again.build((None, 64, 5), (None, 64, 5))
    np.testing.assert_array_equal(again.frequencies, layer.frequencies)
    np.testing.assert_array_equal(again.value_frequencies, layer.value_frequencies)
    assert again.scale == layer.scale == 1 / 36


def test_the_lowest_frequencies_are_kept_on_request():
    layer = FourierCrossAttention(2, 6, modes=4, mode_selection="low")
    layer(np.zeros((1, 64, 6)), np.zeros((1, 6, 6)))
    assert list(layer.frequencies) == [0, 1, 2, 3]
    assert list(layer.value_frequencies) == [0, 1, 2]


def test_num_heads_that_does_not_divide_the_width_is_refused():
    with pytest.raises(ValueError, match="num_heads must divide dim=6, got 4"):
        FourierBlock(4, 6)


def test_blocks_have_different_frequencies_and_initial_weights():
    keras.utils.set_random_seed(0)
    blocks = [FourierBlock(2, 6, modes=8) for _ in range(3)]
    for block in blocks:
        block.build((None, 64, 5))
    for one, other in itertools.combinations(blocks, 2):
        assert list(one.frequencies) != list(other.frequencies)
        assert np.abs(to_numpy(one.real) - to_numpy(other.real)).max() > 1e-3
    assert np.abs(to_numpy(blocks[0].real) - to_numpy(blocks[0].imaginary)).max() > 1e-3
    assert 0 <= to_numpy(blocks[0].real).min() <= to_numpy(blocks[0].real).max() <= 1 / 36


@pytest.mark.slow
def test_seed_determines_the_frequencies_and_saved_models_keep_them(tmp_path):
    def forecast(seed):
        keras.utils.set_random_seed(seed)
        model = zoo.build("fedformer", 32, 4, 1, d_model=8, num_heads=2, ff_dim=8, modes=5)
        kept = [list(x.frequencies) for x in model.layers if isinstance(x, FourierBlock)]
        return model, kept, model.predict(np.ones((1, 32, 1)) * np.arange(32)[:, None], verbose=0)

    (model, kept, values), again, other = forecast(0), forecast(0), forecast(1)
    (cross,) = [x for x in model.layers if isinstance(x, FourierCrossAttention)]
    assert kept == again[1] != other[1]
    np.testing.assert_array_equal(values, again[2])
    assert len({tuple(x) for x in kept}) > 1
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras", safe_mode=True)
    blocks = [x for x in loaded.layers if isinstance(x, FourierBlock)]
    assert [list(x.frequencies) for x in blocks] == kept
    (loaded_cross,) = [x for x in loaded.layers if isinstance(x, FourierCrossAttention)]
    np.testing.assert_array_equal(loaded_cross.value_frequencies, cross.value_frequencies)
    inputs = np.ones((1, 32, 1)) * np.arange(32)[:, None]
    np.testing.assert_allclose(loaded.predict(inputs, verbose=0), values, atol=1e-6)


def test_seed_of_an_earlier_version_gives_the_same_frequencies():
    layer = FourierBlock(2, 6, modes=4, seed=0)
    layer.build((None, 16, 5))
    np.testing.assert_array_equal(
        layer.frequencies, np.sort(np.random.default_rng(0).permutation(8)[:4])
    )
