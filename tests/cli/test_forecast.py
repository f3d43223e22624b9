"""`forecast`, `backtest` and `export` of what `train` left."""

import numpy as np
import pandas as pd
import pytest

import kerastrans
from kerastrans import Forecaster
from kerastrans.cli import main as cli
from kerastrans.forecasting.paths import aggregate_paths
from tests.helpers.weights import FRACAST_0

pytestmark = pytest.mark.tensorflow


def test_forecast_is_that_of_the_forecaster(frame, series, run_folder, tmp_path):
    output, plot = tmp_path / "f.csv", tmp_path / "f.png"
    arguments = ["forecast", str(run_folder), str(series), f"--output={output}"]
    arguments += [f"--plot={plot}", "--levels=50,80", "--exceeds=4,5.5"]
    assert cli.main(arguments) == 0
    expected = Forecaster.load(run_folder).predict(frame, levels=[50, 80], exceeds=[4, 5.5])
    assert {"nlinear-exceeds-4", "nlinear-exceeds-5.5"} <= {*expected}
    pd.testing.assert_frame_equal(
        pd.read_csv(output, parse_dates=["ds"]), expected, check_dtype=False
    )
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_the_empty_rows_of_a_prepared_sheet_are_forecast(frame, run_folder, tmp_path, refuse):
    sheet, output = tmp_path / "sheet.csv", tmp_path / "f.csv"
    pd.concat([frame[:-4], frame[-4:] * np.nan]).to_csv(sheet)
    arguments = ["forecast", str(run_folder), str(sheet), f"--output={output}", "--fill-rows"]
    assert cli.main(arguments) == 0
    found = pd.read_csv(output, parse_dates=["ds"])
    assert found.groupby("unique_id")["ds"].apply(list).tolist() == [[*frame.index[-4:]]] * 2
    expected = Forecaster.load(run_folder).predict(frame[:-4], prediction_length=4)
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)
    message = refuse("forecast", run_folder, sheet, "--fill-rows", "--prediction-length=3")
    assert "leave out --prediction-length" in message
    frame.to_csv(sheet)
    message = refuse("forecast", run_folder, sheet, "--fill-rows")
    assert message == "the last row has a value in at least one series: leave out --fill-rows."


def test_simulate_and_another_horizon(frame, series, run_folder, tmp_path, refuse):
    output = tmp_path / "paths.csv"
    arguments = ["simulate", str(run_folder), str(series), f"--output={output}"]
    arguments += ["--num-paths=3", "--seed=5", "--prediction-length=4"]
    assert cli.main(arguments) == 0
    forecaster = Forecaster.load(run_folder)
    expected = forecaster.simulate(frame, num_paths=3, seed=5, prediction_length=4)
    found = pd.read_csv(output, parse_dates=["ds"])
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)
    output.unlink()
    assert cli.main([*arguments, "--period=2", "--together", "--quantiles=.5,.9"]) == 0
    expected = aggregate_paths(expected, 2, by="all", quantiles=[0.5, 0.9])
    found = pd.read_csv(output, parse_dates=["ds"])
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)
    assert "levels must increase" in refuse(*arguments, "--quantiles=5")
    missing = ["simulate", "no such forecaster", "nor data.csv"]  # refused before they are read
    assert "freq must be a pandas frequency" in refuse(*missing, "--period=fortnight")
    assert "period must be an integer of at least 1" in refuse(*missing, "--period=0")
    options = ["--prediction-length=4", f"--output={tmp_path / 'f.csv'}"]
    assert cli.main(["forecast", str(run_folder), str(series), *options]) == 0
    assert len(pd.read_csv(tmp_path / "f.csv")) == len(forecaster.predict(frame)) * 4 // 6
    message = refuse("export", run_folder, tmp_path / "f.onnx", "--prediction-length=4")
    assert "leave out --prediction-length, an option of published weights" in message


def test_gaps_and_missing_values_are_read(frame, run_folder, tmp_path):
    holes = frame.drop(frame.index[[150, 190]])
    holes.iloc[180, 0] = np.nan
    holes.to_csv(tmp_path / "holes.csv", sep=";", decimal=",", date_format="%d.%m.%Y %H:%M")
    arguments = ["forecast", str(run_folder), str(tmp_path / "holes.csv"), "--sep=;"]
    arguments += ["--decimal=,", "--date-format=%d.%m.%Y %H:%M", f"--output={tmp_path / 'f.csv'}"]
    assert cli.main(arguments) == 0
    expected = Forecaster.load(run_folder).predict(holes)
    found = pd.read_csv(tmp_path / "f.csv")
    np.testing.assert_allclose(found["nlinear"], expected["nlinear"], rtol=1e-6)


