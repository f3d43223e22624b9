"""Where published weights are: a folder, or a name on the Hugging Face hub."""

import os
import re
from pathlib import Path

import pooch

from kerastrans.models.pretrained.checkpoint import CONFIG, WEIGHTS
from kerastrans.models.pretrained.licences import UNKNOWN, card_of, read_licence, suggestion
from kerastrans.utils.files import first_line
from kerastrans.utils.validation import import_extra

NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
TEXTS = [CONFIG, "README.md"]  # read before the weights are


def locate(source, revision=None):
    """The folder of published weights, and their card; a name is downloaded once, and kept.

    Args:
        source: Folder, or a name such as "amazon/chronos-bolt-small".
        revision: str, commit, branch or tag of a name; its newest commit by default.

    Returns:
        A Path and a dict, see `licences.card_of`, with "name", "sha256"
        of the weights and, of a name, "revision", the commit.

    Raises:
        FileNotFoundError: There is no such folder, and no such name on the hub or in its cache.
        ImportError: A name, and no `huggingface_hub`.
        ValueError: A licence that forbids; a revision of a folder.
    """
    folder, name = Path(source), str(source)
    if folder.is_dir():
        if revision is not None:
            raise ValueError(f"a folder has no revision, got revision={revision!r} of {folder}.")
        name = folder.resolve().name
        card = dict.fromkeys(("licence", "source", "trained_on"), UNKNOWN)
        card = {"name": name, **card}
    elif NAME.fullmatch(name):
        card = {"name": name, **card_of(name)}
        folder = download(name, revision, TEXTS)
        card["revision"] = folder.name
    else:
        raise FileNotFoundError(f"{source} is no folder and no name on the hub: {suggestion(name)}")
    licence = read_licence(folder, name)
    if card["licence"] == UNKNOWN and licence:
        card["licence"] = licence
    if "revision" in card:
        folder = download(name, card["revision"], [*TEXTS, WEIGHTS])
    if (folder / WEIGHTS).is_file():
        card["sha256"] = pooch.file_hash(str(folder / WEIGHTS), alg="sha256")
    return folder, card


def download(name, revision, patterns):
    """The folder in the hub's cache, named after the commit, with the files of these patterns.

    Raises:
        FileNotFoundError: No such name or revision, or no network and no copy of it.
        ImportError: No `huggingface_hub`.
    """
    hub = import_extra("huggingface_hub", f"to download {name}", "hub")
    # The hub reads this variable once, when it is imported.
    options = {"endpoint": os.environ.get("HF_ENDPOINT"), "allow_patterns": patterns}
    try:
        return Path(hub.snapshot_download(name, revision=revision, **options))
    except Exception as error:  # of the network, the hub and the file system: they have no base
        raise FileNotFoundError(
            f"{name} is no folder, and it cannot be read from the hub or its cache: "
            f"{first_line(error)}."
        ) from error
