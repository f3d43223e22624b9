"""Sentence pairs: translations from a checksummed download, and numbers written out in words."""

from pathlib import Path

import numpy as np

from kerastrans.datasets.sources import find_file
from kerastrans.utils.validation import check_positive_integers, import_extra

# Tatoeba, CC BY 2.0 FR: 5,000 pairs with their attributions.
LOCAL = "fra-eng/eng-fra.txt"
LOCAL_SHA256 = "d952b56a181da5270b7bb4ded3f3bbe61e67a9b1de0e0fbc1d46438c71fb55a7"
# The same source as distributed by Zhang et al., Dive into Deep Learning: 167,130 pairs.
URL = "http://d2l-data.s3-accelerate.amazonaws.com/fra-eng.zip"
URL_HASH = "sha1:94646ad1522d915e7b0f9296181140edcf86a4f5"
MEMBER = "fra-eng/fra.txt"


def load_pairs(limit=None):
    """Load English sentences and their French translations, the shortest first.

    The pairs come from Tatoeba (CC BY 2.0 FR). If KERASTRANS_DATA_DIR names a folder, its file
    fra-eng/eng-fra.txt is read (5,000 pairs). Otherwise the data set of "Dive into Deep Learning"
    is downloaded once (167,130 pairs).

    Args:
        limit: int, number of pairs to return, from the beginning; None for all.

    Returns:
        List of tuples `(english, french)`.

    Raises:
        ValueError: If `limit` is below 1 or the checksum of the file is wrong.
        FileNotFoundError: If the folder KERASTRANS_DATA_DIR does not contain the file.
    """
    if limit is not None:
        check_positive_integers(limit=limit)
    path = find_file(LOCAL, LOCAL_SHA256, URL, URL_HASH, MEMBER)
    lines = Path(path).read_text("utf-8").splitlines()[:limit]
    return [tuple(line.split("\t")[:2]) for line in lines]


def number_pairs(count, limit=100_000, seed=0):
    """Return distinct random numbers below `limit`, written out in English and in French.

    Args:
        count: int, number of pairs.
        limit: int, upper bound of the numbers (exclusive).
        seed: int, seed of the random numbers.

    Returns:
        List of tuples `(english, french)`, such as ("forty-two", "quarante-deux"), in random order.

    Raises:
        ImportError: If the extra `text` is not installed.
        ValueError: If `count` is below 1 or above `limit`.
    """
    check_positive_integers(count=count, limit=limit)
    if count > limit:
        raise ValueError(f"count must be at most limit={limit}, got {count}.")
    num2words = import_extra("num2words", "number_pairs", "text").num2words
    numbers = np.random.default_rng(seed).choice(limit, count, replace=False).tolist()
    return [tuple(num2words(number, lang=lang) for lang in ("en", "fr")) for number in numbers]
