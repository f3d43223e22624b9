"""Files that the command line reads, and what it says about them."""

import json
import os
import threading

import numpy as np
import pandas as pd
import pytest

import kerastrans
from kerastrans import datasets
from kerastrans.cli import main as cli
from kerastrans.cli.options import DOOR
from kerastrans.cli.reading import read_series
from kerastrans.data import read_table
from tests.helpers.csv_requests import forecast_csv

DAYS = pd.date_range("2023-01-01", periods=400)


def german(times, values):
    """A CSV with slashes, the day first, and decimal commas."""
    rows = [
        f"{time:%d/%m/%Y};{value:.3f}".replace(".", ",")
        for time, value in zip(times, values, strict=True)
    ]
    return "\n".join(["Tag;load", *rows]) + "\n"


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Folder of a forecaster whose training file only one order of day and month can read."""
    folder = tmp_path_factory.mktemp("reading")
    values = 1000 + 100 * np.sin(np.arange(len(DAYS)) * 2 * np.pi / 7)
    (folder / "train.csv").write_text(german(DAYS, values))
    frame = read_table(folder / "train.csv")
    forecaster = kerastrans.Forecaster("nlinear", 8, 2).fit(frame, epochs=1, verbose=0)
    forecaster.save(folder / "run")
    return folder


def test_a_small_file_is_read_as_the_training_file_was(trained, tmp_path, capsys):
    days = pd.date_range("2024-03-01", periods=12)
    path = tmp_path / "next.csv"
    path.write_text(german(days, np.arange(12) + 1000.0))
    arguments = ["forecast", str(trained / "run"), str(path), "--output", str(tmp_path / "f.csv")]
    assert cli.main(arguments) == 0
    assert capsys.readouterr().err == (
        f"{path} read as: semicolons between columns, decimal comma, dates in 'Tag', day first, "
        "frequency D; wide, 1 series, 12 rows\n"
    )
    assert pd.read_csv(tmp_path / "f.csv")["ds"].tolist() == ["2024-03-13", "2024-03-14"]
    loaded = kerastrans.Forecaster.load(trained / "run")
    answer = forecast_csv(loaded, path.read_bytes())
    assert answer["forecast"]["ds"] == ["2024-03-13 00:00:00", "2024-03-14 00:00:00"]
    assert max(answer["history"]["load"]) == 1011.0
    loaded.save(tmp_path / "again")
    again = json.loads((tmp_path / "again" / "forecaster.json").read_text())
    assert again["fitted"]["read_as"]["date_format"] == "%d/%m/%Y"


def test_two_readings_are_refused_with_the_option_that_decides(tmp_path, refuse):
    days = pd.date_range("2024-03-01", periods=12)
    path = tmp_path / "next.csv"
    path.write_text(german(days, np.arange(12) + 0.5))
    command = ["forecast", path, "--prediction-length=2"]
    assert refuse(*command).endswith("give --dayfirst or --no-dayfirst.")
    path.write_text(german(days, np.arange(12) + 1.25).replace(",", "."))
    line = refuse(*command, "--dayfirst")
    assert line.startswith(f"{path}: line 2: column 'load' can be read in two ways, '1.250' as")
    assert line.endswith("give --decimal '.' or --decimal ','.")


def test_every_option_of_a_file_is_an_argument_of_the_reader():
    import inspect

    names = {flag[2:].replace("-", "_") for flag in DOOR}
    assert names <= set(inspect.signature(read_table).parameters)


def test_local_hours_of_a_zone_are_forecast_in_it(tmp_path, capsys):
    hours = pd.date_range("2024-10-25", periods=72, freq="h", tz="Europe/Berlin")
    frame = pd.DataFrame({"load": np.arange(72.0)}, pd.DatetimeIndex(hours, name="date"))
    forecaster = kerastrans.Forecaster("nlinear", 8, 2).fit(frame, epochs=1, verbose=0)
    frame.tz_localize(None).to_csv(tmp_path / "local.csv")
    with pytest.raises(ValueError, match="If clocks went back, give timezone"):
        read_table(tmp_path / "local.csv")
    read = read_table(tmp_path / "local.csv", timezone="Europe/Berlin")
    assert read.index.equals(frame.index)
    assert forecaster.predict(read)["ds"][0] == hours[-1] + pd.Timedelta("1h")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no named pipes")
def test_a_pipe_is_read_as_a_file_is(tmp_path, capsys):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    text = "date;load\n01.02.2024;1,5\n02.02.2024;2\n03.02.2024;3\n"
    writer = threading.Thread(target=pipe.write_text, args=[text])
    writer.start()
    frame = read_series(str(pipe), {})
    writer.join()
    assert frame["load"].tolist() == [1.5, 2.0, 3.0]
    with pytest.raises(FileNotFoundError, match="no such file: runs/mine"):
        read_series("runs/mine", {})


def test_columns_of_a_long_dataset_keep_its_keys(monkeypatch):
    times = pd.date_range("2024-01-01", periods=2)
    long = pd.DataFrame({"unique_id": "a", "ds": times, "price": [3.0, 4.0], "y": [1.0, 2.0]})
    monkeypatch.setattr(datasets, "load", lambda name: long)
    frame = read_series("hospital", {"columns": ["y"]})
    assert list(frame) == ["unique_id", "ds", "y"]
