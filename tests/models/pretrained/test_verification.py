"""A stand-in takes the place of a reference package: ours, with or without a fault."""

import re
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from kerastrans.cli.main import main
from kerastrans.models import pretrained
from kerastrans.models.pretrained.chronos import bolt_port as chronos_bolt
from kerastrans.models.pretrained.verification import verify
from tests.helpers.checkpoints import CHRONOS_BOLT, changed, random_tensors, write

SERIES = [10 + np.sin(np.arange(30.0)), np.array([3.0, np.nan, 5.0, 4.0])]
DECILES = [k / 10 for k in range(1, 10)]
BOLT = changed(CHRONOS_BOLT, num_layers=1, quantiles=DECILES)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("checkpoints") / "tiny-bolt"
    path.mkdir()
    return write(path, BOLT, random_tensors(chronos_bolt.build_network(BOLT)[1]))


@pytest.fixture
def stand_in(monkeypatch):
    """A function that installs a package `chronos` which changes our quantiles and points."""
    model = {}

    def install(change, change_points=lambda points: points):
        class Pipeline:
            @staticmethod
            def from_pretrained(folder, device_map, torch_dtype):
                assert (device_map, torch_dtype) == ("cpu", "float32")
                return SimpleNamespace(predict_quantiles=lambda *x, **y: predict(folder, *x, **y))

        def predict(folder, inputs, prediction_length, quantile_levels):
            model.setdefault(0, pretrained.load(folder))
            found = model[0].forecast(inputs, prediction_length, quantile_levels)
            points = np.concatenate([x["mean"] for x in found])
            quantiles = change(np.concatenate([x["quantiles"] for x in found]))
            return quantiles, change_points(points)

        torch, chronos = ModuleType("torch"), ModuleType("chronos")
        torch.tensor, chronos.BaseChronosPipeline = np.asarray, Pipeline
        monkeypatch.setitem(sys.modules, "torch", torch)
        monkeypatch.setitem(sys.modules, "chronos", chronos)

    return install


def test_a_difference_is_relative_to_the_largest_forecast_of_its_row(folder, stand_in):
    def change(quantiles):
        quantiles[1, 2, 3] += 1e-3 * np.abs(quantiles[1]).max()
        return quantiles

    def change_points(points):
        points[0, 1] += 2e-3 * np.abs(points[0]).max()
        return points

    stand_in(change, change_points)
    done = verify(folder, SERIES, 5)
    assert done.port == "chronos_bolt"
    assert done.package.startswith("chronos-forecasting")
    assert done.differences == [pytest.approx(2e-3, rel=0.5), pytest.approx(1e-3, rel=0.01)]
    assert not done.is_equal


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda x: x[..., :-1],
            r"returns \(1, 5, 9\) for series 0, ours has the shape \(1, 5, 10\)",
        ),
        (lambda x: x * np.nan, "returns values that are not finite for series 0"),
    ],
)
def test_what_cannot_be_compared_is_refused(folder, stand_in, change, message):
    stand_in(change)
    with pytest.raises(ValueError, match=message):
        verify(folder, SERIES, 5)


def test_without_the_package_it_is_named(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "chronos", None)
    with pytest.raises(ImportError, match="pip install chronos-forecasting"):
        verify(folder, SERIES, 5)


@pytest.mark.slow
def test_the_command_line_says_equal_or_fails(folder, stand_in, tmp_path, capsys):
    path = tmp_path / "data.csv"
    rows = [f"2024-01-{day:02d},{1 + day % 7},{1 + day % 3}" for day in range(1, 29)]
    path.write_text("date,load,wind\n" + "\n".join(rows))
    command = ["verify", str(folder), str(path), "--prediction-length", "5"]
    stand_in(lambda quantiles: quantiles)
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert "2 series" in printed
    assert re.search(r"wind: largest difference \d\.\de-0[6789]", printed)
    assert re.search(r"are equal: largest of all \d\.\de-0[6789], tolerance 1e-04\.", printed)
    stand_in(lambda quantiles: 1.01 * quantiles)
    assert main(command) == 2
    message = "the forecasts differ: largest of all 9.9e-03, tolerance 1e-04"
    assert message in capsys.readouterr().err
    assert main([*command, "--tolerance", "0.02"]) == 0
