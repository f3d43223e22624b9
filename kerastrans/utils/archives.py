"""Safe unpacking of archives from untrusted sources."""

import tarfile
import zipfile
from pathlib import Path

from kerastrans.utils.files import first_line, new_folder

MAX_BYTES = 2**28  # total size of the unpacked files
MAX_MEMBERS = 10_000  # number of files and folders in an archive


def unpack(archive, folder):
    """Unpack a .zip or .tar archive of plain files.

    Args:
        archive: Path of the archive.
        folder: Path of the folder to create, which must not exist.

    Raises:
        FileExistsError: If `folder` exists.
        ValueError: If the file is not an archive or is damaged; if it contains a path outside the
            folder, a link or a device; or if it has more than 256 MiB of content or more than
            10,000 files. Nothing is unpacked then.
    """
    try:
        with new_folder(folder) as unfinished:
            # A .tar of a .keras file ends like a .zip, so that its kind is asked first.
            if not tarfile.is_tarfile(archive) and zipfile.is_zipfile(archive):
                with zipfile.ZipFile(archive) as opened:
                    members = ((x.filename, x.file_size, True) for x in opened.infolist())
                    _check_members(archive, members, unfinished)
                    opened.extractall(unfinished)
            else:
                with _open_tar(archive) as opened:
                    # Lazily, so that nothing after a declared size that is too large is read.
                    members = ((x.name, x.size, x.isfile() or x.isdir()) for x in opened)
                    _check_members(archive, members, unfinished)
                    opened.extractall(unfinished, filter="data")
    except Exception as error:  # zlib, lzma, zipfile and tarfile have separate exceptions
        is_known = isinstance(error, ValueError | FileExistsError)
        if is_known or getattr(error, "errno", None) is not None:  # e.g. the disk is full
            raise
        raise ValueError(f"{archive} is damaged: {first_line(error)}.") from None


def _open_tar(archive):
    """Open a .tar archive; raise ValueError if the file is something else."""
    try:
        return tarfile.open(archive)
    except tarfile.ReadError:
        raise ValueError(f"{archive} is neither a .zip nor a .tar archive.") from None


def _check_members(archive, members, folder):
    """Raise ValueError for unsafe paths, links, devices, or too much content."""
    folder, total = Path(folder).resolve(), 0
    for count, (name, size, is_plain) in enumerate(members, 1):
        if not is_plain or not (folder / name).resolve().is_relative_to(folder):
            raise ValueError(f"{archive} contains {name!r}, which is not a file inside it.")
        total += size
        if total > MAX_BYTES:
            raise ValueError(f"{archive} unpacks to {total} bytes, the limit is {MAX_BYTES}.")
        if count > MAX_MEMBERS:
            raise ValueError(f"{archive} contains more than {MAX_MEMBERS} files.")
