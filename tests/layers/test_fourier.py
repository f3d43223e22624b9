import numpy as np
import pytest

from kerastrans.layers import FourierBlock, FourierCrossAttention

from ..conftest import to_numpy


def test_block_is_the_inverse_transform_of_weighted_frequencies():
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


def test_cross_attention_is_tanh_of_complex_scores():
    layer = FourierCrossAttention(1, 4, modes=64)
    random = np.random.default_rng(0)
    x = random.standard_normal((2, 10, 3)).astype("float32")
    memory = random.standard_normal((2, 8, 3)).astype("float32")
    outputs = to_numpy(layer(x, memory))
    q = np.fft.rfft(x @ to_numpy(layer.query_dense.kernel), axis=1)[:, layer.frequencies]
    k = np.fft.rfft(memory @ to_numpy(layer.key_dense.kernel), axis=1)[:, layer.memory_frequencies]
    scores = np.einsum("bqd,bkd->bqk", q, k)
    scores = np.tanh(scores.real) + 1j * np.tanh(scores.imag)
    weight = (to_numpy(layer.real) + 1j * to_numpy(layer.imaginary))[:, 0]
    mixed = np.einsum("bqd,qdo->bqo", np.einsum("bqk,bkd->bqd", scores, k), weight)
    spectrum = np.zeros((2, 6, 4), complex)
    spectrum[:, layer.frequencies] = mixed
    expected = np.fft.irfft(spectrum, 10, axis=1) @ to_numpy(layer.output_dense.kernel)
    np.testing.assert_allclose(outputs, expected, atol=1e-5)


def test_heads_that_do_not_divide_are_refused():
    with pytest.raises(ValueError, match="num_heads must divide dim=6, got 4"):
        FourierBlock(4, 6)
