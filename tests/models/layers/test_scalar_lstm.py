import numpy as np

from kerastrans.models.xlstm_mixer import ScalarLSTM
from tests.conftest import to_numpy

HEADS, WIDTH, TOKENS = 2, 3, 5


def recurrence(x, kernel, bias, recurrent):
    """Equations of section 2.2 of the paper for one head in float64, without a stabiliser."""
    output = cell = normaliser = np.zeros(WIDTH)
    outputs = []
    for token in x:
        write, forget, value, show = np.split(token @ kernel + bias + output @ recurrent, 4)
        forget = 1 / (1 + np.exp(-forget))
        cell = forget * cell + np.exp(write) * np.tanh(value)
        normaliser = forget * normaliser + np.exp(write)
        output = cell / normaliser / (1 + np.exp(-show))
        outputs.append((output - output.mean()) / np.sqrt(output.var() + 1e-5))
    return np.array(outputs)


def test_it_is_the_recurrence_of_the_paper_in_each_head():
    random = np.random.default_rng(0)
    x = random.standard_normal((2, TOKENS, HEADS * WIDTH)).astype("float32")
    layer = ScalarLSTM(HEADS)
    layer(x)
    values = {weight.name: random.standard_normal(weight.shape) for weight in layer.weights}
    for weight in layer.weights:
        weight.assign(values[weight.name])
    found = to_numpy(layer(x))
    for i in range(HEADS):
        part = slice(i * WIDTH, (i + 1) * WIDTH)
        parts = (values[name][i] for name in ("kernel", "bias", "recurrent_kernel"))
        kernel, bias, recurrent = parts
        for window, ours in zip(x, found, strict=True):
            expected = recurrence(window[:, part], kernel, bias, recurrent)
            np.testing.assert_allclose(ours[:, part], expected * values["scale"][part], atol=2e-4)


def test_large_gates_stay_finite():
    layer = ScalarLSTM(1)
    x = np.array([[[1.0], [-1.0], [1.0]]], "float32")
    layer(x)
    layer.kernel.assign(np.full(layer.kernel.shape, 500.0))
    assert np.isfinite(to_numpy(layer(x))).all()
