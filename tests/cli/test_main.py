"""What every command has in common."""

import subprocess
import sys
import warnings

import pytest

from kerastrans import datasets
from kerastrans.cli import main as cli
from kerastrans.version import __version__

pytestmark = pytest.mark.tensorflow


def test_interruption_is_told_from_an_error(monkeypatch, capsys):
    def interrupt(name):
        raise KeyboardInterrupt

    monkeypatch.setattr(datasets, "load", interrupt)
    assert cli.main(["datasets", "etth1"]) == 130
    assert capsys.readouterr().err == "kerastrans: interrupted\n"


def test_a_warning_is_printed_once(monkeypatch, capsys):
    def warn(name):
        for line in range(2):  # two places in the code, or one that is called twice
            warnings.warn_explicit("few origins", UserWarning, "a.py", line)
        warnings.warn("for developers", DeprecationWarning, stacklevel=1)
        raise ValueError("the end")

    monkeypatch.setattr(datasets, "load", warn)
    assert cli.main(["datasets", "etth1"]) == 2
    expected = ["kerastrans: warning: few origins", "kerastrans: error: the end"]
    assert capsys.readouterr().err.splitlines() == expected


def test_messages_name_options_and_no_attributes(monkeypatch, capsys):
    def warn(name):
        warnings.warn("1 series left out, see .faults: 'a' is short", UserWarning, stacklevel=1)
        raise ValueError("give scaler=None, give price in future=frame, give static, with 'id'.")

    monkeypatch.setattr(datasets, "load", warn)
    assert cli.main(["datasets", "etth1"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "kerastrans: warning: 1 series left out: 'a' is short",
        "kerastrans: error: give --scaler none, give price by --future, give --static, with 'id'.",
    ]


def test_the_version_is_printed(capsys):
    with pytest.raises(SystemExit, match="0"):
        cli.main(["--version"])
    assert capsys.readouterr().out == f"kerastrans {__version__}\n"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no /dev/full")
@pytest.mark.parametrize(
    ("shell", "status", "message"),
    [
        ("{} zoo | true; exit ${{PIPESTATUS[0]}}", 141, ""),
        ("{} zoo --tag recurrent > /dev/full", 2, "No space left on device"),
    ],
)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_an_output_that_takes_no_more_is_no_traceback(
    unbuffered, shell, status, message, monkeypatch
):
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    command = shell.format(f"{sys.executable} -m kerastrans.cli.main")
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.returncode == status
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == bool(message)


def test_notes_go_to_the_standard_error_or_nowhere(monkeypatch, capsys):
    class Full:
        def write(self, text):
            raise OSError(28, "No space left on device")

        flush = write

    for stream in (None, Full()):
        monkeypatch.setattr(sys, "stderr", stream)
        assert cli.main(["forecast", "missing/file.csv"]) == 2
        assert capsys.readouterr().out == ""


def test_the_missing_frequency_is_an_option(tmp_path, refuse):
    path = tmp_path / "one.csv"
    path.write_text("date,load\n2024-01-01,1\n")
    assert refuse("forecast", path, "--prediction-length=2").endswith(
        "give --freq, such as --freq h."
    )
