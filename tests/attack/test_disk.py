"""Disks that are full: what is half-written never gets the name that was asked for."""

import os
import resource

import pytest

from kerastrans import Forecaster, datasets, zoo
from kerastrans.export import export
from kerastrans.utils.files import new_file, new_folder

LIMIT = 2000  # bytes that a file may have


@pytest.fixture
def full():
    """A block in which no file grows beyond `LIMIT`, as on a full disk."""

    class Full:
        def __enter__(self):
            self.limits = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, self.limits[1]))

        def __exit__(self, *error):
            resource.setrlimit(resource.RLIMIT_FSIZE, self.limits)

    return Full()


def write_file(path):
    with new_file(path) as unfinished:
        unfinished.write_bytes(bytes(10 * LIMIT))


def write_folder(path):
    with new_folder(path) as folder:
        (folder / "small").write_text("1")
        (folder / "large").write_bytes(bytes(10 * LIMIT))


def save_forecaster(path):
    series = datasets.load("air_passengers")
    forecaster = Forecaster("nlinear", 24, 12).fit(series, epochs=1, verbose=0)
    yield
    forecaster.save(path)


def export_model(path):
    model = zoo.build("nlinear", 48, 24, 2)
    yield
    export(model, path)


@pytest.mark.parametrize("write", [write_file, write_folder], ids=["file", "folder"])
def test_a_full_disk_leaves_nothing(write, full, tmp_path):
    with full, pytest.raises(OSError, match="File too large"):
        write(tmp_path / "x")
    assert not list(tmp_path.iterdir())
    write(tmp_path / "x")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def fails_in_one_line(steps, full):
    next(steps)
    with full, pytest.raises(OSError, match=r"File too large|[Cc]annot") as caught:
        next(steps)
    assert "\n" not in str(caught.value)


def test_a_forecaster_is_saved_whole_or_not_at_all(full, tmp_path):
    fails_in_one_line(save_forecaster(tmp_path / "x"), full)
    assert not list(tmp_path.iterdir())


@pytest.mark.tensorflow
@pytest.mark.parametrize("name", ["savedmodel", "x.tflite"])
def test_an_export_is_written_whole_or_not_at_all(name, full, tmp_path):
    fails_in_one_line(export_model(tmp_path / name), full)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("write", [write_file, write_folder], ids=["file", "folder"])
def test_a_broken_link_is_something_that_exists(write, tmp_path):
    (tmp_path / "x").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileExistsError, match="x exists: choose another name"):
        write(tmp_path / "x")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize("write", [write_file, write_folder], ids=["file", "folder"])
def test_what_appears_in_the_meantime_is_not_replaced(write, tmp_path, monkeypatch):
    checks = []

    def check(path):
        checks.append(path)
        if len(checks) == 2:
            raise FileExistsError(f"{path} exists")

    monkeypatch.setattr("kerastrans.utils.files.check_new", check)
    with pytest.raises(FileExistsError):
        write(tmp_path / "x")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("umask", "folder_mode", "file_mode"), [(0o022, 0o755, 0o644), (0o007, 0o770, 0o660)]
)
def test_modes_follow_the_umask(umask, folder_mode, file_mode, tmp_path):
    before = os.umask(umask)
    try:
        write_folder(tmp_path / "folder")
        write_file(tmp_path / "file")
    finally:
        os.umask(before)
    assert (tmp_path / "folder").stat().st_mode & 0o777 == folder_mode
    for path in (tmp_path / "file", tmp_path / "folder" / "small"):
        assert path.stat().st_mode & 0o777 == file_mode
