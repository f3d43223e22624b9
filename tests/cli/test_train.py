"""`train`: the folder that it leaves, what it refuses, and how it goes on."""

import inspect
import json

import keras
import numpy as np
import pandas as pd
import pytest

from kerastrans import Forecaster, Training, backtesting
from kerastrans.cli import main as cli
from kerastrans.cli import train
from kerastrans.cli.options import FIT, FORECASTER, LEVELS, TIME_LIMIT, numbers
from kerastrans.cli.run import Series
from kerastrans.cli.train import LESSON, next_folder
from tests.conftest import assert_same_numbers

from .conftest import SMALL

pytestmark = pytest.mark.tensorflow


def test_the_folder_is_a_forecaster_with_a_report_beside_it(run_folder, frame):
    names = {path.name for path in run_folder.iterdir()}
    files = {"model.keras", "forecaster.json", "report.json", "report.txt", "history.csv"}
    assert names == files | {"forecast.png", "report.html"}
    assert "<h2>nlinear: calibration</h2>" in (run_folder / "report.html").read_text()
    assert (run_folder / "forecast.png").read_bytes().startswith(b"\x89PNG")
    assert pd.read_csv(run_folder / "history.csv")["epoch"].tolist() == [1, 2, 3]
    report = json.loads((run_folder / "report.json").read_text())
    assert report["data"]["origins"] == 5
    assert report["data"]["first_origin"] == str(frame.index[-31])
    assert report["environment"]["keras"] == keras.__version__

    forecaster = Forecaster.load(run_folder)
    first = forecaster.fitted.clock.numbers(frame.index[-30:-29])[0].item()
    assert forecaster.fitted.trained == {"a": first}  # of all channels
    rows = forecaster.backtest(frame, windows=5)
    found = report["metrics"]["nlinear"]
    assert found["mae"] == pytest.approx(backtesting.score(rows)["mae"].item(), rel=1e-6)
    inside = rows["y"].between(rows["nlinear-lo-80"], rows["nlinear-hi-80"]).mean()
    assert found["coverage-80"] == pytest.approx(inside)


def test_the_report_names_the_best_of_several_naives(run_folder, frame):
    report = json.loads((run_folder / "report.json").read_text())
    errors = {name: row["mae"] for name, row in report["metrics"].items()}
    names = {"nlinear", "last value", "seasonal naive (24)", "seasonal naive (168)"}
    rivals = {"kerastrans_zero_2", *(set(errors) & {"ets (24)", "theta (24)"})}
    assert set(errors) == names | rivals
    # 24 hours before, whatever the horizon of 6.
    naive = np.abs(frame.to_numpy()[-30:] - frame.to_numpy()[-54:-24]).mean()
    assert errors["seasonal naive (24)"] == pytest.approx(naive)
    best = min(errors.keys() - {"nlinear"} - rivals, key=errors.get)
    found = report["metrics"]["nlinear"]
    verb = "beats" if found["skill"] > 0 else "is beaten by"
    if found["p"] is None:
        verb = "is not tested against"
    elif found["p"] > 0.05:
        verb = "is not significantly different from"
    assert f"nlinear {verb} {best}: its MAE is" in (run_folder / "report.txt").read_text()


def test_test_rows_do_not_reach_the_training(run_folder, frame, tmp_path):
    spiked = frame.copy()
    spiked.iloc[-30:] += 1000
    spiked.to_csv(tmp_path / "spiked.csv")
    arguments = ["train", str(tmp_path / "spiked.csv"), f"--output={tmp_path / 'run'}", *SMALL]
    assert cli.main([*arguments, "--epochs=3", "--quiet", "--test-size=30"]) == 0
    plain, other = (Forecaster.load(folder).model for folder in (run_folder, tmp_path / "run"))
    assert_same_numbers(plain.get_weights(), other.get_weights())


@pytest.mark.parametrize(
    ("season", "freq", "length", "expected"),
    [(24, "h", 2000, 24), (12, "MS", 144, 12), (7, "D", 30, 3)],
)
def test_lengths_suit_the_series(season, freq, length, expected):
    times = pd.date_range("2020-01-01", periods=length, freq=freq)
    series = Series.of(pd.DataFrame({"x": np.arange(float(length))}, times))
    assert series.season == expected
    train, origins = series.split(expected)
    assert origins * expected <= length / 5 + expected
    assert len(train) == length - origins * expected


