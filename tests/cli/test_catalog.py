"""`zoo`, `datasets`, `presets`: what is listed, described and saved."""

import pandas as pd
import pytest

from kerastrans import datasets, presets, zoo
from kerastrans.cli import main as cli

pytestmark = pytest.mark.tensorflow


def test_architectures_are_listed_and_described(capsys, refuse):
    assert cli.main(["zoo"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in listed] == zoo.names()
    assert "PatchTST (Nie et al., 2023)" in next(line for line in listed if "patchtst" in line)
    assert cli.main(["zoo", "--tag=linear"]) == 0
    assert "dlinear" in capsys.readouterr().out
    filters = ["--filter=*linear", "--tag=linear,affine", "--max-parameters=20000"]
    assert cli.main(["zoo", *filters, "--num-channels=1"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in listed] == ["rlinear"]
    assert cli.main(["zoo", "dlinear", "--prediction-length=720"]) == 0
    described = capsys.readouterr().out
    assert "weights: 139,680 for 96 -> 720 steps of 7 channels" in described
    assert "moving_average=25" in described
    assert cli.main(["zoo", "softs", "--size=etth1_720"]) == 0
    described = capsys.readouterr().out
    assert "sizes: laptop, paper, etth1_96, etth1_192, etth1_336, etth1_720" in described
    assert "ff_dim=512" in described
    assert "zoo.build('softs', 96, 96, 7, size='etth1_720')" in described
    weights = zoo.build("softs", 96, 96, 7, size="etth1_720").count_params()
    assert f"weights: {weights:,} for" in described
    assert "softs has no size 'huge'" in refuse("zoo", "softs", "--size=huge")
    assert cli.main(["zoo", "--size=illness_60", "--tag=linear"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in listed] == ["dlinear", "nlinear"]
    assert "did you mean 'etth1_96'" in refuse("zoo", "--size=etth1_69")
    assert "did you mean 'dlinear'" in refuse("zoo", "dlinaer")
    line = refuse("zoo", "dlinear", "--license=MIT", "--max-parameters=9")
    assert "leave out --license, --max-parameters, or the name dlinear" in line


@pytest.mark.parametrize("size", [10**12, 10**15])
@pytest.mark.parametrize("option", ["context-length", "num-channels"])
def test_absurd_sizes_are_refused(option, size, refuse):
    line = refuse("zoo", "patchtst", f"--{option}={size}")
    assert f"{option.replace('-', '_')}={size}" in line


def test_a_long_dataset_is_saved_without_numbers_of_rows(tmp_path, monkeypatch):
    times = pd.date_range("2024-01-01", periods=2)
    frame = pd.DataFrame({"unique_id": "a", "ds": times, "y": [1.0, 2.0]})
    monkeypatch.setattr(datasets, "load", lambda name: frame)
    assert cli.main(["datasets", "hospital", f"--output={tmp_path / 'a.csv'}"]) == 0
    assert (tmp_path / "a.csv").read_text().splitlines()[:2] == [
        "unique_id,ds,y",
        "a,2024-01-01,1.0",
    ]


def test_datasets_and_presets_are_listed_and_saved(capsys, tmp_path, refuse):
    assert cli.main(["datasets"]) == 0
    listed = capsys.readouterr().out
    assert [line.split()[0] for line in listed.splitlines()] == datasets.names()
    path = tmp_path / "air.csv"
    assert cli.main(["datasets", "air_passengers", f"--output={path}"]) == 0
    assert pd.read_csv(path).shape == (144, 2)
    assert cli.main(["presets"]) == 0
    listed = capsys.readouterr().out.splitlines()[1:]
    assert [line.split()[0] for line in listed] == [*presets.names(), "kerastrans_zero_2"]
    assert "give the name or the folder of a preset" in refuse("presets", "")
    assert "exists" in refuse("datasets", "air_passengers", "--output", path)
