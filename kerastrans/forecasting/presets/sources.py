"""Sources of presets: the package, folders, archives, URLs and the Hugging Face hub."""

import contextlib
import tempfile
from pathlib import Path

from kerastrans.forecasting.inference.preset_files import CARD, CONTENT, README, check_sha256
from kerastrans.models.pretrained.checkpoint import WEIGHTS
from kerastrans.models.pretrained.shipped import FOLDER
from kerastrans.utils.files import sha256_of, unpack
from kerastrans.utils.validation import suggest

HUB = "hf://"  # prefix of names on the Hugging Face hub


def names():
    """Return the names of the installed presets."""
    return sorted(path.parent.name for path in FOLDER.glob(f"*/{CARD}"))


def published_names():
    """Return the names of the published weights in the package, see `from_pretrained`."""
    return sorted(path.parent.name for path in FOLDER.glob(f"*/{WEIGHTS}"))


@contextlib.contextmanager
def open_preset(source, checksum=None, revision=None, verbose=False):
    """Yield the local folder of a preset, which may be temporary, see `zoo.from_preset`."""
    if revision is not None and not source.startswith(HUB):
        raise ValueError(f"revision requires a name on the hub ({HUB}user/name), got {source!r}.")
    if source.startswith(HUB):
        yield _download(source, checksum, revision, verbose)
        return
    if "://" in source:
        if checksum is None:
            raise ValueError(f"a URL requires a checksum: pass the sha256 of {source}.")
        import pooch

        source = pooch.retrieve(source, f"sha256:{checksum}", path=pooch.os_cache("kerastrans"))
    if not Path(source).is_file():
        folder = resolve_preset(source)
        check_sha256(folder / CARD, checksum)  # as of the hub
        yield folder
        return
    check_sha256(source, checksum)
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent, "preset")
        unpack(source, folder)
        if (folder / "model.weights.h5").is_file():
            raise ValueError(
                f"{source} is only a Keras model: pass a preset, or the folder that "
                "`Forecaster.save` wrote."
            )
        cards = sorted(folder.glob(f"**/{CARD}"))
        if len(cards) != 1:
            raise ValueError(f"{source} must contain one preset, it contains {len(cards)} {CARD}.")
        yield cards[0].parent


def resolve_preset(source):
    """Return the given folder, or that of an installed preset.

    Raises:
        ValueError: If the name is unknown, or the folder is not a preset.
    """
    if not str(source):
        raise ValueError("give the name or the folder of a preset, got ''.")
    for folder in (Path(source), FOLDER / source):  # as `from_pretrained`
        if (folder / CARD).is_file():
            return folder
    if Path(source, "forecaster.json").is_file():
        raise ValueError(f"{source} is a forecaster, not a preset: load it with `Forecaster.load`.")
    if source in published_names():
        raise ValueError(f"{source} is not a preset: load it with `kerastrans.from_pretrained`.")
    if Path(source).is_dir():
        raise ValueError(f"{source} is not a preset: it has no {CARD}.")
    raise ValueError(
        f"unknown preset {source!r}: {suggest(source, [*names(), *published_names()])}"
    )


def hub_name(source):
    """Return the "user/name" of "hf://user/name".

    Raises:
        ValueError: If `source` does not have this form.
    """
    from kerastrans.models.pretrained.hub import NAME  # imports Keras

    name = str(source).removeprefix(HUB)
    if not str(source).startswith(HUB) or not NAME.fullmatch(name):
        raise ValueError(f"a name on the hub must be {HUB}user/name, got {str(source)!r}.")
    return name


def _download(source, checksum, revision, verbose):
    """Download a preset into the cache of the hub; return its folder.

    The card is downloaded first, so that the other files are not if a check refuses it. If
    `verbose`, the licence, the commit and the checksum are printed.
    """
    from kerastrans.models.pretrained.hub import download
    from kerastrans.models.pretrained.licences import read_licence

    name = hub_name(source)
    folder = download(name, revision, [CARD, README])
    if not (folder / CARD).is_file():
        raise ValueError(f"{source} is not a preset: it has no {CARD}.")
    check_sha256(folder / CARD, checksum)
    licence = read_licence(folder, name) or "not stated"
    commit = folder.name
    folder = download(name, commit, [CARD, README, *CONTENT])
    if verbose:
        pins = f"revision={commit!r}, checksum={sha256_of(folder / CARD)!r}"
        print(f"{source}: licence {licence}; {pins}.")
    return folder
