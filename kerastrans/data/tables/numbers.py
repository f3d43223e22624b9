"""Numbers in text: decimal and thousands signs, inferred and read strictly."""

import pandas as pd

# Words for missing values. They are text in columns of text: "NA" is Namibia.
MISSING = (
    "",
    *("NA", "N/A", "n/a", "<NA>", "#N/A", "NaN", "nan", "-nan", "NULL", "null", "None", "none"),
)
_SPACES = " \u00a0\u202f"
_QUOTES = "'\u2019"
OTHER = {".": ",", ",": "."}
_EXPONENT = r"(?:[eE][+-]?[0-9]+)?"
_SIGN = r"[+\-\u2212]?"


def _grouped(sign, least=1):
    """Return a pattern of digits in groups of three."""
    return rf"[1-9][0-9]{{0,2}}(?:[{sign}][0-9]{{3}}){{{least},}}"


def _certain(decimal):
    """Return a pattern of numbers that only this decimal sign explains."""
    dot, other = f"[{decimal}]", OTHER[decimal]
    digits = "|".join(
        (
            f"[0-9]*{dot}[0-9]{{1,2}}",
            f"[0-9]*{dot}[0-9]{{4,}}",
            f"[0-9]+{dot}",
            f"(?:0[0-9]*|[0-9]{{4,}})?{dot}[0-9]{{3}}",
        )
    )
    signs = "|".join(rf"{_grouped(x)}{dot}[0-9]*" for x in (other, _SPACES, _QUOTES))
    tiny = rf"[0-9]*{dot}[0-9]+[eE][+-]?[0-9]+"
    return rf"{_SIGN}(?:{digits}|{tiny}|{signs}|{_grouped(other, 2)})"


def _either(sign):
    """Return a pattern of numbers whose sign can be a decimal or a thousands sign, like 1.234."""
    return rf"{_SIGN}[1-9][0-9]{{0,2}}[{sign}][0-9]{{3}}"


def _valid(decimal):
    """Return a pattern of the numbers with this decimal sign."""
    groups = "|".join(_grouped(x) for x in (OTHER[decimal], _SPACES, _QUOTES))
    return rf"{_SIGN}(?:(?:{groups}|[0-9]+)(?:[{decimal}][0-9]*)?|[{decimal}][0-9]+){_EXPONENT}"


def _count_certain(cells):
    """Return the number of cells that only one decimal sign explains, a dict by the sign."""
    return {sign: int(cells.str.fullmatch(_certain(sign)).sum()) for sign in OTHER}


def certain_decimal(cells):
    """Return the decimal sign of most of some cells, a list of str; None if each can be either."""
    counts = _count_certain(pd.Series(cells, dtype="str").str.strip())
    return max(counts, key=counts.get) if any(counts.values()) else None


def infer_decimal(columns, sep, expected, faults):
    """Return the decimal sign of columns of text, or None if no cell has one.

    Args:
        columns: List of Series of str.
        sep: Separator of the columns; with commas, the decimal sign of 1.234 is the point.
        expected: Decimal sign of related files, which decides if both are possible; or None.
        faults: `Faults`.
    """
    counts = dict.fromkeys(OTHER, 0)
    unclear = {}
    for column in columns:
        cells = column.dropna().str.strip()
        for sign, count in _count_certain(cells).items():
            counts[sign] += count
            found = cells[cells.str.fullmatch(_either(sign)).fillna(False).astype(bool)]
            if len(found):
                unclear.setdefault(sign, (column.name, found.index[0], found.iloc[0]))
    if any(counts.values()):
        return max(counts, key=counts.get)
    if not unclear or expected is not None:
        return expected
    if sep == "," and "," not in unclear:
        return "."
    sign, (name, line, text) = next(iter(unclear.items()))
    faults.add_lines(
        [line],
        lambda _: (
            f"column {name!r} can be read in two ways, {text!r} as {text.replace(sign, '.')} or as "
            f"{text.replace(sign, '')}: give decimal='.' or decimal=','."
        ),
    )
    faults.check()
    return None


def to_numbers(cells, decimal):
    """Return the numbers of cells `(rows,)`, float64, and which cells are not numbers.

    Args:
        cells: Series of str; missing cells and `MISSING` become NaN.
        decimal: Decimal sign. Groups of three digits may be separated by the other sign, spaces or
            apostrophes.

    Example:
        >>> to_numbers(pd.Series(["1.234,5", "12.3", "NA"]), ",")[0].tolist()
        [1234.5, nan, nan]
    """
    texts = cells.astype("str").str.strip()
    is_missing = texts.isna() | texts.isin(MISSING)
    is_number = texts.str.fullmatch(_valid(decimal)).fillna(False).astype(bool)
    is_infinite = texts.str.lower().str.fullmatch(r"[+-]?inf(?:inity)?").fillna(False).astype(bool)
    plain = texts.where(is_number | is_infinite)
    if is_number.any():
        plain = plain.str.replace(rf"[{OTHER[decimal]}{_SPACES}{_QUOTES}]", "", regex=True)
        plain = plain.str.replace("\u2212", "-").str.replace(decimal, ".", regex=False)
    numbers = pd.to_numeric(plain, errors="coerce").astype("float64")
    return numbers, ~(is_missing | is_number | is_infinite).to_numpy()
