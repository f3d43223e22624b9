"""Upload to and download from a Hugging Face hub that runs on loopback."""

import json
import shutil

import pandas as pd
import pytest

import kerastrans
from kerastrans import Forecaster, backtesting, datasets, zoo
from kerastrans.utils.files import sha256_of
from tests.helpers.loopback_hub import COMMIT, OLDER, running

huggingface_hub = pytest.importorskip("huggingface_hub")
NAME = "somebody/passengers"
URI = f"hf://{NAME}"
FILES = {"README.md", "card.json", "forecaster.json", "model.keras"}


@pytest.fixture(scope="module")
def frame():
    return datasets.load("air_passengers")


@pytest.fixture(scope="module")
def forecaster():
    return zoo.from_preset("nhits_air_passengers_12")


@pytest.fixture(scope="module")
def preset(forecaster, frame, tmp_path_factory):
    folder = tmp_path_factory.mktemp("presets") / "passengers"
    scores = backtesting.score(forecaster.backtest(frame, windows=2)).iloc[0]
    options = {"metrics": scores, "dataset": "air passengers", "licence": "apache-2.0"}
    forecaster.save_to_preset(folder, **options)
    return folder


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_token")
    with running(NAME, tmp_path / "site", tmp_path / "cache", monkeypatch) as handler:
        yield handler


@pytest.fixture
def published(server, preset):
    shutil.copytree(preset, server.folder)
    (server.folder / "model.pkl").write_bytes(b"a pickle")
    return server


def test_an_uploaded_preset_is_loaded_from_the_hub(server, preset, forecaster, frame, capsys):
    assert kerastrans.upload_preset(URI, preset, private=True) == COMMIT
    (created,) = server.created
    assert created["name"] == "passengers"
    assert created.get("private") or created.get("visibility") == "private"
    assert {path.name for path in server.folder.iterdir()} == FILES
    for file in FILES:
        assert (server.folder / file).read_bytes() == (preset / file).read_bytes()
    capsys.readouterr()
    loaded = zoo.from_preset(URI)
    checksum = sha256_of(preset / "card.json")
    line = f"{URI}: licence apache-2.0; revision={COMMIT!r}, checksum={checksum!r}.\n"
    assert capsys.readouterr().out == line
    pd.testing.assert_frame_equal(loaded.predict(frame), forecaster.predict(frame))


def test_a_preset_is_pinned_by_revision_and_checksum(published, preset, capsys):
    checksum = sha256_of(preset / "card.json")
    zoo.from_preset(URI, checksum, revision="v1", verbose=False)
    assert not capsys.readouterr().out
    assert any(f"/resolve/{OLDER}/model.keras" in path for path in published.paths)
    assert not any("model.pkl" in path for path in published.paths)
    with pytest.raises(ValueError, match=rf"card\.json has sha256 {checksum}, expected 00"):
        zoo.from_preset(URI, "00")
    with pytest.raises(FileNotFoundError, match=r"cannot be read from the hub.*404"):
        zoo.from_preset(URI, revision="v2")


def test_without_a_network_the_cache_is_read_or_an_error_raised(published, frame, monkeypatch):
    online = zoo.from_preset(URI, verbose=False).predict(frame)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    pd.testing.assert_frame_equal(zoo.from_preset(URI, verbose=False).predict(frame), online)
    with pytest.raises(FileNotFoundError, match="cannot be read from the hub or its") as error:
        zoo.from_preset("hf://nobody/nothing")
    assert "\n" not in str(error.value)


def test_a_changed_file_is_refused(published):
    content = (published.folder / "model.keras").read_bytes()
    (published.folder / "model.keras").write_bytes(content[:-1] + b"x")
    with pytest.raises(ValueError, match=r"model\.keras is not the file of its card"):
        zoo.from_preset(URI)


