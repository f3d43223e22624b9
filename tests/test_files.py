import pytest

from kerastrans.files import new_folder


def test_the_folder_appears_once_all_is_written(tmp_path):
    with new_folder(tmp_path / "a" / "b") as folder:
        (folder / "x").write_text("1")
        assert not (tmp_path / "a" / "b").exists()
    assert (tmp_path / "a" / "b" / "x").read_text() == "1"


def test_a_failure_leaves_nothing_and_touches_nothing(tmp_path):
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