def test_backtest_is_scored_beside_the_naives(frame, series, run_folder, tmp_path, capsys):
    output = tmp_path / "b.csv"
    arguments = ["backtest", str(run_folder), str(series), f"--output={output}", "--windows=3"]
    assert cli.main([*arguments, "--step=8", f"--report={tmp_path / 'b.html'}"]) == 0
    assert f"<h1>nlinear on {series}</h1>" in (tmp_path / "b.html").read_text()
    found = pd.read_csv(output, parse_dates=["ds", "cutoff"])
    expected = Forecaster.load(run_folder).backtest(frame, windows=3, step=8)
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)
    printed = capsys.readouterr().out
    assert "seasonal naive (24)" in printed
    assert "its MAE is" in printed


@pytest.mark.slow
def test_covariates_known_ahead_enter_from_a_file(tmp_path):
    random, length = np.random.default_rng(0), 120
    times = pd.date_range("2022-01-01", periods=length + 6, freq="D")
    rows = [
        pd.DataFrame(
            {"unique_id": name, "ds": times, "open": (random.random(length + 6) > 0.3).astype(int)}
        )
        for name in ("north", "south")
    ]
    frame = pd.concat(rows, ignore_index=True)
    frame["y"] = 10.0 * frame["open"] + random.standard_normal(len(frame))
    frame["calls"] = random.random(len(frame))  # known for the past only
    known = frame[frame["ds"] < times[length]]
    known.to_csv(tmp_path / "sales.csv", index=False)
    ahead = frame[frame["ds"] >= times[length]].drop(columns=["y", "calls"])
    ahead.to_csv(tmp_path / "ahead.csv", index=False)
    run = tmp_path / "run"
    sizes = ["--model=nlinear", "--context-length=14", "--prediction-length=6", "--epochs=2"]
    arguments = ["train", str(tmp_path / "sales.csv"), f"--output={run}", *sizes, "--quiet"]
    assert cli.main([*arguments, "--future-columns=open", "--past=calls", "--calendar"]) == 0
    arguments = ["forecast", str(run), str(tmp_path / "sales.csv"), "--columns=open,calls"]
    arguments += [f"--future={tmp_path / 'ahead.csv'}", f"--output={tmp_path / 'f.csv'}"]
    assert cli.main(arguments) == 0
    found = pd.read_csv(tmp_path / "f.csv")
    expected = Forecaster.load(run).predict(known, future=ahead)
    np.testing.assert_allclose(found["nlinear"], expected["nlinear"], rtol=1e-6)
    assert found["unique_id"].tolist() == ["north"] * 6 + ["south"] * 6


def test_a_run_is_exported(run_folder, tmp_path, refuse):
    assert cli.main(["export", str(run_folder), str(tmp_path / "sm")]) == 0
    assert (tmp_path / "sm" / "saved_model.pb").is_file()
    assert "sm exists" in refuse("export", run_folder, tmp_path / "sm")


def test_outputs_are_checked_before_anything_is_read(series, run_folder, tmp_path, refuse):
    (tmp_path / "pic.png").write_text("mine")
    (tmp_path / "link.csv").symlink_to(tmp_path / "nowhere")
    command = ["forecast", run_folder, "no such data.csv"]
    output = ["--output", tmp_path / "f.csv"]
    assert "a picture's name must end in" in refuse(*command, *output, "--plot", tmp_path / "pic")
    assert "pic.png exists" in refuse(*command, *output, "--plot", tmp_path / "pic.png")
    assert "pic.png exists" in refuse(*command, "--output", tmp_path / "pic.png")
    backtest = ["backtest", *command[1:], "--report", tmp_path / "r.txt"]
    assert refuse(*backtest) == "a report's name must end in .html, .htm, got 'r.txt'."
    assert refuse(*command, "--levels=0") == "levels are percents above 0 and below 100, got 0."
    line = "tables are written as CSV: give a name such as a.csv, got 'f.xlsx'."
    assert refuse(*command, "--output", tmp_path / "f.xlsx") == line
    assert "link.csv" in refuse(*command, "--output", tmp_path / "link.csv")
    assert "no such folder" in refuse(*command, "--output", tmp_path / "none" / "f.csv")
    assert (tmp_path / "pic.png").read_text() == "mine"
    assert not (tmp_path / "f.csv").exists()


