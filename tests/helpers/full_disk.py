"""A disk that is full from the k-th write on."""

import builtins
import errno
import io
import itertools
import os


class FullDisk:
    """Lets every write from the k-th one on fail with ENOSPC.

    Writes are those of the operating system: the chunks of a buffered file, new folders, and
    renamed files.

    Args:
        monkeypatch: pytest's `MonkeyPatch`.
        number: int, number of the first write that fails, from 1.
    """

    def __init__(self, monkeypatch, number):
        self.number, self.count = number, 0
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

    @property
    def is_full(self):
        """Whether a write has failed."""
        return self.count >= self.number

    def _check(self):
        self.count += 1
        if self.is_full:
            raise OSError(errno.ENOSPC, "No space left on device")

    def _checked(self, function):
        def write(*args, **kwargs):
            self._check()
            return function(*args, **kwargs)

        return write


def failures(monkeypatch, action):
    """Run an action with a disk that is full from the first, second ... write on, until it works.

    Args:
        monkeypatch: pytest's `MonkeyPatch`.
        action: Function of the number of the first write that fails.

    Yields:
        That number, after the action failed; finally None, after it worked.
    """
    for number in itertools.count(1):
        with monkeypatch.context() as patch:
            disk = FullDisk(patch, number)
            try:
                action(number)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
            failed = disk.is_full
        yield number if failed else None
        if not failed:
            return
