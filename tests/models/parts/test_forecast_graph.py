"""The graph around a model returns forecasts and scales in the units of the history."""

import numpy as np
import pytest

from kerastrans import Forecaster, zoo
from kerastrans.data.scaling import WindowScaler
from kerastrans.forecasting.inference.forecast import forecast_arrays
from kerastrans.forecasting.inference.state import FittedState
from kerastrans.models.parts.forecast_graph import build_forecast_graph
from tests.conftest import to_numpy

HISTORY = np.array([[[3.0], [9.0], [np.nan], [6.0]], [[100.0], [300.0], [200.0], [400.0]]])
DEVIATIONS = [np.sqrt(6), np.sqrt(12_500)]


def test_the_graph_undoes_its_scaling():
    model = zoo.build("last_value", 4, 2, 1)
    graph = build_forecast_graph(model, WindowScaler("standard"))
    parameters = graph({"history": HISTORY, "least_scale": np.zeros((2, 1, 1))})
    np.testing.assert_allclose(to_numpy(parameters)[..., 0], [[6, 6], [400, 400]], rtol=1e-6)


@pytest.mark.parametrize("unit", [1.0, 1e-9, 1e7])
def test_forecasts_and_scales_of_arrays_have_the_unit_of_the_history(unit):
    config = Forecaster("last_value", 4, 2).config
    state = FittedState(config, zoo.build("last_value", 4, 2, 1), None, None)
    parameters, scale = forecast_arrays(state, {"history": unit * HISTORY})
    np.testing.assert_allclose(parameters[..., 0], unit * np.array([[6, 6], [400, 400]]), rtol=1e-6)
    np.testing.assert_allclose(scale.ravel(), unit * np.array(DEVIATIONS), rtol=1e-6)
