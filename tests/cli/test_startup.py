"""What is imported, and what is printed, before and while a command runs."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import kerastrans
from kerastrans.cli import main as cli
from kerastrans.cli import trained
from kerastrans.models.pretrained.shipped import DEFAULT

pytestmark = pytest.mark.tensorflow  # what the command line calls is tested on every backend


def run(code):
    """Output of a process; nothing may go to stderr."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout


def test_what_lists_imports_no_keras_and_help_nothing():
    code = """
import sys
from kerastrans.cli.main import main

def heavy(*names):
    return sorted(set(names) & set(sys.modules))

try:
    main(["--help"])
except SystemExit:
    print(heavy("tensorflow", "keras", "pandas", "numpy"))
assert main(["zoo"]) == 0
print(heavy("tensorflow", "keras", "pandas", "numpy"))
for command in ("datasets", "presets"):
    assert main([command]) == 0
print(heavy("tensorflow", "keras", "matplotlib"))
"""
    printed = run(code)
    assert printed.count("\n[]\n") == 3
    for command in ("demo", "train", "forecast", "backtest", "generate", "export", "serve"):
        assert f"\n    {command} " in printed


def test_faults_of_a_csv_are_all_named_before_keras_is_imported(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text("date,x\n2020-01-01,1\n2020-01-02,one\n2020-13-03,3\n2020-01-01,4\n")
    code = f"""
import contextlib, io, sys
from kerastrans.cli.main import main
with contextlib.redirect_stderr(io.StringIO()) as said:
    assert main(["train", {str(path)!r}, "--output", {str(tmp_path / "run")!r}]) == 2
print(said.getvalue(), {{"keras", "tensorflow"}} & set(sys.modules))
"""
    lines = run(code).splitlines()
    assert lines[0] == f"kerastrans: error: {path} has 3 faults:"
    assert [line.split(":")[0].strip() for line in lines[1:4]] == ["line 3", "line 4", "line 5"]
    assert lines[-1].endswith("set()")
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_a_command_prints_its_result_and_nothing_else(tmp_path):
    code = f"""
from kerastrans.cli.main import main
arguments = ["nhits_air_passengers_12", "air_passengers", "--output", {str(tmp_path / "f.csv")!r}]
assert main(["forecast", *arguments]) == 0
"""
    assert run(code) == f"12 rows: {tmp_path / 'f.csv'}\n"


@pytest.mark.slow
def test_few_forecasts_are_computed_without_a_compiler(tmp_path):
    path = tmp_path / "forecast.csv"
    code = f"""
import sys
from kerastrans.cli.main import main
assert main(["forecast", "air_passengers", "--output", {str(path)!r}]) == 0
import keras
print(keras.backend.backend(), "tensorflow" in sys.modules)
"""
    assert run(code).splitlines()[-1] == "numpy False"
    options = {"model_options": {"season": 12}, "verbose": False}
    forecaster = kerastrans.from_pretrained("kerastrans_zero_2", 12, **options)
    expected = forecaster.predict(kerastrans.datasets.load("air_passengers"))
    numbers = expected.columns[2:]
    np.testing.assert_allclose(pd.read_csv(path)[numbers], expected[numbers], rtol=1e-5)


def test_the_command_line_has_the_default_of_the_package():
    assert trained.DEFAULT == DEFAULT


@pytest.mark.parametrize(("series", "steps", "once"), [(1, 12, False), (512, 24, True)])
def test_many_forecasts_are_compiled(series, steps, once, monkeypatch):
    times = pd.date_range("2024-01-01", periods=3, freq="h")
    frame = pd.DataFrame({"ds": times, "y": 1.0}).merge(
        pd.DataFrame({"unique_id": [f"s{i}" for i in range(series)]}), how="cross"
    )
    started = []

    def start(backend):
        started.append(backend)
        raise RuntimeError("started")

    monkeypatch.setattr(trained, "start_keras", start)
    weights = {"prediction_length": steps}
    with pytest.raises(RuntimeError, match="started"):
        trained.load_published("kerastrans_zero_2", weights, frame=frame, once=once)
    assert started == [None]


def test_messages_name_the_options_of_the_command_line(tmp_path, capsys):
    days = pd.date_range("2024-01-01", periods=12, freq="MS").strftime("%d/%m/%Y")
    pd.DataFrame({"date": days, "y": range(12)}).to_csv(tmp_path / "x.csv", index=False)
    arguments = ["train", str(tmp_path / "x.csv"), "--output", str(tmp_path / "run")]
    assert cli.main(arguments) == 2
    assert "2024-12-01 00:00:00: give --dayfirst or --no-dayfirst." in capsys.readouterr().err
