"""The persistent compilation cache of the command line."""

import os
import subprocess
import sys
import time

import pytest

from kerastrans.cli import startup as cache

BACKTEST = """
import sys
from kerastrans.cli.main import main
count = [0]
def listen():
    import jax
    jax.monitoring.register_event_listener(
        lambda name, **_: count.__setitem__(0, count[0] + (name.endswith("cache_hits")))
    )
listen()
assert main(["backtest", sys.argv[1], "--output", sys.argv[2]]) == 0
print("hits", count[0])
"""


def test_programs_of_other_processors_stay_until_they_are_old(tmp_path):
    folder = cache._prepare_folder(tmp_path / "kerastrans", "jax-1")
    for name in ("new", "old"):
        (folder / name).write_text("x")
    os.utime(folder / "old", (time.time() - cache.MAX_SECONDS - 60,) * 2)
    other = cache._prepare_folder(tmp_path / "kerastrans", "jax-2")
    assert {x.name for x in (tmp_path / "kerastrans").iterdir()} == {folder.name, other.name}
    assert [x.name for x in folder.iterdir()] == ["new"]


def test_programs_that_were_read_longest_ago_are_deleted_first(tmp_path, monkeypatch):
    folder = cache._prepare_folder(tmp_path, "jax-1")
    for number, name in enumerate("abc"):
        (folder / name).write_text("x" * 100)
        os.utime(folder / name, (time.time() - 100 * number,) * 2)
    monkeypatch.setattr(cache, "MAX_BYTES", 250)
    cache._prepare_folder(tmp_path, "jax-1")
    assert {x.name for x in folder.iterdir()} == {"a", "b"}


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="without the modes of Unix")
def test_a_folder_that_others_can_write_is_refused(tmp_path, monkeypatch):
    folder = cache._prepare_folder(tmp_path, "jax-1")
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o777)
    with pytest.raises(OSError, match="can be written by others"):
        cache._prepare_folder(tmp_path, "jax-1")
    folder.chmod(0o700)
    monkeypatch.setattr(cache.os, "getuid", lambda: folder.stat().st_uid + 1)
    with pytest.raises(OSError, match="must be yours"):
        cache._prepare_folder(tmp_path, "jax-1")


def test_the_key_names_the_processor_and_the_versions(monkeypatch):
    pytest.importorskip("jax")
    before = cache._key()
    assert cache._key() == before
    monkeypatch.setattr(cache.platform, "machine", lambda: "another")
    changed = cache._key()
    monkeypatch.setattr(cache, "__version__", "99")
    assert len({before, changed, cache._key()}) == 3


def test_a_folder_that_cannot_be_written_is_a_note(tmp_path, monkeypatch):
    jax = pytest.importorskip("jax")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "file"))
    before = jax.config.jax_compilation_cache_dir
    jax.config.update("jax_compilation_cache_dir", None)
    try:
        with pytest.warns(UserWarning, match="no compilation cache: .*KERASTRANS_CACHE_DIR"):
            cache.use_compilation_cache()
        assert not jax.config.jax_compilation_cache_dir
    finally:
        jax.config.update("jax_compilation_cache_dir", before)


@pytest.mark.slow
def test_a_second_command_reads_the_programs_and_a_damaged_one_is_a_note(tmp_path, monkeypatch):
    pytest.importorskip("jax")
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    monkeypatch.setenv("KERAS_BACKEND", "jax")

    def backtest(number):
        command = [
            sys.executable,
            "-c",
            BACKTEST,
            "air_passengers",
            str(tmp_path / f"{number}.csv"),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        hits = int(done.stdout.rpartition("hits ")[2])
        return hits, done.stderr, (tmp_path / f"{number}.csv").read_text()

    first, second = backtest(1), backtest(2)
    assert first[0] == 0 < second[0]
    for path in tmp_path.glob("kerastrans/jax-*/*-cache"):
        path.write_bytes(b"damaged")
    third = backtest(3)
    assert third[0] == 0
    assert "kerastrans: warning: " in third[1]
    assert first[2] == second[2] == third[2]
