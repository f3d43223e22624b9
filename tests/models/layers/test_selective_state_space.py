import numpy as np
from scipy.special import softplus

from kerastrans.models.mamba import SelectiveStateSpace
from tests.conftest import to_numpy


def test_the_parallel_scan_is_the_recurrence_step_by_step():
    random = np.random.default_rng(0)
    x = random.standard_normal((2, 11, 3)).astype("float32")
    layer = SelectiveStateSpace(state_dim=4, rank=2)
    found = to_numpy(layer(x))
    weights = {weight.path.split("/", 1)[1]: to_numpy(weight) for weight in layer.weights}
    selected = x @ weights["select/kernel"]
    step, write, read = np.split(selected, (2, 6), axis=-1)
    step = softplus(step @ weights["step/kernel"] + weights["step/bias"])
    state, expected = np.zeros((2, 3, 4)), []
    for t in range(11):
        decay = np.exp(-step[:, t, :, None] * np.exp(weights["log_rate"]))
        state = decay * state + (step[:, t] * x[:, t])[..., None] * write[:, t, None]
        expected.append((state * read[:, t, None]).sum(-1) + weights["skip"] * x[:, t])
    np.testing.assert_allclose(found, np.stack(expected, axis=1), atol=1e-5)
