import io
import tarfile
import zipfile

import keras
import pytest

from kerastrans.utils import files
from kerastrans.utils.files import load_model, new_file, new_folder, unpack


def test_folder_appears_only_when_complete(tmp_path):
    with new_folder(tmp_path / "a" / "b") as folder:
        (folder / "x").write_text("1")
        assert not (tmp_path / "a" / "b").exists()
    assert (tmp_path / "a" / "b" / "x").read_text() == "1"


def test_failure_leaves_no_folder_and_changes_nothing(tmp_path):
    def fail():
        with new_folder(tmp_path / "a") as folder:
            (folder / "x").write_text("1")
            raise OSError("no space left on device")

    with pytest.raises(OSError, match="no space left"):
        fail()
    assert not list(tmp_path.iterdir())
    (tmp_path / "a").mkdir()
    with pytest.raises(FileExistsError, match="a exists"):
        fail()
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_file_appears_only_when_complete(tmp_path):
    with new_file(tmp_path / "x") as unfinished:
        unfinished.write_text("1")
        assert not (tmp_path / "x").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
    with pytest.raises(FileExistsError, match="x exists"), new_file(tmp_path / "x"):
        pass
    assert (tmp_path / "x").read_text() == "1"


def write_archive(path, name, content=b"1", kind=tarfile.REGTYPE):
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("fine.txt", "fine")
            archive.writestr(name, content)
    else:
        with tarfile.open(path, "w:gz") as archive:
            member = tarfile.TarInfo(name)
            member.size, member.type, member.linkname = len(content), kind, "/etc/passwd"
            archive.addfile(member, io.BytesIO(content))
    return path


@pytest.mark.parametrize("suffix", [".zip", ".tar.gz"])
def test_archives_are_unpacked(suffix, tmp_path):
    unpack(write_archive(tmp_path / f"a{suffix}", "in/x.txt"), tmp_path / "out")
    assert (tmp_path / "out" / "in" / "x.txt").read_bytes() == b"1"


@pytest.mark.parametrize("suffix", [".zip", ".tar.gz"])
@pytest.mark.parametrize("name", ["../evil.txt", "/tmp/evil.txt", "in/../../evil.txt"])
def test_archive_with_a_path_outside_the_folder_is_refused(name, suffix, tmp_path):
    archive = write_archive(tmp_path / f"a{suffix}", name)
    with pytest.raises(ValueError, match="which is not a file inside it"):
        unpack(archive, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == [archive.name]


def test_links_bombs_and_other_files_are_refused(tmp_path, monkeypatch):
    link = write_archive(tmp_path / "link.tar.gz", "x", kind=tarfile.SYMTYPE)
    with pytest.raises(ValueError, match="'x', which is not a file"):
        unpack(link, tmp_path / "out")
    monkeypatch.setattr(files, "MAX_BYTES", 1000)
    with pytest.raises(ValueError, match="unpacks to 2004 bytes, the limit is 1000"):
        unpack(write_archive(tmp_path / "bomb.zip", "x", b"0" * 2000), tmp_path / "out")
    (tmp_path / "text.zip").write_text("no archive")
    with pytest.raises(ValueError, match=r"neither a \.zip nor a \.tar"):
        unpack(tmp_path / "text.zip", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_model_file_with_code_is_refused(tmp_path):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Lambda(lambda x: x + 1)])
    model.save(tmp_path / "m.keras")
    with pytest.raises(ValueError, match="it contains Python code") as caught:
        load_model(tmp_path / "m.keras")
    assert "\n" not in str(caught.value)
    (tmp_path / "text.keras").write_text("no model")
    with pytest.raises(ValueError, match=r"cannot load .*text\.keras"):
        load_model(tmp_path / "text.keras")


def saved_model(path):
    """Save a model of 3 float weights and return it."""
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1), keras.layers.Dropout(0.5)])
    model.save(path)
    return model


def test_a_tar_of_a_keras_file_is_a_tar(tmp_path):
    saved_model(tmp_path / "model.keras")
    with tarfile.open(tmp_path / "x.tar", "w") as archive:
        archive.add(tmp_path / "model.keras", "model.keras")
    unpack(tmp_path / "x.tar", tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["model.keras"]


@pytest.mark.parametrize("kind", ["nan", "inf", "int32", "bool", "complex64"])
def test_weights_that_are_not_finite_floats_are_refused(tmp_path, kind):
    import h5py
    import numpy as np

    saved_model(tmp_path / "model.keras")
    load_model(tmp_path / "model.keras")  # whose seed is an integer
    with zipfile.ZipFile(tmp_path / "model.keras") as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    buffer = io.BytesIO(contents["model.weights.h5"])
    with h5py.File(buffer, "r+") as file:
        paths = []
        file.visititems(lambda path, x: paths.append(path) if isinstance(x, h5py.Dataset) else None)
        path = next(path for path in paths if file[path].shape == (2, 1))
        is_number = kind in ("nan", "inf")
        values = np.full((2, 1), float(kind) if is_number else 1, None if is_number else kind)
        del file[path]
        file[path] = values
    contents["model.weights.h5"] = buffer.getvalue()
    with zipfile.ZipFile(tmp_path / "damaged.keras", "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    expected = "not finite" if is_number else "which the model does not have"
    with pytest.raises(ValueError, match=expected):
        load_model(tmp_path / "damaged.keras")
