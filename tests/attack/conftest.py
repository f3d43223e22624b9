import json

import numpy as np
import pytest

from kerastrans import Forecaster, datasets, zoo
from tests.attack.model_file import read

CONTEXT, HORIZON = 24, 6


@pytest.fixture(scope="module")
def forecaster():
    series = datasets.load("nyc_departures")[:300]
    return Forecaster("nlinear", CONTEXT, HORIZON, seed=1).fit(series, epochs=1, verbose=0)


@pytest.fixture(scope="module")
def body():
    """A request for one forecast."""
    return json.dumps({"instances": [np.ones((CONTEXT, 3)).tolist()]}).encode()


@pytest.fixture(scope="module")
def members(tmp_path_factory):
    """Dict from the names of a compiled model's files to their content."""
    model = zoo.build("nlinear", 12, 4, 2)
    model.compile("adam", "mse")
    model.optimizer.build(model.trainable_variables)
    path = tmp_path_factory.mktemp("members") / "m.keras"
    model.save(path)
    return read(path)
