"""Damaged and hostile archives: one line, and nothing is unpacked."""

import io
import shutil
import tarfile
import zipfile

import pytest

from kerastrans.forecasting import presets
from kerastrans.utils import files
from kerastrans.utils.files import unpack

CONTENT = {"preset/card.json": b'{"format": 1}', "preset/model.keras": bytes(range(256)) * 20}
KINDS = ("zip", "tar", "tar.gz", "tar.bz2", "tar.xz")


def write(path):
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in CONTENT.items():
                archive.writestr(name, content)
        return path
    compression = path.suffix[1:] if path.suffix != ".tar" else ""
    with tarfile.open(path, f"w:{compression}") as archive:
        for name, content in CONTENT.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def unpacked_whole_or_refused(path, folder):
    """Whether an archive unpacks; what is not unpacked whole leaves nothing."""
    message = None
    try:
        unpack(path, folder)
    except (ValueError, OSError) as error:
        message = str(error)
    if message is None:
        shutil.rmtree(folder)
        return True
    assert "\n" not in message
    assert [x.name for x in folder.parent.iterdir()] == [path.name]
    return False


@pytest.mark.parametrize("kind", KINDS)
def test_truncated_archives_leave_nothing(kind, tmp_path):
    path = write(tmp_path / f"a.{kind}")
    content = path.read_bytes()
    assert unpacked_whole_or_refused(path, tmp_path / "out")
    end = 512 * 13 if kind == "tar" else len(content)  # after it a tar is padding
    sizes = [*range(1, end, end // 30), end // 2]
    refused = []
    for size in sizes:
        path.write_bytes(content[:size])
        refused.append(not unpacked_whole_or_refused(path, tmp_path / "out"))
    # A tar has no mark at its end: cut between two members, or in the padding, it is a tar.
    assert sum(refused) >= len(refused) - (0 if kind == "zip" else 4)
    assert refused[-1]  # half of it


@pytest.mark.parametrize("kind", KINDS)
def test_flipped_bytes_end_in_one_line(kind, tmp_path):
    path = write(tmp_path / f"a.{kind}")
    content = path.read_bytes()
    offsets = {*range(min(160, len(content))), *range(0, len(content), 1 + len(content) // 100)}
    if kind == "zip":
        offsets |= set(range(content.index(b"PK\x01\x02"), len(content)))
    refused = 0
    for offset in sorted(offsets):
        spoilt = bytearray(content)
        spoilt[offset] ^= 0xFF
        path.write_bytes(spoilt)
        refused += not unpacked_whole_or_refused(path, tmp_path / "out")
    assert refused > len(offsets) / 5


@pytest.mark.parametrize("kind", ["half.tar.gz", "flipped.tar.xz", "encrypted.zip"])
def test_a_damaged_preset_says_so(kind, tmp_path):
    path = write(tmp_path / kind)
    content = bytearray(path.read_bytes())
    if kind.startswith("half"):
        del content[len(content) // 2 :]
    elif kind.startswith("flipped"):
        content[len(content) // 2] ^= 0xFF
    else:
        for mark, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
            content[content.index(mark) + flags] |= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"{kind} is (damaged|neither a)") as caught:
        presets.load(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["tar", "tar.gz"])
def test_a_declared_size_is_refused_before_it_is_read(kind, tmp_path):
    member = tarfile.TarInfo("bomb")
    member.size = 2**40
    header = member.tobuf()
    path = tmp_path / f"a.{kind}"
    with open(path, "wb") as file, tarfile.open(fileobj=file, mode=f"w:{kind[4:]}") as archive:
        archive.fileobj.write(header)
    with pytest.raises(ValueError, match="unpacks to 1099511627776 bytes, the limit is 268435456"):
        unpack(path, tmp_path / "out")
    assert [x.name for x in tmp_path.iterdir()] == [path.name]


def test_too_many_files_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MAX_MEMBERS", 1)
    with pytest.raises(ValueError, match="contains more than 1 files"):
        unpack(write(tmp_path / "a.zip"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_existing_folder_is_not_touched(tmp_path):
    (tmp_path / "out").mkdir()
    with pytest.raises(FileExistsError, match="out exists"):
        unpack(write(tmp_path / "a.zip"), tmp_path / "out")
    assert not list((tmp_path / "out").iterdir())


@pytest.mark.parametrize(
    ("card", "message"),
    [
        ("[]", "must contain a JSON object, got a list"),
        ("null", "must contain a JSON object, got a NoneType"),
        ('"text"', "must contain a JSON object, got a str"),
        ("{", "is not JSON: Expecting property name"),
        ("\x00", "is not JSON"),
        ("[" * 100_000, "is not JSON: maximum recursion"),
        ("{}", "has no 'format'"),
        ('{"format": "1"}', "'format' must be of type int, got str"),
        ('{"format": 2, "versions": null}', "format 2, written by kerastrans of another version"),
        ('{"format": 1}', "has no 'sha256'"),
        ('{"format": 1, "sha256": []}', "'sha256' must be of type dict, got list"),
        ('{"format": 1, "sha256": {}}', "sha256 no file, expected None"),
    ],
)
def test_hostile_cards_end_in_one_line(card, message, tmp_path):
    (tmp_path / "card.json").write_text(card)
    with pytest.raises(ValueError, match=message) as caught:
        presets.load(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_model_file_and_a_forecaster_are_told_from_a_preset(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.keras", "w") as archive:
        archive.writestr("model.weights.h5", "")
    with pytest.raises(ValueError, match=r"x\.keras is only a Keras model: pass a preset, or the"):
        presets.load(tmp_path / "x.keras")
    (tmp_path / "forecaster.json").write_text("{}")
    with pytest.raises(ValueError, match="is a forecaster, not a preset: load it with `Forecaster"):
        presets.load(tmp_path)
