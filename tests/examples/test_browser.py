"""The page of examples/browser.py forecasts in a browser as the forecaster does in Python."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from kerastrans import datasets, zoo
from tests.helpers.browser import copy_runtime, needs_browser
from tools.checks import chromium

EXAMPLE = Path(__file__).parents[2] / "examples/browser.py"


@pytest.mark.slow
@pytest.mark.tensorflow
@needs_browser
def test_the_page_of_the_example_forecasts(tmp_path, monkeypatch):
    pytest.importorskip("onnxruntime")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    copy_runtime(tmp_path / "browser")
    with (
        chromium.serve_folder(tmp_path / "browser") as address,
        chromium.open_page(address) as page,
    ):
        page.get_by_text("24 hours of 3 airports").wait_for()
        found = np.array(page.evaluate("Array.from(forecast)")).reshape(24, 3)
        assert page.locator("polyline").count() == 6
    forecaster = zoo.from_preset("nhits_nyc_departures_24")
    wanted = forecaster.predict(datasets.load("nyc_departures"))["nhits"].to_numpy()
    np.testing.assert_allclose(found.T.ravel(), wanted, rtol=1e-4, atol=1e-4)
