import numpy as np
import pandas as pd
import pytest

from kerastrans.cli.main import main

STEPS = 200


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "series.csv"
    times = pd.date_range("2024-01-01", periods=STEPS, freq="D")
    y = (
        10
        + np.sin(2 * np.pi * np.arange(STEPS) / 7)
        + np.random.default_rng(0).normal(0, 0.1, STEPS)
    )
    pd.DataFrame({"unique_id": "a", "ds": times, "y": y}).to_csv(path, index=False)
    return path


def run(*arguments):
    return main([str(argument) for argument in arguments])


def test_a_selection_leaves_a_folder_that_forecasts(csv, tmp_path, capsys):
    output = tmp_path / "selected"
    options = "--time-limit", 1e-6, "--prediction-length", 7
    assert run("select", csv, "--output", output, *options) == 0
    shown = capsys.readouterr().out
    assert "1e-06 s is too short to train a model" in shown
    assert "selection on" in shown
    table = pd.read_csv(output / "leaderboard.csv")
    assert set(table["model"]) == {"seasonal_naive", "ensemble"}
    assert not (tmp_path / "selected.training").exists()
    assert run("forecast", output, csv, "--output", tmp_path / "forecast.csv") == 0
    rows = pd.read_csv(tmp_path / "forecast.csv")
    assert len(rows) == 7
    assert rows["ensemble-lo-80"].lt(rows["ensemble-hi-80"]).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--time-limit", 0), "expected a number above 0, got '0'"),
        (("--prediction-length", 190), "leaves 10 of 200 for training"),
        (("--resume",), "nothing to resume"),
        (("--levels", "0.9"), "90"),
    ],
)
def test_bad_options_end_in_one_line_and_leave_nothing(csv, tmp_path, capsys, options, message):
    assert run("select", csv, "--output", tmp_path / "selected", *options) == 2
    error = capsys.readouterr().err
    assert message in error
    assert len([line for line in error.splitlines() if " read as: " not in line]) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["series.csv"]
