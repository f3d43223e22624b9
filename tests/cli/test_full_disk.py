"""A disk that is full, or a kill, at any write of a command: what was there before survives."""

import copy
import hashlib

import keras
import pandas as pd
import pytest

from kerastrans import Forecaster
from kerastrans.cli.outputs import Outputs
from kerastrans.cli.run import Series, make_run
from kerastrans.data.tables.reader import read_table
from kerastrans.evaluation import plotting
from kerastrans.evaluation.report import write_report
from kerastrans.forecasting.selection.candidates import CandidateStore
from kerastrans.forecasting.training.checkpoint import Checkpoint
from tests.helpers.full_disk import failures

pytestmark = pytest.mark.slow


def contents(folder):
    """Checksum of every file below a folder, by name, and None for folders."""
    return {
        str(path.relative_to(folder)): None
        if path.is_dir()
        else hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
    }


@pytest.fixture(scope="module")
def forecaster(frame):
    return Forecaster("seasonal_naive", 48, 6, season=24).fit(frame)


@pytest.fixture
def small_picture(monkeypatch):
    """Pictures of few pixels."""
    from matplotlib.figure import Figure

    def draw(*args, **kwargs):
        figure = Figure(figsize=(1, 1))
        figure.subplots().plot([1, 2])
        return figure

    monkeypatch.setattr(plotting, "plot_fan", draw)
    return draw


def test_a_checkpoint_is_the_former_or_the_next_one(tmp_path, monkeypatch):
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1000)])
    model.compile("adam", "mse")
    model.optimizer.build(model.trainable_variables)
    checkpoint = Checkpoint(tmp_path, {"epochs": 3})
    checkpoint.set_model(model)
    checkpoint.restore(model)
    checkpoint.on_epoch_end(0, {"loss": 1.0})
    before = contents(tmp_path)
    count = 0

    def write(number):
        checkpoint.logs = {"loss": [1.0]}
        checkpoint.on_epoch_end(1, {"loss": 0.5})

    for number in failures(monkeypatch, write):
        if number is not None:
            count += 1
            assert contents(tmp_path) == before
            assert Checkpoint(tmp_path, {"epochs": 3}).restore(model) == 1
    assert count > 5
    assert Checkpoint(tmp_path, {"epochs": 3}).restore(model) == 2


