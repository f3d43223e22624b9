import zipfile
from collections import Counter

import pytest

from kerastrans.text import pairs


@pytest.mark.data
def test_real_pairs():
    found = pairs.load_pairs()
    assert len(found) == 5000
    assert found[0] == ("Go.", "Va !")
    assert all(english and french for english, french in found)
    assert pairs.load_pairs(10) == found[:10]


def test_downloaded_archive_is_unpacked(tmp_path, monkeypatch):
    archive = tmp_path / "fra-eng.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("fra-eng/fra.txt", "Go.\tVa !\nHi.\tSalut !\tCC-BY\n")
    monkeypatch.delenv("KERASTRANS_DATA_DIR", raising=False)
    monkeypatch.setattr("pooch.os_cache", lambda name: tmp_path / "cache")
    monkeypatch.setattr("pooch.retrieve", retrieve_from(archive))
    assert pairs.load_pairs() == [("Go.", "Va !"), ("Hi.", "Salut !")]


def retrieve_from(archive):
    """`pooch.retrieve` that finds the archive downloaded."""

    def retrieve(url, known_hash, fname, path, processor):
        assert (url, known_hash) == (pairs.URL, pairs.URL_HASH)
        return processor(str(archive), "fetch", None)

    return retrieve


def test_missing_or_changed_file_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("KERASTRANS_DATA_DIR", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"does not contain fra-eng/eng-fra.txt"):
        pairs.load_pairs()
    (tmp_path / "fra-eng").mkdir()
    (tmp_path / "fra-eng" / "eng-fra.txt").write_text("Go.\tVa !\n")
    with pytest.raises(ValueError, match="another version"):
        pairs.load_pairs()
    with pytest.raises(ValueError, match="limit must be an integer of at least 1, got 0"):
        pairs.load_pairs(0)


def test_numbers_are_written_out_in_two_languages():
    found = pairs.number_pairs(100, limit=100)
    assert ("forty-two", "quarante-deux") in found
    assert ("ninety-nine", "quatre-vingt-dix-neuf") in found
    for side in zip(*found, strict=True):
        assert max(Counter(side).values()) == 1
    assert pairs.number_pairs(100, limit=100) == found
    assert pairs.number_pairs(100, limit=100, seed=1) != found


def test_more_numbers_than_there_are():
    with pytest.raises(ValueError, match="count must be at most limit=10, got 11"):
        pairs.number_pairs(11, limit=10)
