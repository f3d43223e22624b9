import hashlib
import re
import shutil

import pytest

import kerastrans
from kerastrans.models.pretrained import hub
from kerastrans.models.pretrained import licences as cards
from kerastrans.models.pretrained.chronos import bolt_port as chronos_bolt
from kerastrans.models.pretrained.shipped import DEFAULT
from tests.helpers.checkpoints import CHRONOS_BOLT, random_tensors, write
from tests.helpers.loopback_hub import COMMIT, OLDER, running

huggingface_hub = pytest.importorskip("huggingface_hub")

NAME = "somebody/tiny-bolt"


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    tensors = random_tensors(chronos_bolt.build_network(CHRONOS_BOLT)[1])
    return write(tmp_path_factory.mktemp("published"), CHRONOS_BOLT, tensors)


@pytest.fixture
def server(checkpoint, tmp_path, monkeypatch):
    """A loopback hub with one model, and an empty cache."""
    site = shutil.copytree(checkpoint, tmp_path / "site")
    (site / "README.md").write_text("---\nlicense: mit\ntags:\n- forecasting\n---\n# Tiny\n")
    (site / "pytorch_model.bin").write_bytes(b"a pickle")
    with running(NAME, site, tmp_path / "cache", monkeypatch) as handler:
        yield handler


def test_a_name_is_downloaded_with_its_commit_and_checksum(server, checkpoint):
    folder, card = hub.resolve_hub_name(NAME)
    weights = (checkpoint / "model.safetensors").read_bytes()
    assert (folder / "model.safetensors").read_bytes() == weights
    assert card["sha256"] == hashlib.sha256(weights).hexdigest()
    assert (card["revision"], card["licence"]) == (COMMIT, "mit")
    assert card["trained_on"] == "not published"
    assert not any("pytorch_model.bin" in path for path in server.paths)  # no pickle is fetched


def test_a_name_becomes_a_forecaster_whose_card_is_shown(server, capsys, tmp_path):
    forecaster = kerastrans.from_pretrained(NAME, 3)
    line = capsys.readouterr().out
    assert line.startswith(f"{NAME} at {COMMIT[:8]}: licence mit; ")
    assert line.count("\n") == 1
    assert forecaster.alias == "tiny-bolt"
    assert forecaster.card["revision"] == COMMIT
    forecaster.save(tmp_path / "saved")
    assert kerastrans.Forecaster.load(tmp_path / "saved").card == forecaster.card
    kerastrans.from_pretrained(NAME, 3, verbose=False)
    assert not capsys.readouterr().out


def test_a_revision_is_obeyed(server):
    assert hub.resolve_hub_name(NAME, "v1")[1]["revision"] == OLDER
    assert hub.resolve_hub_name(NAME, OLDER)[1]["revision"] == OLDER
    with pytest.raises(FileNotFoundError, match=r"cannot be read from the hub.*404"):
        hub.resolve_hub_name(NAME, "v2")


def test_without_a_network_the_cache_is_read(server, monkeypatch):
    downloaded, card = hub.resolve_hub_name(NAME)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    folder, again = hub.resolve_hub_name(NAME)
    assert (folder, again) == (downloaded, card)


def test_no_network_and_no_cache_is_one_line(server, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(FileNotFoundError, match="cannot be read from the hub or its") as error:
        hub.resolve_hub_name(NAME)
    assert "\n" not in str(error.value)


def test_an_unknown_name_is_one_line(server):
    with pytest.raises(FileNotFoundError, match=r"nobody/nothing is not a folder, and it cannot"):
        hub.resolve_hub_name("nobody/nothing")


def test_a_licence_that_forbids_is_seen_before_the_weights_are_fetched(server):
    (server.folder / "README.md").write_text("---\nlicense: cc-by-nc-sa-4.0\n---\n")
    with pytest.raises(ValueError, match=r"states the licence cc-by-nc-sa-4\.0, which forbids"):
        hub.resolve_hub_name(NAME)
    assert not any("model.safetensors" in path for path in server.paths)


def test_the_extra_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "huggingface_hub", None)
    with pytest.raises(ImportError, match=r'pip install "\.\[hub\]"'):
        hub.resolve_hub_name(NAME)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("google/timesfm-3.0-pytorch", "TimesFM Non-Commercial License"),
        ("Salesforce/moirai-2.0-R-small", "CC-BY-NC-4.0"),
        ("NX-AI/TiRex", "NXAI Community License"),
        ("ibm-research/flowstate", "research only"),
    ],
)
def test_weights_that_may_not_be_used_are_refused_by_name(name, reason):
    with pytest.raises(ValueError, match=f"{name} is not loaded: it is under .*{reason}"):
        hub.resolve_hub_name(name)


def test_a_folder_needs_no_hub(checkpoint, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "huggingface_hub", None)
    folder, card = hub.resolve_hub_name(checkpoint)
    assert (folder, card["name"], card["licence"]) == (checkpoint, checkpoint.name, "not published")
    with pytest.raises(ValueError, match="a folder has no revision, got revision='v1'"):
        hub.resolve_hub_name(checkpoint, "v1")


@pytest.mark.parametrize(
    "head",
    [
        "license: other\nlicense_name: timesfm-non-commercial-license-v1.0",
        "license: 'cc-by-nc-4.0'",
    ],
)
def test_a_folder_with_a_licence_that_forbids_is_refused(head, tmp_path):
    (tmp_path / "README.md").write_text(f"---\n{head}\n---\n")
    with pytest.raises(ValueError, match="forbids commercial use"):
        hub.resolve_hub_name(tmp_path)


@pytest.mark.parametrize("licence", ["apache-2.0", "mit", "cdla-permissive-2.0", "bsd-3-clause"])
def test_other_licences_are_told(licence, tmp_path):
    (tmp_path / "README.md").write_text(f"---\nlicense: {licence}\n---\n")
    assert hub.resolve_hub_name(tmp_path)[1]["licence"] == licence


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("chronos-bolt-small", r"did you mean 'amazon/chronos-bolt-small'\?"),
        ("Chronos-bold-mini", r"did you mean 'amazon/chronos-bolt-mini'\?"),
        ("timesfm", r"did you mean 'google/timesfm-"),
        ("/there/is/none", "none is neither a folder nor a name on the hub: give one such as"),
    ],
)
def test_a_name_without_its_owner_is_completed(source, message):
    with pytest.raises(FileNotFoundError, match=message):
        hub.resolve_hub_name(source)


def test_every_card_is_whole():
    assert len(cards.known_names()) >= 12
    for name in cards.known_names():
        card = cards.card_of(name)
        assert hub.NAME.fullmatch(name) or name == DEFAULT
        lists = {"seen", "not_seen", "unknown", "seen_source"}  # see test_contamination
        assert card.keys() == {"licence", "source", "trained_on", "size"} | lists
        assert card["licence"] in ("Apache-2.0", "MIT")
        assert re.search(r"arXiv:|package|model card", card["source"])