def test_a_run_keeps_its_training_until_its_folder_is_whole(
    frame, series, forecaster, tmp_path, monkeypatch, small_picture, capsys
):
    data = Series.of(read_table(series))
    other = tmp_path / "other"
    other.mkdir()
    (other / "kept").write_text("a former run")
    count = 0

    def run(number, resume=False):
        def train_on(_, folder):
            if not resume:
                (folder / "training.npz").write_bytes(b"epochs")
            return forecaster

        output = tmp_path / f"run{number}"
        make_run(train_on, data, output, prediction_length=6, title="naive", resume=resume)

    for number in failures(monkeypatch, run):
        assert (other / "kept").read_text() == "a former run"
        if number is None:
            continue
        count += 1
        training = tmp_path / f"run{number}.training"
        assert not (tmp_path / f"run{number}").exists()
        if number > 2:  # a new folder, and the checkpoint
            assert (training / "training.npz").read_bytes() == b"epochs"
    assert count > 10
    expected = contents(tmp_path / f"run{count + 1}").keys()
    for number in (3, count // 2, count):  # what a failed run kept can be resumed
        run(number, resume=True)
        assert contents(tmp_path / f"run{number}").keys() == expected


def test_a_selection_keeps_its_candidates(forecaster, frame, tmp_path, monkeypatch):
    settings = {"seed": 0}
    CandidateStore(tmp_path / "s", settings).get(0, lambda: forecaster)
    before = contents(tmp_path)

    def add(number):
        store = CandidateStore(tmp_path / "s", settings)
        store.get(1, lambda: forecaster)

    for number in failures(monkeypatch, add):
        if number is not None:
            assert contents(tmp_path) == before
    assert (tmp_path / "s" / "1" / "forecaster.json").is_file()


def test_a_new_selection_can_begin_again(forecaster, frame, tmp_path, monkeypatch):
    def begin(number):
        CandidateStore(tmp_path / str(number), {}).get(0, lambda: forecaster)

    for number in failures(monkeypatch, begin):
        begin(number)  # or the same folder could not be used
        assert CandidateStore(tmp_path / str(number or 1), {}).has(0)


@pytest.mark.tensorflow
def test_an_export_is_whole_or_absent(forecaster, tmp_path, monkeypatch):
    convert, converted = pytest.importorskip("tf2onnx").convert.from_function, []

    def convert_once(*args, **kwargs):
        if not converted:
            converted.append(convert(*args, **kwargs))
        return copy.deepcopy(converted[0])  # to which metadata are added

    monkeypatch.setattr("tf2onnx.convert.from_function", convert_once)
    first = forecaster.export(tmp_path / "first.onnx")
    before = contents(tmp_path)
    for number in failures(monkeypatch, lambda number: forecaster.export(tmp_path / "m.onnx")):
        if number is not None:
            assert contents(tmp_path) == before
    size = first.stat().st_size
    assert (tmp_path / "m.onnx").stat().st_size == size

    def export(number):
        return forecaster.export(tmp_path / f"killed{number}.onnx")

    for number in failures(monkeypatch, export, kills=True):
        path = tmp_path / f"killed{number}.onnx"
        if number is not None:
            assert (path if path.exists() else export(number)).stat().st_size == size


def test_a_report_and_tables_are_whole_or_absent(
    forecaster, frame, tmp_path, monkeypatch, small_picture
):
    rows = forecaster.backtest(frame, windows=2)
    (tmp_path / "kept.csv").write_text("a former output")
    before = contents(tmp_path)
    actions = {
        "report.html": lambda number: write_report(tmp_path / "report.html", rows),
        "picture.png": lambda number: Outputs(
            tmp_path / "rows.csv", tmp_path / "picture.png"
        ).write(rows, lambda path: small_picture().savefig(path)),
    }
    for name, action in actions.items():
        for number in failures(monkeypatch, action):
            if number is not None:
                assert contents(tmp_path) == before
        assert (tmp_path / name).is_file()
        before = contents(tmp_path)
    assert len(pd.read_csv(tmp_path / "rows.csv")) == len(rows)


def test_a_killed_training_can_be_resumed(
    frame, series, forecaster, tmp_path, monkeypatch, small_picture, capsys
):
    data = Series.of(read_table(series))
    resumed = []

    def run(number, resume=False):
        def train_on(_, folder):
            if not (folder / "training.npz").exists():
                (folder / "training.npz").write_bytes(b"epochs")
            return forecaster

        output = tmp_path / f"run{number}"
        make_run(train_on, data, output, prediction_length=6, title="naive", resume=resume)

    for number in failures(monkeypatch, run, kills=True):
        if number is None:
            break
        output, training = tmp_path / f"run{number}", tmp_path / f"run{number}.training"
        if number % 3:  # a third is enough: a run takes a fifth of a second
            assert output.exists() or number < 3 or (training / "training.npz").is_file()
            continue
        if training.is_dir() and not output.exists():
            run(number, resume=True)
            resumed.append(number)
        assert not training.exists() or output.is_dir()
        assert (output / "report.html").is_file()
    assert len(resumed) > 5
    whole = contents(tmp_path / f"run{resumed[0]}").keys()
    assert all(contents(tmp_path / f"run{x}").keys() == whole for x in resumed)


def test_a_killed_write_leaves_the_former_or_the_next_file(
    forecaster, frame, tmp_path, monkeypatch, small_picture
):
    rows = forecaster.backtest(frame, windows=2)
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(10)])
    model.compile("adam", "mse")
    model.optimizer.build(model.trainable_variables)
    checkpoint = Checkpoint(tmp_path / "checkpoint", {"epochs": 3})
    checkpoint.set_model(model)
    checkpoint.restore(model)
    checkpoint.on_epoch_end(0, {"loss": 1.0})

    def write(number):
        checkpoint.logs = {"loss": [1.0]}
        checkpoint.on_epoch_end(1, {"loss": 0.5})

    restored = []
    for _ in failures(monkeypatch, write, kills=True):
        restored.append(Checkpoint(tmp_path / "checkpoint", {"epochs": 3}).restore(model))
    assert set(restored[:-1]) <= {1, 2}
    assert restored[-1] == 2

    def select(number):
        store = CandidateStore(tmp_path / "selection", {})
        return store.get(0, lambda: forecaster)

    for number in failures(monkeypatch, select, kills=True):
        if number is not None:
            CandidateStore(tmp_path / "selection", {})  # or it could not go on
    assert len(select(0).predict(frame)) == len(forecaster.predict(frame))

    def report(number):
        write_report(tmp_path / f"report{number}.html", rows)

    ends = b"</html>"
    for number in failures(monkeypatch, report, kills=True):
        path = tmp_path / f"report{number}.html"
        if number is not None and not path.exists():
            report(number)
        if number is not None:
            assert path.read_bytes().rstrip().endswith(ends)