def test_a_read_only_folder_is_refused_before_anything_is_read(tmp_path, refuse, monkeypatch):
    def access(path, mode):
        return path != tmp_path

    monkeypatch.setattr("os.access", access)  # which lets an administrator write anywhere
    read_only = f"cannot be created: the folder {tmp_path} is read-only."
    for command in ("forecast", "backtest", "train", "select"):
        line = refuse(command, "no such data.csv", "--output", tmp_path / "x.csv")
        assert line.endswith(read_only)
    assert refuse("export", "no such model", tmp_path / "x.onnx").endswith(read_only)
    monkeypatch.undo()
    (tmp_path / "file").touch()
    line = refuse("train", "no such data.csv", "--output", tmp_path / "file" / "run")
    assert line.endswith("file is not a folder.")


def test_a_picture_that_cannot_be_written_leaves_no_table(
    series, run_folder, tmp_path, refuse, monkeypatch
):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", full)
    command = ["forecast", run_folder, series, "--output", tmp_path / "f.csv"]
    assert "No space left" in refuse(*command, "--plot", tmp_path / "f.png")
    assert list(tmp_path.iterdir()) == []


def test_what_was_not_trained_is_refused(series, run_folder, tmp_path, frame, refuse):
    output = ["--output", tmp_path / "f.csv"]
    assert "does not contain a forecaster" in refuse("forecast", tmp_path, series, *output)
    assert "is a folder, expected a named dataset" in refuse("forecast", run_folder, *output)
    line = f"{run_folder} has no static covariates: leave out --static."
    assert refuse("forecast", run_folder, series, *output, "--static=s.csv") == line
    line = f"{run_folder} has no covariates known in advance: leave out --future."
    assert refuse("forecast", run_folder, series, *output, "--future=s.csv") == line
    line = "kerastrans_zero_2 has no static covariates: leave out --static."
    assert refuse("forecast", series, *output, "--static=s.csv") == line
    line = "kerastrans_zero_2 has no covariates known in advance: leave out --future, or name them"
    line += " with --future-columns."
    assert refuse("forecast", series, *output, "--future=s.csv") == line
    for option in ("--past", "--future-columns"):
        line = refuse("forecast", "air_passengers", *output, option, "wind")
        assert line == "covariates ['wind'] are not columns of the frame: ['passengers']."
    assert "unknown preset 'nhits_air'" in refuse("forecast", "nhits_air", series, *output)
    typo = ["forecast", "kerastrans-zero-2", series, "--prediction-length=3", *output]
    assert "'kerastrans-zero-2': did you mean 'kerastrans_zero_2'?" in refuse(*typo)
    (tmp_path / "forecaster.json").write_text('{"format": 4, "config": {}, "fitted": []}')
    assert "'fitted' must be of type dict, got list" in refuse(
        "forecast", tmp_path, series, *output
    )
    frame.drop(columns="b").to_csv(tmp_path / "narrow.csv")
    assert "['b'] are missing" in refuse("forecast", run_folder, tmp_path / "narrow.csv", *output)


def test_a_context_is_a_number_or_max(refuse):
    line = refuse("forecast", "kerastrans_zero_2", "x.csv", "--context-length=huge")
    assert "argument --context-length: expected a number of steps, or max, got 'huge'" in line


@pytest.mark.slow
def test_published_weights_forecast_any_csv(frame, series, run_folder, tmp_path, refuse, capsys):
    command = ["forecast", str(FRACAST_0), str(series), f"--output={tmp_path / 'f.csv'}"]
    trained = ["forecast", run_folder, series, "--output", tmp_path / "f.csv"]
    for option in ("--context-length=max", "--set=x=1", "--revision=a"):
        message = f"leave out {option.partition('=')[0]}, an option of published weights"
        assert message in refuse(*trained, option)
    assert "fracast has no options, got ['x']" in refuse(*command, "--set=x=1")
    assert "context_length must be at most" in refuse(*command, "--context-length=4096")
    assert "pass --prediction-length" in refuse("export", FRACAST_0, tmp_path / "f.onnx")
    assert cli.main([*command, "--prediction-length=3"]) == 0
    assert "fracast_0: licence not published" in capsys.readouterr().out
    found = pd.read_csv(tmp_path / "f.csv", parse_dates=["ds"])
    expected = kerastrans.from_pretrained(FRACAST_0, 3, verbose=False).predict(frame)
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)
    assert {"fracast_0-lo-80", "fracast_0-hi-80"} <= set(found)