def test_what_is_not_given_is_left_to_the_class(series, tmp_path, monkeypatch, refuse):
    """A context of the command line's own would differ from that of `fit` (48 and 36 steps)."""

    def stop(model, rate, **arguments):
        assert arguments.keys() == {"prediction_length", "training"}
        assert arguments["training"] == Training()
        raise ValueError("the arguments are seen")

    monkeypatch.setattr(train, "make_forecaster", stop)
    assert refuse("train", series, "--output", tmp_path / "run") == "the arguments are seen"


def test_no_option_is_written_that_python_does_not_take():
    known = {*inspect.signature(Forecaster).parameters, "hyperparameters"}
    known |= {*inspect.signature(Forecaster.fit).parameters}
    known |= {*inspect.signature(Training).parameters}
    known |= {*inspect.signature(Forecaster.backtest).parameters}
    for flag, option in {**FORECASTER, **FIT, **TIME_LIMIT, **LEVELS}.items():
        assert option.get("dest", flag[2:].replace("-", "_")) in known


@pytest.mark.slow
def test_a_time_limit_ends_a_training(series, tmp_path):
    arguments = ["train", str(series), f"--output={tmp_path / 'run'}", *SMALL, "--quiet"]
    assert cli.main([*arguments, "--time-limit=1e-6"]) == 0
    assert json.loads((tmp_path / "run" / "report.json").read_text())["epochs"] == 1


def test_numbers_are_as_python_writes_them():
    assert numbers("80, 95.5,1e-3,-2") == [80, 95.5, 0.001, -2]


