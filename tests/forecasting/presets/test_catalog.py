import functools
import http.server
import json
import shutil
import threading
import zipfile
from pathlib import Path

import keras
import numpy as np
import pooch
import pytest

from kerastrans import Forecaster, datasets, presets, zoo
from kerastrans.utils.files import sha256_of

NAMES = presets.names()


@pytest.fixture(scope="module")
def preset(tmp_path_factory):
    """Folder of a small preset that is trained here."""
    frame = datasets.load("air_passengers")[:100]
    forecaster = Forecaster("nlinear", 24, 12).fit(frame, epochs=1, verbose=0)
    folder = tmp_path_factory.mktemp("presets") / "nlinear_small_12"
    presets.write(forecaster, folder, versions={"kerastrans": "0.1.0"})
    return folder


@pytest.fixture
def copied(preset, tmp_path):
    return shutil.copytree(preset, tmp_path / preset.name)


def test_presets_are_installed_and_small():
    assert len(NAMES) >= 8
    for name in NAMES:
        files = list((presets.FOLDER / name).iterdir())
        assert sum(path.stat().st_size for path in files) < 2e6


def tier(name):
    """Marks of a preset: the small one is quick, and three others of 96 steps are exhaustive."""
    if "passengers" in name:
        return []
    marks = [pytest.mark.slow]
    if name.endswith("_96") and name != "dlinear_etth1_96":
        marks.append(pytest.mark.exhaustive)
    if "sha256" in datasets.info(presets.card(name)["data"]["name"]).files[0]:
        marks.append(pytest.mark.data)
    return marks


@pytest.mark.parametrize("name", [pytest.param(x, marks=tier(x)) for x in NAMES])
def test_a_preset_reproduces_the_metrics_of_its_card(name):
    card = presets.card(name)
    forecaster = zoo.from_preset(name)
    metrics = presets.evaluate(forecaster, card["data"]["name"])
    for row, errors in card["metrics"].items():
        found = metrics.loc[row, list(errors)].to_numpy("float64")
        np.testing.assert_allclose(found, list(errors.values()), rtol=1e-3, atol=2e-5)
    assert metrics["mse"].idxmin() == forecaster.config.architecture  # no baseline beats it


@pytest.mark.parametrize("name", NAMES)
def test_the_card_of_a_preset_names_its_origin(name):
    card = presets.card(name)
    assert card["name"] == name
    assert name in card["command"]
    assert {"data", "split", "settings", "metrics", "versions", "sha256"} <= set(card)
    assert card["settings"]["seed"] == 0
    assert {"kerastrans", "keras", "numpy", "backend"} <= set(card["versions"])


@pytest.mark.slow
def test_a_preset_can_be_fine_tuned(preset):
    frame = datasets.load("air_passengers")
    forecaster = zoo.from_preset(preset)
    before = forecaster.predict(frame)
    name = forecaster.config.architecture
    assert list(before.columns[:3]) == ["unique_id", "ds", name]
    forecaster.fit(frame, epochs=2, verbose=0)
    assert not np.allclose(forecaster.predict(frame)[name], before[name])


def test_a_folder_comes_before_an_installed_preset_and_has_a_checksum(
    preset, tmp_path, monkeypatch
):
    name = "nhits_air_passengers_12"
    shutil.copytree(preset, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    checksum = sha256_of(preset / "card.json")
    assert zoo.from_preset(name, checksum=checksum).config.architecture == "nlinear"
    with pytest.raises(ValueError, match=f"has sha256 {checksum}, expected 00"):
        zoo.from_preset(name, checksum="00")


@pytest.mark.parametrize("kind", ["zip", "gztar"])
def test_a_preset_is_loaded_from_an_archive_with_the_right_checksum(kind, preset, tmp_path):
    archive = shutil.make_archive(tmp_path / "preset", kind, preset.parent, preset.name)
    checksum = sha256_of(archive)
    assert zoo.from_preset(archive, checksum=checksum).config.architecture == "nlinear"
    with pytest.raises(ValueError, match=f"has sha256 {checksum}, expected 00"):
        zoo.from_preset(archive, checksum="00")


def test_a_preset_is_loaded_from_a_url_with_its_checksum(preset, tmp_path, monkeypatch):
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / "cache")
    archive = Path(shutil.make_archive(tmp_path / "preset", "zip", preset.parent, preset.name))
    checksum = sha256_of(archive)
    serve = functools.partial(http.server.SimpleHTTPRequestHandler, directory=tmp_path)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), serve) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/{archive.name}"
        assert zoo.from_preset(url, checksum=checksum).config.architecture == "nlinear"
        with pytest.raises(ValueError, match="does not match"):
            zoo.from_preset(url.replace("preset.zip", "./preset.zip"), checksum="0" * 64)
        server.shutdown()


def test_a_url_without_a_checksum_is_refused():
    with pytest.raises(ValueError, match=r"pass the sha256 of https://example\.org/p\.zip"):
        zoo.from_preset("https://example.org/p.zip")


def test_invalid_presets_are_refused_in_one_line(copied, tmp_path):
    with pytest.raises(ValueError, match="unknown preset 'patchtst_eth1_96': did you mean"):
        zoo.from_preset("patchtst_eth1_96")
    with pytest.raises(ValueError, match=r"is not a preset: load it with `kerastrans\.from_p"):
        zoo.from_preset("kerastrans_zero_2")
    with pytest.raises(ValueError, match=r"has no card\.json"):
        zoo.from_preset(tmp_path)
    model = copied / "model.keras"
    content = model.read_bytes()
    model.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(ValueError, match=r"model\.keras is not the file of its card"):
        zoo.from_preset(copied)
    model.unlink()
    with pytest.raises(ValueError, match="sha256 no file, expected"):
        zoo.from_preset(copied)


def test_a_preset_of_another_format_is_refused_with_the_version_that_reads_it(copied):
    card = json.loads((copied / "card.json").read_text())
    (copied / "card.json").write_text(json.dumps({**card, "format": 2}))
    message = "is a preset of format 2, written by kerastrans 0.1.0; this version reads format 1"
    with pytest.raises(ValueError, match=message):
        zoo.from_preset(copied)


def test_a_preset_with_code_in_its_model_is_refused(copied):
    model = keras.Sequential([keras.Input((24, 1)), keras.layers.Lambda(lambda x: x[:, :12])])
    model.save(copied / "model.keras")
    card = json.loads((copied / "card.json").read_text())
    card["sha256"]["model.keras"] = sha256_of(copied / "model.keras")
    (copied / "card.json").write_text(json.dumps(card))
    with pytest.raises(ValueError, match="it contains Python code"):
        zoo.from_preset(copied)


def test_an_archive_with_two_presets_is_refused(copied, tmp_path):
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        for name in ("a", "b"):
            archive.write(copied / "card.json", f"{name}/card.json")
    with pytest.raises(ValueError, match=r"must contain one preset, it contains 2 card\.json"):
        zoo.from_preset(tmp_path / "two.zip")
