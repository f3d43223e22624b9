import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kerastrans import metrics

TARGETS = np.array([[[1.0], [2.0]], [[3.0], [4.0]]])
FORECASTS = TARGETS + np.array([[[1.0], [-1.0]], [[3.0], [1.0]]])


def test_errors_equal_manual_computation():
    assert metrics.mae(TARGETS, FORECASTS) == pytest.approx(6 / 4)
    assert metrics.mse(TARGETS, FORECASTS) == pytest.approx(12 / 4)
    assert metrics.rmse(TARGETS, FORECASTS) == pytest.approx(3**0.5)


def test_mase_scales_each_channel_by_its_seasonal_differences():
    train = np.array([[0.0, 0.0], [1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
    targets = np.zeros((1, 1, 2))
    forecasts = np.array([[[1.0, 40.0]]])
    # season 1: steps of 1 and 10, errors of 1 and 40; season 2: steps of 2 and 20
    assert metrics.mase(targets, forecasts, train) == pytest.approx((1 + 4) / 2)
    assert metrics.mase(targets, forecasts, train, season=2) == pytest.approx((1 / 2 + 2) / 2)


@given(scale=st.floats(1e-3, 1e3), shift=st.floats(-1e3, 1e3))
def test_mase_does_not_depend_on_the_units(scale, shift):
    rng = np.random.default_rng(0)
    train, targets, forecasts = (rng.standard_normal((2, 9, 3)) for _ in range(3))
    before = metrics.mase(targets, forecasts, train[0])
    after = metrics.mase(*(scale * x + shift for x in (targets, forecasts, train[0])))
    assert after == pytest.approx(before, rel=1e-6)


def test_invalid_inputs_are_refused():
    with pytest.raises(ValueError, match="must have the same shape"):
        metrics.mae(TARGETS, FORECASTS[:1])
    with pytest.raises(ValueError, match="season must be from 1 to 2"):
        metrics.mase(TARGETS, FORECASTS, np.zeros((3, 1)), season=3)
    with pytest.raises(ValueError, match="channel 0 repeats itself exactly"):
        metrics.mase(TARGETS, FORECASTS, np.ones((5, 1)))
