import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from kerastrans import datasets, zoo
from kerastrans.cli import main as cli

pytestmark = pytest.mark.tensorflow  # what it calls is tested on every backend

SMALL = [
    "--context-length=24",
    "--prediction-length=6",
    "--d-model=8",
    "--num-heads=1",
    "--key-dim=8",
    "--ff-dim=16",
    "--batch-size=16",
    "--season=12",
    "--epochs=2",
]


@pytest.fixture(scope="module")
def series(tmp_path_factory):
    """CSV file of 200 hours of two noisy waves."""
    hours = np.arange(200)
    noise = np.random.default_rng(0).standard_normal((200, 2)) * 0.1
    values = np.stack([np.sin(hours * np.pi / 6), np.cos(hours * np.pi / 6)], axis=1) * 10 + noise
    frame = pd.DataFrame(values, columns=["a", "b"])
    frame.insert(0, "date", pd.date_range("2020-01-01", periods=200, freq="h"))
    path = tmp_path_factory.mktemp("series") / "series.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def run_folder(series, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    assert cli.main(["train", str(series), f"--output={folder}", *SMALL]) == 0
    return folder


def refuse(capsys, *arguments):
    """The one line that a refused command prints."""
    assert cli.main([str(a) for a in arguments]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    return lines[0].removeprefix("kerastrans: error: ")


def test_help_does_not_wait_for_tensorflow():
    code = (
        "import sys; sys.argv = ['kerastrans', '--help']\n"
        "from kerastrans.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print({'tensorflow', 'keras', 'pandas', 'numpy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"
    for command in ("demo", "train", "forecast", "generate", "export", "datasets", "zoo"):
        assert command in done.stdout


def test_importing_the_package_lets_keras_load_our_models(small_model, tmp_path):
    small_model.save(tmp_path / "model.keras")
    code = (
        "import kerastrans, keras\n"
        f"model = keras.saving.load_model({str(tmp_path / 'model.keras')!r})\n"
        "import numpy as np; print(model.generate(np.zeros((1, 8, 3)), 4).shape)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "(1, 4, 3)"


def test_architectures_are_listed_and_described(capsys):
    assert cli.main(["zoo"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in listed] == zoo.names()
    assert "PatchTST (Nie et al., 2023)" in next(line for line in listed if "patchtst" in line)
    assert cli.main(["zoo", "dlinear", "--prediction-length=720"]) == 0
    described = capsys.readouterr().out
    assert "weights: 139,680 for 96 -> 720 steps of 7 channels" in described
    assert "moving_average=25" in described
    assert "did you mean 'dlinear'" in refuse(capsys, "zoo", "dlinaer")


def test_datasets_are_listed_and_saved(capsys, tmp_path):
    assert cli.main(["datasets"]) == 0
    listed = capsys.readouterr().out
    assert [line.split()[0] for line in listed.splitlines()] == datasets.names()
    path = tmp_path / "air.csv"
    assert cli.main(["datasets", "air_passengers", f"--output={path}"]) == 0
    assert pd.read_csv(path).shape == (144, 2)
    assert "exists" in refuse(capsys, "datasets", "air_passengers", "--output", path)


def test_forecast_continues_the_series(series, run_folder, tmp_path):
    output, plot = tmp_path / "f.csv", tmp_path / "f.png"
    code = cli.main(
        ["forecast", str(run_folder), str(series), f"--output={output}", f"--plot={plot}"]
    )
    assert code == 0
    future = pd.read_csv(output, parse_dates=["date"])
    assert list(future.columns) == ["date", "a", "b"]
    hours = pd.date_range("2020-01-01", periods=206, freq="h")[200:]
    assert list(future["date"]) == list(hours)
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_run_is_exported(run_folder, tmp_path, capsys):
    assert cli.main(["export", str(run_folder), str(tmp_path / "sm")]) == 0
    assert (tmp_path / "sm" / "saved_model.pb").is_file()
    assert "exists: name a new one" in refuse(capsys, "export", run_folder, tmp_path / "sm")


def test_generate_continues_plain_numbers(small_model, tmp_path, capsys):
    small_model.save(tmp_path / "m.keras")
    sequence = np.random.default_rng(0).standard_normal((8, 3)).astype("float32")
    pd.DataFrame(sequence, columns=list("xyz")).to_csv(tmp_path / "in.csv", index=False)
    arguments = ["generate", str(tmp_path / "m.keras"), str(tmp_path / "in.csv")]
    arguments += ["--num-steps=4", "--start-token=0", f"--output={tmp_path / 'out.csv'}"]
    assert cli.main(arguments) == 0
    result = pd.read_csv(tmp_path / "out.csv")
    assert list(result.columns) == list("xyz")
    expected = small_model.generate(sequence[None], 4, start_token=0.0)[0]
    np.testing.assert_allclose(result.to_numpy(), expected, atol=1e-5)
    assert "out.csv exists" in refuse(capsys, *arguments)
    (tmp_path / "out.csv").unlink()
    (tmp_path / "in.csv").write_text("when,x\nnow,1\n")
    assert "columns must be numeric, ['when'] are not" in refuse(capsys, *arguments)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--context-length=0"], "context_length must be an integer of at least 1, got 0"),
        (["--prediction-length=500"], "a window needs 24 + 500 = 524 rows"),
        (["--num-heads=0"], "num_heads must be"),
        (["--dropout=1.5"], "dropout must be a number in [0, 1), got 1.5"),
        (["--epochs=0"], "epochs must be"),
        (["--precision=float8"], "precision must be one of 'float32'"),
        (["--norm=both"], "norm must be one of 'pre', 'post', got 'both'"),
        (["--loss=nothing"], "nothing"),
    ],
)
def test_bad_settings_are_refused_before_anything_is_written(
    series, options, message, tmp_path, capsys
):
    output = tmp_path / "run"
    assert message in refuse(capsys, "train", series, "--output", output, *SMALL, *options)
    assert not output.exists()


def test_bad_data_are_refused_before_anything_is_written(tmp_path, capsys):
    text = "date,x\n2020-01-02,1\n2020-01-02,2\n2020-01-03,3\n"
    (tmp_path / "twice.csv").write_text(text)
    output = tmp_path / "run"
    line = refuse(capsys, "train", tmp_path / "twice.csv", "--output", output)
    assert "line 3: duplicate time stamp 2020-01-02" in line
    assert "unknown dataset 'eth1': did you mean 'etth1'" in refuse(
        capsys, "train", "eth1", "--output", output
    )
    assert not output.exists()


def test_existing_output_is_not_touched(series, run_folder, capsys):
    before = (run_folder / "model.keras").read_bytes()
    assert "exists: name a new one" in refuse(
        capsys, "train", series, "--output", run_folder, *SMALL
    )
    assert (run_folder / "model.keras").read_bytes() == before


def test_forecast_refuses_what_does_not_fit(series, run_folder, tmp_path, capsys):
    short = pd.read_csv(series).head(20)
    short.to_csv(tmp_path / "short.csv", index=False)
    short.drop(columns="b").to_csv(tmp_path / "narrow.csv", index=False)
    output = ["--output", tmp_path / "f.csv"]
    assert "needs 24 rows of history, got 20" in refuse(
        capsys, "forecast", run_folder, tmp_path / "short.csv", *output
    )
    assert "lack column(s) ['b']" in refuse(
        capsys, "forecast", run_folder, tmp_path / "narrow.csv", *output
    )
    assert "holds no finished run" in refuse(capsys, "forecast", tmp_path, series, *output)


def test_demo_names_a_new_folder_each_time(tmp_path):
    (tmp_path / "demo-1").mkdir()
    assert cli._next_folder(tmp_path, "demo") == tmp_path / "demo-2"


def test_interruption_is_told_from_an_error(monkeypatch, capsys):
    def interrupt(name):
        raise KeyboardInterrupt

    monkeypatch.setattr(datasets, "load", interrupt)
    assert cli.main(["datasets", "etth1"]) == 130
    assert "goes on with --resume" in capsys.readouterr().err
