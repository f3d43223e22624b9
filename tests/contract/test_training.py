"""Every architecture learns 32 windows by heart under `fit`, compiled by XLA.

`check_model` takes a few eager steps; this takes minutes.
"""

import keras
import numpy as np
import pytest

from tests.helpers.architectures import (
    CONTEXT,
    HORIZON,
    TRAINED,
    all_in_slow_tier,
    build_shallow,
    example_inputs,
    walks,
)

pytestmark = pytest.mark.parametrize("name", all_in_slow_tier(TRAINED))


class StopBelow(keras.callbacks.Callback):
    """Ends the training once less than a share of the first loss is left."""

    def __init__(self, share):
        super().__init__()
        self.share = share
        self.first = None

    def on_epoch_end(self, epoch, logs):
        self.first = self.first or logs["loss"]
        self.model.stop_training = logs["loss"] < self.share * self.first


def fit(name, epochs, callback):
    keras.utils.set_random_seed(3)
    model = build_shallow(name)
    windows = walks(32, CONTEXT + HORIZON)
    model.compile(keras.optimizers.Adam(0.01), "mse", jit_compile=True)
    before = model.get_weights()
    history = model.fit(
        example_inputs(model, windows[:, :CONTEXT]),
        windows[:, CONTEXT:],
        batch_size=32,
        epochs=epochs,
        verbose=0,
        callbacks=[callback],
    )
    return model, before, history.history["loss"]


def test_it_overfits_32_windows_and_every_weight_learns(name):
    left = LEFT.get(name, 0.35)
    model, before, losses = fit(name, EPOCHS.get(name, 150), StopBelow(left))
    assert losses[-1] < left * losses[0]
    trainable = {id(weight) for weight in model.trainable_weights}
    for weight, start in zip(model.weights, before, strict=True):
        if id(weight) in trainable:
            moved = np.abs(keras.ops.convert_to_numpy(weight) - start)
            assert moved.max() > 0, f"no gradient reaches {weight.path}"


# Trained on its own forecasts a recurrent network stays on a plateau for the first hundred epochs.
EPOCHS = {"deepar": 500}

# Share of the first loss that may be left: models of few weights cannot learn 32 windows by heart.
LEFT = {"sparsetsf": 0.9, "linear_regression": 0.6, "timebase": 0.9, "fits": 0.6}
