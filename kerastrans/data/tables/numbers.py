"""Numbers in text: decimal and thousands signs, inferred and read strictly."""

import numpy as np
import pandas as pd

# Words for missing values, but not among ids: "NA" is Namibia.
MISSING = ("", "?", "-", "--", ".", "NA", "N/A", "n/a", "<NA>", "#N/A", "-nan")
MISSING += ("NaN", "NAN", "nan", "NULL", "Null", "null", "NONE", "None", "none")
_SPACES = " \u00a0\u202f"
_QUOTES = "'\u2019"
OTHER = {".": ",", ",": "."}
_EXPONENT = r"(?:[eE][+-]?[0-9]+)?"
_SIGN = r"[+\-\u2212]?"
MIN_CODES = 3  # number of equal values that can be a code for missing ones


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


def _without_units(cells):
    """Return text without blanks, signs of a currency before or after it, and percent signs."""
    cells = cells.str.strip()
    if cells.str.contains("[$€£¥%]").any():
        cells = cells.str.replace(rf"^({_SIGN})\s*[$€£¥]\s*", r"\1", regex=True)
        cells = cells.str.replace(r"\s*[$€£¥%]$", "", regex=True)
    return cells


def _count_certain(cells):
    """Return the number of cells that only one decimal sign explains, a dict by the sign."""
    return {sign: int(cells.str.fullmatch(_certain(sign)).sum()) for sign in OTHER}


def certain_decimal(cells):
    """Return the decimal sign of most of some cells, a list of str; None if each can be either."""
    counts = _count_certain(_without_units(pd.Series(cells, dtype="str")))
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
        cells = _without_units(column.dropna())
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
    texts = _without_units(cells.astype("str"))
    is_missing = texts.isna() | texts.isin(MISSING)
    is_number = texts.str.fullmatch(_valid(decimal)).fillna(False).astype(bool)
    is_infinite = texts.str.lower().str.fullmatch(r"[+-]?inf(?:inity)?").fillna(False).astype(bool)
    plain = texts.where(is_number | is_infinite)
    if is_number.any():
        plain = plain.str.replace(rf"[{OTHER[decimal]}{_SPACES}{_QUOTES}]", "", regex=True)
        plain = plain.str.replace("\u2212", "-").str.replace(decimal, ".", regex=False)
    numbers = pd.to_numeric(plain, errors="coerce").astype("float64")
    return numbers, ~(is_missing | is_number | is_infinite).to_numpy()


def find_codes(frame):
    """Return the columns of numbers with a likely code for missing values, such as -200 or 9999.

    A code is a negative number, or one of nines, that occurs several times as the least or the
    greatest value, farther from all others than these are from each other and from 0.

    Args:
        frame: DataFrame of numbers.

    Returns:
        List of the name of a column, the code, its count, and the range of the other values.

    Example:
        >>> find_codes(pd.DataFrame({"co": [2.0, -200, 1, -200, 3, -200], "load": [99, 98] * 3}))
        [('co', -200.0, 3, (1.0, 3.0))]
    """
    found = []
    for least, code in ((True, frame.min()), (False, frame.max())):
        is_code = (code < 0) & (code % 1 == 0) if least else code.isin(10.0 ** np.arange(2, 8) - 1)
        for name in code.index[is_code.to_numpy(bool, na_value=False)]:
            others = frame[name][frame[name] != code[name]].dropna()
            count = int((frame[name] == code[name]).sum())
            if count < MIN_CODES or others.empty:
                continue
            low, high = float(others.min()), float(others.max())
            distance = low - code[name] if least else code[name] - high
            if distance > max(high - low, abs(low), abs(high)):
                found.append((name, float(code[name]), count, (low, high)))
    return found