def test_other_repositories_and_non_commercial_licences_are_not_downloaded(published):
    readme = published.folder / "README.md"
    readme.write_text(readme.read_text().replace("apache-2.0", "cc-by-nc-4.0"))
    with pytest.raises(ValueError, match="forbids commercial use"):
        zoo.from_preset(URI)
    (published.folder / "card.json").unlink()
    with pytest.raises(ValueError, match=rf"{URI} is not a preset: it has no card\.json"):
        zoo.from_preset(URI, revision="v1")
    assert not any("/model.keras" in path for path in published.paths)


def test_an_existing_preset_on_the_hub_is_not_overwritten_by_default(published, preset):
    with pytest.raises(FileExistsError, match=f"{URI} exists on the hub: pass a new name"):
        kerastrans.upload_preset(URI, preset)
    assert not any("/commit/" in path for path in published.paths)
    assert kerastrans.upload_preset(URI, preset, new_version=True) == COMMIT
    assert not published.created


def test_failed_uploads_raise_one_line(server, preset, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="must be hf://user/name, got 'passengers'"):
        kerastrans.upload_preset("passengers", preset)
    changed = shutil.copytree(preset, tmp_path / "changed")
    (changed / "forecaster.json").write_text("{}")
    with pytest.raises(ValueError, match="is not the file of its card"):
        kerastrans.upload_preset(URI, changed)
    assert not server.paths
    monkeypatch.setenv("HF_TOKEN", "hf_wrong")
    with pytest.raises(RuntimeError, match=f"was not uploaded to {URI}: .*401") as error:
        kerastrans.upload_preset(URI, preset)
    assert "\n" not in str(error.value)
    assert not server.folder.exists()


def test_the_card_has_the_metadata_of_the_hub(preset):
    card = huggingface_hub.ModelCard.load(preset / "README.md").data
    assert (card.library_name, card.pipeline_tag) == ("kerastrans", "time-series-forecasting")
    assert card.license == "apache-2.0"
    (scores,) = json.loads((preset / "card.json").read_text())["metrics"].values()
    found = {result.metric_type: result.metric_value for result in card.eval_results}
    assert found == scores
    assert {"mae", "crps", "coverage-80"} <= set(scores)
    assert {result.dataset_name for result in card.eval_results} == {"air passengers"}
    text = (preset / "README.md").read_text()
    assert "| steps | 36 of history, 12 forecast |" in text


@pytest.mark.slow
def test_a_card_of_published_weights_keeps_their_licence(tmp_path):
    forecaster = kerastrans.from_pretrained("kerastrans_zero_2", 6, 24, verbose=False)
    forecaster.save_to_preset(tmp_path / "preset")
    card = huggingface_hub.ModelCard.load(tmp_path / "preset" / "README.md").data
    assert card.license == forecaster.card["licence"].lower()
    assert zoo.from_preset(tmp_path / "preset").prediction_length == 6


def test_invalid_presets_are_not_written(forecaster, tmp_path, preset):
    folder = tmp_path / "preset"
    with pytest.raises(ValueError, match="metrics and dataset must be given together"):
        forecaster.save_to_preset(folder, metrics={"mae": 1.0})
    with pytest.raises(
        ValueError, match=r"licence must be a name such as 'apache-2\.0', got 'my l"
    ):
        forecaster.save_to_preset(folder, licence="my licence")
    scores = pd.DataFrame({"mae": [1.0, 2.0]})
    with pytest.raises(ValueError, match=r"metrics must map names to numbers.*got a DataFrame"):
        forecaster.save_to_preset(folder, metrics=scores, dataset="air_passengers")
    with pytest.raises(RuntimeError, match="train"):
        Forecaster("nlinear", 24, 12).save_to_preset(folder)
    assert not folder.exists()
    with pytest.raises(FileExistsError, match="exists"):
        forecaster.save_to_preset(preset)
    with pytest.raises(ValueError, match=r"revision requires a name on the hub"):
        zoo.from_preset(preset, revision="v1")
