"""`kerastrans serve`: every setting of the service is an option."""

from dataclasses import asdict, fields

import pytest

import kerastrans
from kerastrans.cli import deploy
from kerastrans.cli import main as cli
from kerastrans.serving import Settings

PRESET = "nhits_air_passengers_12"


@pytest.fixture
def served(monkeypatch):
    """List of the settings that each call of `serve` receives."""
    found = []

    def serve(forecaster, name, host, port, **settings):
        found.append((name, host, port, settings))

    monkeypatch.setattr(kerastrans.serving, "serve", serve, raising=False)
    return found


@pytest.mark.parametrize(
    ("file", "backend"), [("a.onnx", "tensorflow"), ("a", "tensorflow"), ("a.pt2", "torch")]
)
def test_export_starts_the_backend_that_writes_the_format(monkeypatch, tmp_path, file, backend):
    started = []
    monkeypatch.setattr(deploy, "find_spec", lambda package: package == backend)
    monkeypatch.setattr(deploy, "start_keras", started.append)
    monkeypatch.setattr(deploy, "load", lambda trained, weights: Exported())
    assert cli.main(["export", PRESET, str(tmp_path / file)]) == 0
    assert started == [backend]


@pytest.mark.slow
def test_texts_of_covariates_are_given_where_no_data_are_read(monkeypatch):
    found = []

    def serve(forecaster, *others):
        found.append(forecaster)

    monkeypatch.setattr(kerastrans.serving, "serve", serve, raising=False)
    options = ["--prediction-length=4", "--future-columns=wind,day", "--categories=day=work,feast"]
    assert cli.main(["serve", "kerastrans_zero_2", *options]) == 0
    wind, day = found[0].metadata["covariates"]["future"]
    assert (wind["categories"], day["categories"]) == (None, ("feast", "work"))


def test_texts_without_their_column_are_refused(refuse, served):
    line = refuse("serve", "kerastrans_zero_2", "--prediction-length=4", "--categories=work,feast")
    assert "expected NAME=A,B, got 'work,feast'" in line
    assert served == []


class Exported:
    """A forecaster that writes nothing."""

    def export(self, path):
        """Take a path."""


def test_every_setting_is_an_option(served):
    values = {
        field.name: {tuple: ("box.lan", "b"), bool: False}.get(field.type, 7)
        for field in fields(Settings)
    }
    options = []
    for name, value in values.items():
        flag = name.replace("_", "-")
        text = ",".join(value) if isinstance(value, tuple) else value
        options += [f"--no-{flag}"] if value is False else [f"--{flag}={text}"]
    assert cli.main(["serve", PRESET, "--port=0", *options]) == 0
    ((name, host, port, settings),) = served
    assert (name, host, port) == (PRESET, "127.0.0.1", 0)
    assert asdict(Settings(**settings)) == values


def test_what_is_not_given_has_its_default(served):
    assert cli.main(["serve", PRESET]) == 0
    assert served[0][3] == {}


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--max-series=0", "max_series must be an integer of at least 1, got 0"),
        ("--csv-timeout=0", "expected a number above 0, got '0'"),
        ("--max-cells=x", "invalid int value: 'x'"),
    ],
)
def test_invalid_settings_are_refused_before_the_model_is_loaded(option, message, refuse, served):
    assert message in refuse("serve", PRESET, option)
    assert served == []