@pytest.mark.slow
def test_data_alone_are_forecast_a_season_ahead_on_the_screen(frame, series, capsys):
    assert cli.main(["forecast", str(series)]) == 0
    printed = capsys.readouterr().out
    rows = [line.split() for line in printed.splitlines() if line.startswith(("   ", " "))]
    assert "kerastrans_zero_2-lo-80" in printed
    assert "kerastrans_zero_2 with season=24" in printed
    expected = kerastrans.from_pretrained("kerastrans_zero_2", 24, verbose=False).predict(frame)
    assert len(expected) == 24 * frame.shape[1]
    last = expected.iloc[-1]
    assert rows[-1][0] == last["unique_id"]
    assert float(rows[-1][-1]) == pytest.approx(last.iloc[-1], rel=1e-4)


def test_a_port_is_a_port(refuse):
    for number in ("99999", "-1", "http"):
        line = refuse("serve", "nhits_air_passengers_12", f"--port={number}")
        assert f"expected a port from 0 to 65535, got '{number}'" in line


def test_a_date_column_of_another_name_is_to_be_named(tmp_path, refuse):
    (tmp_path / "data.csv").write_text("Tag,load\nx,1\ny,2\n")
    command = ["forecast", "kerastrans_zero_2", tmp_path / "data.csv", "--prediction-length=3"]
    line = refuse(*command, "--output", tmp_path / "f.csv")
    assert line.endswith("'Tag', 'load'. Name the date column with --date-column.")


@pytest.mark.slow
def test_a_table_of_stores_is_forecast_as_it_is(tmp_path, refuse, capsys):
    days = pd.date_range("2024-01-01", periods=60)
    rows = [
        {
            "Store": s,
            "Date": day,
            "Sales": 9 + s * i % 7 + i * i * 37 % 11,
            "Open": i % 7 > 0,
            "Holiday": "0a"[i == 9],
        }
        for s in (1, 2)
        for i, day in enumerate(days)
    ]
    table, ahead, output = (tmp_path / x for x in ("sales.csv", "ahead.csv", "f.csv"))
    frame = pd.DataFrame(rows).assign(Open=lambda x: x["Open"].astype(int))
    frame.to_csv(table, index=False)
    later = frame[frame["Date"] <= days[5]].assign(Holiday=0).drop(columns="Sales")
    later.assign(Date=later["Date"] + pd.Timedelta(days=60)).to_csv(ahead, index=False)
    pd.DataFrame({"Store": [1, 2], "Kind": ["x", "y"]}).to_csv(tmp_path / "store.csv", index=False)
    assert "column 'Store' repeats the dates: give --id-column Store." in refuse("forecast", table)
    named = ["--id-column=Store", "--target=Sales"]
    assert "has no column 'y': give --target" in refuse("forecast", table, named[0])
    arguments = ["--model=nlinear", "--epochs=1", "--context-length=14", "--prediction-length=6"]
    arguments += ["--future-columns=Open,Holiday", "--bounds=0,", "--quiet"]
    arguments += [f"--static={tmp_path / 'store.csv'}", f"--output={tmp_path / 'run'}"]
    assert cli.main(["train", str(table), *named, *arguments]) == 0
    assert "long, 2 series, 120 rows, Holiday: 2 categories 0, a" in capsys.readouterr().err
    forecaster = Forecaster.load(tmp_path / "run")
    assert forecaster.config.bounds == (0, None)
    # The folder knows the names of the columns, and that a file of zeros has categories.
    given = [str(tmp_path / "run"), str(table), f"--static={tmp_path / 'store.csv'}"]
    known = ["forecast", *given, f"--future={ahead}", f"--output={output}"]
    assert cli.main(known) == 0
    found = pd.read_csv(output)
    assert found["unique_id"].tolist() == [1] * 6 + [2] * 6
    assert cli.main(known) == 2
    assert cli.main([*known, "--if-exists=replace", "--levels=50"]) == 0
    assert "nlinear-lo-50" in pd.read_csv(output)
    page = tmp_path / "a.html"
    assert (
        cli.main(
            [
                "backtest",
                *given,
                "--windows=20",
                "--step=2",
                "--prediction-length=2",
                f"--report={page}",
            ]
        )
        == 0
    )
    printed = capsys.readouterr().out
    assert "kerastrans_zero_2" in printed
    chance = printed.split("(p = ")[-1].split(")")[0]
    assert f"(p = {chance})" in page.read_text()
    again = ["train", str(table), *named, *arguments, "--if-exists=replace"]
    assert cli.main([*again[:-1]]) == 2
    assert cli.main(again) == 0
    assert sorted(x.name for x in tmp_path.iterdir() if x.is_dir()) == ["run"]
