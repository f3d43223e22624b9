"""What a run keeps if it fails."""

import os
import shutil
from pathlib import Path

import pytest

from kerastrans.cli import main as cli
from kerastrans.cli import report
from kerastrans.cli.run import Series, make_run
from kerastrans.data import read_table
from tests.cli.conftest import SMALL


@pytest.fixture
def full_disk(monkeypatch):
    """Function that lets the report of a run fail, as on a full disk, or work again."""
    write = report.write_training_report

    def fail(*args, **kwargs):
        raise OSError(28, "No space left on device")

    return lambda is_full: monkeypatch.setattr(
        report, "write_training_report", fail if is_full else write
    )


@pytest.mark.slow
def test_a_training_whose_report_fails_is_resumed(series, tmp_path, full_disk, capsys):
    output = tmp_path / "run"
    arguments = ["train", str(series), f"--output={output}", *SMALL, "--epochs=2", "--quiet"]
    full_disk(True)
    assert cli.main(arguments) == 2
    assert "the training is kept: --resume continues it" in capsys.readouterr().err
    assert (tmp_path / "run.training" / "training.npz").is_file()
    full_disk(False)
    assert cli.main([*arguments, "--resume"]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]


def test_two_outputs_are_two_files(series, tmp_path, refuse):
    same = tmp_path / "x.png"
    line = refuse("forecast", series, "--output", same, "--plot", tmp_path / "." / "x.png")
    assert line == f"two outputs have the same name: {same}."
    assert list(tmp_path.iterdir()) == []
    line = refuse("datasets", "--output", tmp_path / "x.csv")
    assert line == "--output requires the name of the series to save."
    line = refuse("forecast", "nhits_air_passengers_12", series, "--freq=h")
    assert "forecasts the frequency 'MS', got 'h'" in line


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_a_run_that_cannot_be_resumed_leaves_nothing(series, tmp_path, error, capsys):
    def train_on(frame, folder):
        (folder / "training.npz").write_text("a checkpoint")
        raise error("in the middle")

    options = {"prediction_length": 6, "title": "demo", "resumable": False}
    with pytest.raises(error, match="in the middle"):
        make_run(train_on, Series.of(read_table(series)), tmp_path / "run", **options)
    assert list(tmp_path.iterdir()) == []
    assert "--resume" not in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Köln.csv", os.fsdecode(b"caf\xe9.csv")])
def test_a_report_names_a_file_of_any_name(series, tmp_path, name, monkeypatch):
    try:
        shutil.copy(series, tmp_path / name)
    except OSError:
        pytest.skip("the file system has no such names")
    monkeypatch.setattr(Path, "write_text", ascii_by_default(Path.write_text))
    arguments = ["train", str(tmp_path / name), f"--output={tmp_path / 'run'}", *SMALL]
    assert cli.main([*arguments, "--epochs=1", "--quiet"]) == 0
    text = (tmp_path / "run" / "report.txt").read_text(encoding="utf-8")
    assert name.encode("utf-8", "backslashreplace").decode() in text


def ascii_by_default(write):
    """As in a locale that is not UTF-8."""
    return lambda path, text, encoding="ascii", errors=None: write(path, text, encoding, errors)
