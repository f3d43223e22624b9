"""A disk that is full from the k-th write on, and a process that is killed at the k-th write."""

import builtins
import errno
import io
import itertools
import os


class Killed(BaseException):
    """Raised by a process that does not exist any more: what it cleans up fails, too."""


class FullDisk:
    """Lets every write from the k-th one on fail with ENOSPC.

    Writes are those of the operating system: the chunks of a buffered file, new folders, and
    renamed files.

    Args:
        monkeypatch: pytest's `MonkeyPatch`.
        number: int, number of the first write that fails, from 1.
        kills: bool, whether the process is killed at that write: removing files fails, too.
    """

    def __init__(self, monkeypatch, number, kills=False):
        self.number, self.count, self.kills = number, 0, kills
        opened, check = io.open, self._check

        class File(io.FileIO):
            def write(self, content):
                check()
                return super().write(content)

        def open_file(file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, **kw):
            if not set(mode) & set("wax+") or kw:
                return opened(file, mode, buffering, encoding, errors, newline, **kw)
            raw = File(file, mode.replace("b", "").replace("t", ""))
            stream = (io.BufferedRandom if "+" in mode else io.BufferedWriter)(raw)
            if "b" in mode:
                return stream
            return io.TextIOWrapper(stream, encoding or "utf-8", errors, newline)

        for module in (io, builtins):
            monkeypatch.setattr(module, "open", open_file)
        for name in ("mkdir", "rename", "replace"):
            monkeypatch.setattr(os, name, self._checked(getattr(os, name)))
        for name in ("unlink", "remove", "rmdir") if kills else ():
            monkeypatch.setattr(os, name, self._alive(getattr(os, name)))

    @property
    def is_full(self):
        """Whether a write has failed."""
        return self.count >= self.number

    def _check(self):
        self.count += 1
        if self.is_full and self.kills:
            raise Killed
        if self.is_full:
            raise OSError(errno.ENOSPC, "No space left on device")

    def _checked(self, function):
        def write(*args, **kwargs):
            self._check()
            return function(*args, **kwargs)

        return write

    def _alive(self, function):
        def remove(*args, **kwargs):
            if self.is_full:
                raise Killed
            return function(*args, **kwargs)

        return remove


def failures(monkeypatch, action, kills=False):
    """Run an action with a disk that is full from the first, second ... write on, until it works.

    Args:
        monkeypatch: pytest's `MonkeyPatch`.
        action: Function of the number of the first write that fails.
        kills: See `FullDisk`.

    Yields:
        That number, after the action failed; finally None, after it worked.
    """
    for number in itertools.count(1):
        with monkeypatch.context() as patch:
            disk = FullDisk(patch, number, kills)
            try:
                action(number)
            except Killed:
                pass
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
            failed = disk.is_full
        yield number if failed else None
        if not failed:
            return
