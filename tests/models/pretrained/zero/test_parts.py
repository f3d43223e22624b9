"""What the parts of version 2 add to a forecast of kerastrans-zero, with random weights."""

import numpy as np
import pytest

from kerastrans.models.pretrained.zero import network as zero
from kerastrans.models.pretrained.zero.explanation import build_parts
from tests.conftest import to_numpy

RNG = np.random.default_rng(0)
LENGTH = 1024
SIZES = {"context_length": LENGTH, "octaves": 9, "cycles": 3, "width": 8, "hidden": 8}
CONFIG = {**SIZES, "quantiles": [0.1, 0.5, 0.9], "phase_cycles": 5, "parts": list(zero.PARTS)}


@pytest.fixture(scope="module")
def network():
    network = zero.build_network(CONFIG)
    for variable in network.trainable_variables:
        variable.assign(0.3 * RNG.normal(size=variable.shape))
    return network


def inputs():
    time = np.arange(LENGTH)
    values = np.stack([np.sin(time * np.pi / 6) + time / 500, RNG.normal(size=LENGTH)])
    observed = np.stack([RNG.random(LENGTH) > 0.1, time >= LENGTH - 40])
    parts = values * observed, observed, np.array([[1, 4, 30]] * 2)
    return [x.astype("float32") for x in parts]


def test_the_parts_sum_to_the_median(network):
    values, observed, steps = inputs()
    found = [to_numpy(x) for x in build_parts(network)([values, observed, steps])]
    _, places, shares, changes, slopes, offset = found
    rows = np.arange(2)[:, None, None, None]
    past = values[rows, np.maximum(LENGTH - 1 + places, 0)]
    median = (shares * past).sum(axis=(2, 3)) + changes.sum(axis=2) + slopes.sum(axis=2) + offset
    expected = to_numpy(network([values, observed, steps]))[..., 1]
    np.testing.assert_allclose(median, expected, atol=1e-5)
    assert (shares >= 0).all()
    assert (shares[..., 3:] > 0).any()  # of means: values of more cycles than `choice` has


def test_a_shorter_network_has_the_parts_and_the_forecast(network):
    shorter = zero.shorten(network, 256)
    assert [x.path for x in shorter.variables] == [x.path for x in network.variables]
    values, observed, steps = inputs()
    observed[:, :-256], values[:, :-256] = 0, 0
    expected = to_numpy(network([values, observed, steps]))
    found = to_numpy(shorter([values[:, -256:], observed[:, -256:], steps]))
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_means_of_a_phase_move_to_the_newest_level():
    pattern = np.array([1.0, -1.0, 3.0])
    levels = np.array([[[10.0, 4.0]]])
    past = (levels[0, 0] + pattern[:, None])[None, :, None]  # (batch, future, octaves, cycles)
    ones = np.ones_like(past)
    found = zero.describe_phases(past, ones, levels, np.ones((1, 1, 2)), np.ones((1, 1)))
    means = to_numpy(found["means"])[0, :, 0]
    np.testing.assert_allclose(means[:, 0], 7 + pattern)
    np.testing.assert_allclose(means[:, 1], 10 + pattern)
    # No deviations at this phase: what is usual counts for 3 values, these two for 2.
    np.testing.assert_allclose(to_numpy(found["noise"]), np.log(3 / 5), rtol=1e-6)


@pytest.mark.parametrize("lag", [1, 4])
def test_the_last_change_fades_as_an_autoregression(lag):
    steps, memory, last = np.arange(1.0, 13), 0.6, 2.0
    past = list(np.zeros(lag))
    for step in range(12):
        past.append(past[-lag] + last * memory ** (step + 1))
    changes = np.full((1, 1, 3), last)
    arguments = changes, np.array([[memory]]), np.array([[float(lag)]]), steps[None]
    found = to_numpy(zero.fade(*(x.astype("float32") for x in arguments)))
    np.testing.assert_allclose(found[0, :, 0], past[lag:], rtol=1e-4)