class Interrupted(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 2:
            raise KeyboardInterrupt


@pytest.mark.slow
def test_an_interrupted_run_goes_on(run_folder, series, tmp_path, monkeypatch, capsys, refuse):
    output, training = tmp_path / "run", tmp_path / "run.training"
    arguments = ["train", str(series), f"--output={output}", *SMALL, "--epochs=3"]
    arguments += ["--test-size=30"]
    with monkeypatch.context() as patch:
        patch.setattr("kerastrans.cli.run._progress", Interrupted)
        assert cli.main(arguments) == 130
    assert "the same command with --resume continues the training" in capsys.readouterr().err
    assert training.is_dir()
    assert not output.exists()
    assert "continue it with --resume, or remove" in refuse(*arguments)
    assert "batch_size differs from the interrupted one's" in refuse(
        *arguments, "--resume", "--batch-size=8"
    )
    assert training.is_dir()
    assert cli.main([*arguments, "--resume"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in printed if line.startswith("epoch")] == ["epoch 3"]
    assert not training.exists()
    runs = [run_folder, output]
    assert_same_numbers(*(pd.read_csv(x / "history.csv").to_numpy() for x in runs))
    assert_same_numbers(*(Forecaster.load(x).model.get_weights() for x in runs))
    assert "run exists" in refuse(*arguments, "--resume")


@pytest.mark.slow
def test_a_run_that_was_killed_while_it_wrote_goes_on(series, tmp_path, monkeypatch, capsys):
    output = tmp_path / "run"
    arguments = ["train", str(series), f"--output={output}", *SMALL, "--epochs=1", "--quiet"]
    with monkeypatch.context() as patch:

        def killed(*_):
            raise KeyboardInterrupt

        patch.setattr("kerastrans.cli.report._text", killed)
        assert cli.main(arguments) == 130
    assert cli.main([*arguments, "--resume"]) == 0
    assert pd.read_csv(output / "history.csv")["epoch"].tolist() == [1]
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.slow
def test_a_training_that_fails_leaves_nothing(series, tmp_path, refuse):
    arguments = ["train", series, "--output", tmp_path / "run", *SMALL, "--quiet", "--epochs=1"]
    assert "the training diverged" in refuse(*arguments, "--learning-rate=1e38")
    assert list(tmp_path.iterdir()) == []


def test_a_channel_without_a_value_is_told_before_the_training(frame, tmp_path, refuse):
    frame.assign(late=frame["a"].where(frame.index > frame.index[-20])).to_csv(tmp_path / "x.csv")
    arguments = ["train", tmp_path / "x.csv", "--output", tmp_path / "run", *SMALL, "--epochs=1"]
    message = "no value to train on in 'late': choose the other columns by --columns."
    assert refuse(*arguments) == message
    assert [path.name for path in tmp_path.iterdir()] == ["x.csv"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--context-length=0"], "context_length must be an integer of at least 1, got 0"),
        (
            ["--prediction-length=190"],
            "a test part of 190 steps leaves 10 of 200 for training, but a window is",
        ),
        (["--test-size=3"], "test_size=3 is shorter than a forecast of prediction_length=6"),
        (["--epochs=-1"], "epochs must be an integer of at least 1, got -1"),
        (["--epochs=0"], "epochs must be an integer of at least 1, got 0"),
        (
            ["--head=point", "--levels=80"],
            "levels=[80] require intervals, which a point",
        ),
        (["--epochs=many"], "argument --epochs: invalid int value: 'many'"),
        (["--learning-rate=nan"], "expected a number above 0, got 'nan'"),
        (["--model=nlinaer"], "did you mean 'nlinear'"),
        (["--set=individual"], "expected NAME=VALUE, got 'individual'"),
        (["--set=depth=3"], "nlinear has no hyperparameter 'depth'"),
        (["--size=huge"], "nlinear has no size 'huge'"),
        (["--head=normla"], "did you mean 'normal'"),
        (["--scaler=minmax"], "minmax"),
        (["--precision=float8"], "precision must be one of"),
        (["--levels=0.9"], "levels are percents: for 0.9 use 90"),
        *(
            ([f"--levels={text}"], f"expected numbers separated by commas, got {text!r}")
            for text in (",", "80,,95", "80;95", "nan", "1e999")
        ),
        (["--past=a,,b"], "argument --past: expected names separated by commas, got 'a,,b'"),
        (["--time-limit=60"], "--epochs and --time-limit cannot be combined"),
        (["--time-limit=0"], "expected a number above 0, got '0'"),
        (["--future-columns=holiday"], "has no column 'holiday'"),
        (["--no-such-option"], "unrecognized arguments: --no-such-option"),
        (["--static=nowhere.csv"], "no such file: nowhere.csv"),
        (["--resume"], "nothing to resume: "),
    ],
)
def test_bad_settings_are_refused(series, options, message, tmp_path, refuse):
    arguments = ["train", series, "--output", tmp_path / "run", *SMALL, "--epochs=1", "--quiet"]
    assert message in refuse(*arguments, *options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_lessons_transformer_is_trained_as_any_other(frame, series, tmp_path):
    sizes = ["d_model=8", "num_heads=1", "key_dim=4", "ff_dim=8"]
    arguments = [f"--model={LESSON}", "--context-length=24", "--prediction-length=6", "--quiet"]
    arguments += [f"--set={size}" for size in sizes] + ["--epochs=1", "--test-size=6"]
    assert cli.main(["train", str(series), f"--output={tmp_path / 'run'}", *arguments]) == 0
    loaded = Forecaster.load(tmp_path / "run")
    assert [tensor.name for tensor in loaded.model.inputs] == ["encoder_inputs", "decoder_inputs"]
    rows = loaded.predict(frame)
    scaled = (frame.to_numpy()[-24:] - frame.to_numpy()[-24:].mean(axis=0)) / frame.to_numpy()[
        -24:
    ].std(axis=0)
    steps = loaded.model.generate(scaled[None].astype("float32"), 6)[0]
    expected = steps * frame[-24:].std(ddof=0).to_numpy() + frame[-24:].mean().to_numpy()
    found = rows[LESSON].to_numpy().reshape(2, 6).T
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-3)


def test_demo_names_a_new_folder_each_time(tmp_path):
    (tmp_path / "demo-1").mkdir()
    (tmp_path / "demo-2.training").mkdir()  # of a demo that was killed
    assert next_folder(tmp_path, "demo") == tmp_path / "demo-3"
