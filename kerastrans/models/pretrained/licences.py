"""Cards of published weights: licence, source and training data."""

import difflib
import functools
import re
import tomllib
from fnmatch import fnmatch
from importlib.resources import files
from pathlib import Path

import yaml

from kerastrans.utils.files import first_line

UNKNOWN = "not published"
EXAMPLE = "amazon/chronos-bolt-small"
FORBIDDING = re.compile(r"non-?commercial|(^|-)nc(-|$)|research-only", re.IGNORECASE)
MAX_README_LENGTH = 2**20  # in characters


def known_names():
    """Return the names on the hub that have a known card."""
    return sorted(name for family in _cards()["known"] for name in family["sizes"])


def card_of(name):
    """Return the card of a name on the hub: a dict of "licence", "source", "trained_on", "size".

    Unknown entries are "not published". The card of a known name also has "seen", "not_seen" and
    "unknown", lists of the names of `kerastrans.datasets` by whether the weights were trained on
    them; and "seen_source", the source of that information, see
    `forecasting.inference.contamination`.

    Raises:
        ValueError: If the licence of the weights forbids their use here.

    Example:
        >>> card_of("amazon/chronos-bolt-small")["licence"]
        'Apache-2.0'
    """
    for family in _cards()["refused"]:
        if any(fnmatch(name.lower(), pattern.lower()) for pattern in family["names"]):
            raise ValueError(f"{name} is not loaded: it is under {family['licence']}.")
    card = dict.fromkeys(("licence", "source", "trained_on", "size"), UNKNOWN)
    for family in _cards()["known"]:
        if name in family["sizes"]:
            stated = {key: value for key, value in family.items() if key != "sizes"}
            card |= {**stated, "size": family["sizes"][name]}
    return card


def read_licence(folder, name):
    """Return the licence that the metadata of a folder's README.md states, or None.

    Raises:
        ValueError: It forbids commercial use, or the metadata cannot be read.
    """
    path = Path(folder) / "README.md"
    if not path.is_file():
        return None
    with path.open(encoding="utf-8", errors="replace") as file:
        head = re.match(r"---\s*\n(.*?)\n---", file.read(MAX_README_LENGTH), re.DOTALL)
    try:
        stated = yaml.safe_load(head[1]) if head else {}
        if not isinstance(stated, dict):
            raise yaml.YAMLError("its metadata are not a mapping")
    except yaml.YAMLError as error:
        raise ValueError(
            f"{name} is not loaded: the metadata of its README.md cannot be read, so its licence "
            f"is not known ({first_line(error)})."
        ) from None
    # Both keys count, and each may hold several licences.
    values = [stated.get(key) for key in ("license_name", "license")]
    values = [x for value in values for x in (value if isinstance(value, list) else [value])]
    licences = [str(x).strip() for x in values if x]
    licence = licences[0] if licences else None
    if any(map(FORBIDDING.search, licences)):
        raise ValueError(
            f"{name} is not loaded: its README.md states the licence {', '.join(licences)}, which "
            "forbids commercial use."
        )
    return licence


def suggestion(source):
    """Return the hint of an error about an unknown source: the nearest name, or an example."""
    short = {name.rpartition("/")[2]: name for name in reversed(known_names())}
    name = str(source).rpartition("/")[2].lower()
    near = difflib.get_close_matches(name, short, n=1) or [x for x in short if name in x.lower()]
    return f"did you mean {short[near[0]]!r}?" if near else f"give one such as {EXAMPLE!r}."


def summary(card):
    """Return a card as one line of text."""
    revision = f" at {card['revision'][:8]}" if "revision" in card else ""
    options = ", ".join(f"{name}={value}" for name, value in card.get("options", {}).items())
    options = f" with {options}" if options else ""
    tuned = card["trainable_parameters"]
    trained = f", {tuned:,} of them trained by fit" if tuned != card["parameters"] else ""
    return (
        f"{card['name']}{revision}{options}: licence {card['licence']}; "
        f"{card['parameters']:,} parameters{trained}; "
        f"trained on {card['trained_on'].partition(';')[0]}."
    )


@functools.cache
def _cards():
    text = files(__package__).joinpath("cards.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
