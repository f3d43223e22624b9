"""Archives that others made, unpacked with care."""

import tarfile
import zipfile
from pathlib import Path

from kerastrans.utils.files import first_line, new_folder

MAX_BYTES = 2**28  # that an archive may unpack to
MAX_MEMBERS = 10_000  # files and folders in an archive


def unpack(archive, folder):
    """Unpack a .zip or .tar archive of plain files.

    Args:
        archive: file to read.
        folder: to write, which must not exist.

    Raises:
        FileExistsError: `folder` exists.
        ValueError: no archive, or a damaged one; a path outside the folder, a link or a device in
            it; more than 256 MiB of content, or more than 10,000 files. Nothing is unpacked then.
    """
    try:
        with new_folder(folder) as unfinished:
            if zipfile.is_zipfile(archive):
                with zipfile.ZipFile(archive) as opened:
                    members = ((x.filename, x.file_size, True) for x in opened.infolist())
                    _check_members(archive, members, unfinished)
                    opened.extractall(unfinished)
            else:
                with _open_tar(archive) as opened:
                    # Read one by one: what comes after a declared size too large is not looked at.
                    members = ((x.name, x.size, x.isfile() or x.isdir()) for x in opened)
                    _check_members(archive, members, unfinished)
                    opened.extractall(unfinished, filter="data")
    except Exception as error:  # zlib, lzma, zipfile and tarfile each have their own
        ours = isinstance(error, ValueError | FileExistsError)
        if ours or getattr(error, "errno", None) is not None:  # a full disk is no damage
            raise
        raise ValueError(f"{archive} is damaged: {first_line(error)}.") from None


def _open_tar(archive):
    try:
        return tarfile.open(archive)
    except tarfile.ReadError:
        raise ValueError(f"{archive} is neither a .zip nor a .tar archive.") from None


def _check_members(archive, members, folder):
    folder, total = Path(folder).resolve(), 0
    for count, (name, size, is_plain) in enumerate(members, 1):
        if not is_plain or not (folder / name).resolve().is_relative_to(folder):
            raise ValueError(f"{archive} holds {name!r}, which is not a file inside it.")
        total += size
        if total > MAX_BYTES:
            raise ValueError(f"{archive} unpacks to {total} bytes, at most {MAX_BYTES} are read.")
        if count > MAX_MEMBERS:
            raise ValueError(f"{archive} holds more than {MAX_MEMBERS} files.")
