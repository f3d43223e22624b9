"""`datasets`, `zoo`, `presets`, `generate`, `demo`; interruptions and warnings."""

import numpy as np
import pandas as pd
import pytest

from kerastrans import datasets, presets, zoo
from kerastrans.cli import main as cli
from kerastrans.cli.train import next_folder

pytestmark = pytest.mark.tensorflow


def test_architectures_are_listed_and_described(capsys, refuse):
    assert cli.main(["zoo"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in listed] == zoo.names()
    assert "PatchTST (Nie et al., 2023)" in next(line for line in listed if "patchtst" in line)
    assert cli.main(["zoo", "--tag=linear"]) == 0
    assert "dlinear" in capsys.readouterr().out
    assert cli.main(["zoo", "dlinear", "--prediction-length=720"]) == 0
    described = capsys.readouterr().out
    assert "weights: 139,680 for 96 -> 720 steps of 7 channels" in described
    assert "moving_average=25" in described
    assert "did you mean 'dlinear'" in refuse("zoo", "dlinaer")


@pytest.mark.parametrize("size", [10**12, 10**15])
@pytest.mark.parametrize("option", ["context-length", "num-channels"])
def test_absurd_sizes_are_refused(option, size, refuse):
    line = refuse("zoo", "patchtst", f"--{option}={size}")
    assert f"{option.replace('-', '_')}={size}" in line


def test_datasets_and_presets_are_listed_and_saved(capsys, tmp_path, refuse):
    assert cli.main(["datasets"]) == 0
    listed = capsys.readouterr().out
    assert [line.split()[0] for line in listed.splitlines()] == datasets.names()
    path = tmp_path / "air.csv"
    assert cli.main(["datasets", "air_passengers", f"--output={path}"]) == 0
    assert pd.read_csv(path).shape == (144, 2)
    assert cli.main(["presets"]) == 0
    listed = capsys.readouterr().out.splitlines()[1:]
    assert [line.split()[0] for line in listed] == presets.names()
    assert "exists" in refuse("datasets", "air_passengers", "--output", path)


def test_generate_continues_plain_numbers(small_model, tmp_path, refuse):
    small_model.save(tmp_path / "m.keras")
    sequence = np.random.default_rng(0).standard_normal((8, 3)).astype("float32")
    pd.DataFrame(sequence, columns=list("xyz")).to_csv(tmp_path / "in.csv", index=False)
    arguments = ["generate", str(tmp_path / "m.keras"), str(tmp_path / "in.csv")]
    arguments += ["--num-steps=4", f"--output={tmp_path / 'out.csv'}"]
    assert "expected a finite number, got 'nan'" in refuse(*arguments, "--start-token=nan")
    assert cli.main([*arguments, "--start-token=0"]) == 0
    result = pd.read_csv(tmp_path / "out.csv")
    assert list(result.columns) == list("xyz")
    expected = small_model.generate(sequence[None], 4, start_token=0.0)[0]
    np.testing.assert_allclose(result.to_numpy(), expected, atol=1e-5)
    assert "out.csv exists" in refuse(*arguments)
    (tmp_path / "out.csv").unlink()
    for text, message in (
        ("when,x\nnow,1\n", "columns must be numeric, ['when'] are not"),
        ("x,y\n1,2\n3,4,5\n", "cannot read"),
        ("x\n1,5\n2,5\n", "cannot read"),
        ("x\n1\n\n2\n1e300\n", "row 3: 'x' must be a number in the range of float32, got 1e+300"),
        ("x,y\n1,\n", "row 1: 'y' must be a number in the range of float32, got nan"),
        ("", "cannot read"),
    ):
        (tmp_path / "in.csv").write_text(text)
        assert message in refuse(*arguments)


def test_demo_names_a_new_folder_each_time(tmp_path):
    (tmp_path / "demo-1").mkdir()
    assert next_folder(tmp_path, "demo") == tmp_path / "demo-2"


def test_interruption_is_told_from_an_error(monkeypatch, capsys):
    def interrupt(name):
        raise KeyboardInterrupt

    monkeypatch.setattr(datasets, "load", interrupt)
    assert cli.main(["datasets", "etth1"]) == 130
    assert capsys.readouterr().err == "kerastrans: interrupted\n"
