"""What every command has in common."""

import pytest

from kerastrans import datasets
from kerastrans.cli import main as cli

pytestmark = pytest.mark.tensorflow


def test_interruption_is_told_from_an_error(monkeypatch, capsys):
    def interrupt(name):
        raise KeyboardInterrupt

    monkeypatch.setattr(datasets, "load", interrupt)
    assert cli.main(["datasets", "etth1"]) == 130
    assert capsys.readouterr().err == "kerastrans: interrupted\n"
