import numpy as np
import pandas as pd
import pytest

from kerastrans.cli import main as cli

SMALL = ["--model=nlinear", "--context-length=24", "--prediction-length=6", "--batch-size=16"]


@pytest.fixture(scope="session")
def frame():
    """Wide frame of 200 hours of two noisy waves."""
    hours = np.arange(200)
    noise = np.random.default_rng(0).standard_normal((200, 2))
    values = np.stack([np.sin(hours * np.pi / 12), np.cos(hours * np.pi / 12)], axis=1) * 10 + noise
    times = pd.date_range("2020-01-01", periods=200, freq="h", name="date")
    return pd.DataFrame(values, times, ["a", "b"])


@pytest.fixture(scope="session")
def series(frame, tmp_path_factory):
    """CSV file of this frame."""
    path = tmp_path_factory.mktemp("series") / "series.csv"
    frame.to_csv(path)
    return path


@pytest.fixture(autouse=True)
def reports_without_pictures(monkeypatch):
    """Reports have no pictures, which take most of their time."""
    monkeypatch.setattr("kerastrans.evaluation.report._picture", lambda figure: "")


@pytest.fixture(scope="session")
def run_folder(series, tmp_path_factory):
    """What `train` left."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    arguments = ["train", str(series), f"--output={folder}", *SMALL, "--epochs=3", "--quiet"]
    assert cli.main([*arguments, "--test-size=30"]) == 0
    return folder


@pytest.fixture
def refuse(capsys):
    """Function from a refused command to the one line that it prints."""

    def run(*arguments):
        capsys.readouterr()  # what went before
        assert cli.main([str(a) for a in arguments]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        lines = [line for line in printed.err.splitlines() if " read as: " not in line]
        assert len(lines) == 1
        assert lines[0].startswith("kerastrans: error: ")
        return lines[0].removeprefix("kerastrans: error: ")

    return run
