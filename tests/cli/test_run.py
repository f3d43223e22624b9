"""What a run keeps if it fails."""

import pytest

from kerastrans.cli import main as cli
from kerastrans.cli import report
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
