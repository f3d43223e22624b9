"""Locating published weights: in a folder, or by a name on the Hugging Face hub."""

import os
import re
from pathlib import Path

from kerastrans.models.pretrained.checkpoint import CONFIG, WEIGHTS
from kerastrans.models.pretrained.licences import UNKNOWN, card_of, read_licence, suggestion
from kerastrans.utils.files import first_line, sha256_of
from kerastrans.utils.validation import import_extra

NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
TEXTS = [CONFIG, "README.md"]  # downloaded and checked before the weights


def resolve_hub_name(source, revision=None):
    """Return the folder of published weights, and their card.

    The weights of a name are downloaded once and cached.

    Args:
        source: Folder, or a name such as "amazon/chronos-bolt-small".
        revision: str, commit, branch or tag of a name; the newest commit by default.

    Returns:
        The folder, a Path, and the card, a dict: see `licences.card_of`, with "name", "sha256" of
        the weights and, for a name, the commit as "revision".

    Raises:
        FileNotFoundError: If there is no such folder, and no such name on the hub or in its cache.
        ImportError: If `source` is a name and `huggingface_hub` is not installed.
        ValueError: If the licence forbids the use, or a revision is given for a folder.
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
        raise FileNotFoundError(
            f"{source} is neither a folder nor a name on the hub: {suggestion(name)}"
        )
    licence = read_licence(folder, name)
    if card["licence"] == UNKNOWN and licence:
        card["licence"] = licence
    if "revision" in card:
        folder = download(name, card["revision"], [*TEXTS, WEIGHTS])
    if (folder / WEIGHTS).is_file():
        card["sha256"] = sha256_of(folder / WEIGHTS)
    return folder, card


def download(name, revision, patterns):
    """Download the files that match the patterns, and return their folder in the hub's cache.

    The folder is named after the commit.

    Raises:
        FileNotFoundError: If the name or revision does not exist, or there is neither a network
            connection nor a cached copy.
        ImportError: If `huggingface_hub` is not installed.
    """
    hub = import_extra("huggingface_hub", f"to download {name}", "hub")
    # The hub reads this variable once, when it is imported.
    options = {"endpoint": os.environ.get("HF_ENDPOINT"), "allow_patterns": patterns}
    try:
        return Path(hub.snapshot_download(name, revision=revision, **options))
    # Errors of the network, the hub and the file system have no common base class.
    except Exception as error:
        raise FileNotFoundError(
            f"{name} is not a folder, and it cannot be read from the hub or its cache: "
            f"{first_line(error).rstrip('.')}. Without a network, put config.json and "
            f"{WEIGHTS} from huggingface.co/{name} into a folder, and give its path."
        ) from error
