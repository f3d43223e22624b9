import numpy as np
import pytest

from kerastrans.layers import AutoCorrelation
from tests.conftest import to_numpy


def reference(x, memory, layer):
    """The definition, delay by delay: rolled values weighted by the strongest correlations."""
    q, k, v = (
        a @ to_numpy(d.kernel) + to_numpy(d.bias)
        for a, d in ((x, layer.query_dense), (memory, layer.key_dense), (memory, layer.value_dense))
    )
    missing = ((0, 0), (0, max(0, x.shape[1] - memory.shape[1])), (0, 0))
    k, v = (np.pad(part, missing)[:, : x.shape[1]] for part in (k, v))
    length = x.shape[1]
    count = int(layer.factor * np.log(length))
    outputs = []
    for q_i, k_i, v_i in zip(q, k, v, strict=True):
        score = np.array([(q_i * np.roll(k_i, d, axis=0)).sum(0).mean() for d in range(length)])
        best = np.argsort(score)[-count:]
        weight = np.exp(score[best] - score[best].max())
        weight /= weight.sum()
        outputs.append(sum(w * np.roll(v_i, -d, axis=0) for w, d in zip(weight, best, strict=True)))
    return np.array(outputs) @ to_numpy(layer.output_dense.kernel)


@pytest.mark.parametrize("memory_length", [None, 20, 9])
def test_auto_correlation_equals_the_sum_over_delays(memory_length):
    random = np.random.default_rng(0)
    layer = AutoCorrelation(6, factor=2)
    layer.build((None, 14, 5), (None, memory_length or 14, 5))
    for dense in (layer.key_dense, layer.value_dense):  # padding shows only with biases
        dense.bias.assign(random.standard_normal(6))
    x = random.standard_normal((2, 14, 5)).astype("float32")
    if memory_length is None:
        outputs, memory = layer(x), x
    else:
        memory = random.standard_normal((2, memory_length, 5)).astype("float32")
        outputs = layer(x, memory)
    np.testing.assert_allclose(to_numpy(outputs), reference(x, memory, layer), atol=1e-4)


def test_reference_delays_are_those_of_the_batch_in_training():
    random = np.random.default_rng(0)
    layer = AutoCorrelation(6, factor=1, reference_delays=True)
    x = random.standard_normal((3, 14, 5)).astype("float32")
    together = to_numpy(layer(x, training=True))
    alone = np.concatenate([to_numpy(layer(row[None], training=True)) for row in x])
    assert np.abs(together - alone).max() > 1e-3
    np.testing.assert_allclose(to_numpy(layer(x)), alone, atol=1e-5)
