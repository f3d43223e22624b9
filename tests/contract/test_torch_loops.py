"""Every architecture is a `torch.nn.Module`, which trains in a loop of PyTorch as in `fit`."""

import keras
import numpy as np
import pytest

from tests.helpers.architectures import HORIZON, TRAINED, build, example_inputs, walks

pytestmark = pytest.mark.skipif(keras.backend.backend() != "torch", reason="runs on PyTorch")
QUICK = ("nlinear", "patchtst")
RATE = 0.01


def by_tier(names):
    marks = [pytest.mark.slow, pytest.mark.exhaustive]
    return [pytest.param(name, marks=() if name in QUICK else marks) for name in names]


def built(name):
    """The model and its inputs and targets, the same at each call."""
    keras.utils.set_random_seed(1)
    model = build(name)
    windows = walks(4, 24 + HORIZON).astype("float32")
    return model, example_inputs(model, windows[:, :24]), windows[:, 24:]


def run_loop(model, inputs, targets):
    """One step of SGD, as someone writes it who knows PyTorch alone."""
    import torch

    tensors = keras.tree.map_structure(torch.tensor, inputs)
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    loss = torch.nn.functional.mse_loss(model(tensors, training=True), torch.tensor(targets))
    loss = loss + sum(model.losses)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


@pytest.mark.parametrize("name", by_tier(TRAINED))
def test_a_step_of_torch_is_a_step_of_fit(name):
    import torch

    model, inputs, targets = built(name)
    assert isinstance(model, torch.nn.Module)
    run_loop(model, inputs, targets)
    gradients = {x.path: x.value.grad for x in model.trainable_variables}
    assert not [path for path, gradient in gradients.items() if gradient is None]
    other, inputs, targets = built(name)
    before = other.get_weights()
    other.compile(keras.optimizers.SGD(RATE), "mse")
    other.fit(inputs, targets, batch_size=4, epochs=1, shuffle=False, verbose=0)
    moves = [np.abs(x - y).max() for x, y in zip(before, other.get_weights(), strict=True)]
    assert max(moves) > 1e-6
    for found, expected in zip(model.get_weights(), other.get_weights(), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
