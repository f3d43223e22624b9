"""Options that several commands share: names, types and help texts, but no default values.

Options that are not given are omitted from the call, so that every default is defined only once.
"""

import argparse
import ast
import math
from pathlib import Path

DEFAULT = "kerastrans_zero_2"  # the published weights that forecast if nothing else is named


# Types of options. argparse shows their names to the user: "invalid numbers value: 'x'".
def names(text):
    """Parse names separated by commas, at least one."""
    found = [name.strip() for name in text.split(",")]
    if not all(found):
        raise argparse.ArgumentTypeError(f"expected names separated by commas, got {text!r}")
    return found


def numbers(text):
    """Parse finite numbers separated by commas, at least one."""
    try:
        found = [float(number) for number in text.split(",")]
    except ValueError:
        found = [math.nan]
    if not all(map(math.isfinite, found)):
        raise argparse.ArgumentTypeError(f"expected numbers separated by commas, got {text!r}")
    return [int(number) if number.is_integer() else number for number in found]


def finite(text):
    """Parse a number that is neither NaN nor infinite."""
    return _number(text, float, math.isfinite, "a finite number")


def positive(text):
    """Parse a finite number above 0."""
    return _number(text, float, lambda number: 0 < number < math.inf, "a number above 0")


def port(text):
    """Parse a port, or 0 for any free port."""
    return _number(text, int, lambda number: 0 <= number < 2**16, "a port from 0 to 65535")


def _number(text, kind, is_valid, expected):
    """Parse a number of this type; `expected` describes valid numbers in the error."""
    try:
        number = kind(text)
        if is_valid(number):
            return number
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"expected {expected}, got {text!r}")


def optional(text):
    """Parse a name, or "none" as None."""
    return None if text.lower() == "none" else text


def bounds(text):
    """Parse LOW,HIGH, each a number, the name of a column, or nothing."""
    ends = [x.strip() or None for x in text.split(",")]
    if len(ends) != 2 or ends == [None, None]:
        raise argparse.ArgumentTypeError(f"expected LOW,HIGH such as 0, got {text!r}")
    return tuple(x and hyperparameter(f"bound={x}")[1] for x in ends)


def texts(text):
    """Parse NAME=A,B, a column and its texts."""
    name, sign, values = text.partition("=")
    if not sign or not name:
        raise argparse.ArgumentTypeError(f"expected NAME=A,B, got {text!r}")
    return name, names(values)


def hyperparameter(text):
    """Parse NAME=VALUE, with a Python literal or otherwise a str as the value."""
    name, sign, value = text.partition("=")
    if not sign or not name.isidentifier():
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, got {text!r}")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


# Kinds of values, for `option`.
NAME = {"metavar": "NAME"}
CHARACTER = {"metavar": "CHAR"}
COUNT = {"type": int, "metavar": "INT"}
STEPS = {"type": int, "metavar": "STEPS"}
SECONDS = {"type": positive, "metavar": "SECONDS"}
COLUMNS = {"type": names, "metavar": "A,B"}
LISTED = {"metavar": "A,B"}  # read_table separates them, since a name may contain a comma
FILE = {"type": Path, "metavar": "CSV"}
PAIRS = {"type": hyperparameter, "action": "append", "metavar": "NAME=VALUE"}
FLAG = {"action": "store_true"}


def option(text, kind=NAME, **others):
    """Return the arguments of `add_argument` for an option with this help text."""
    return {**kind, "help": text, **others}


# Arguments of `read_table`, `read_static` and `read_numbers`, which are inferred if not given.
FORMAT = {
    "--exclude": option("columns of the file to leave out", LISTED),
    "--missing": option("words and numbers of the file for missing values", LISTED),
    "--sep": option("column separator of the file, such as ; or tab", CHARACTER),
    "--decimal": option("decimal sign of the file, . or a comma", CHARACTER),
    "--encoding": option("encoding of the file, such as cp1250"),
    "--sheet": option("sheet of an Excel file"),
}
# Arguments of `kerastrans.data.read_table`.
DOOR = {
    "--id-column": option("column of the file that identifies the series, or several", LISTED),
    "--target": option("column of the values (default: y if the file has ids, otherwise all)"),
    "--date-column": option(
        "date column of the file, or several: date,hour or year,month,day", LISTED
    ),
    "--date-format": option("format of the dates, such as %%d.%%m.%%Y", metavar="FORMAT"),
    "--dayfirst": option(
        "read 03/04/2024 as the third of April, or as the fourth of March",
        {"action": argparse.BooleanOptionalAction},
    ),
    "--timezone": option("time zone of the dates, such as Europe/Berlin"),
    "--columns": option("columns to keep", COLUMNS),
    "--freq": option("frequency of the data, such as h, 15min, D, MS", metavar="FREQ"),
    "--skip-rows": option("number of lines of the file before its header", COUNT),
    **FORMAT,
}
STATIC = {"--static": option("file of ids, as in the data, and static covariates", FILE)}
BOUNDS = {
    "--bounds": option(
        "limits of the values, numbers or columns of --future: 0, for what is never negative",
        type=bounds,
        metavar="LOW,HIGH",
    )
}
HORIZON = {"--prediction-length": option("number of steps to forecast", STEPS)}
# Arguments of `kerastrans.Forecaster`.
FORECASTER = {
    "--context-length": option("number of steps of history", STEPS),
    **HORIZON,
    "--head": option("kind of forecast: quantiles, point, normal, student_t ..."),
    "--loss": option("replaces the loss of the head; for points smape, mape, mase, mae ..."),
    "--scaler": option("scaling of each window: standard, mean_abs, mase or none", type=optional),
    "--past": option("covariates known for the past", COLUMNS),
    "--future-columns": option("covariates known in advance", COLUMNS, dest="future"),
    **BOUNDS,
    "--calendar": option("add hour, weekday ... as covariates", FLAG),
    "--seed": option("seed of weights, order and samples", COUNT),
    "--size": option(
        "size of the model: laptop, paper, or that of a script, see `kerastrans zoo MODEL`"
    ),
    "--set": option(
        "a hyperparameter, see `kerastrans zoo MODEL`; may be repeated",
        PAIRS,
        dest="hyperparameters",
    ),
}
# Fields of `kerastrans.Training`.
FIT = {
    "--epochs": option(
        "passes over the windows (default: until the held-out steps stop improving)", COUNT
    ),
    "--batch-size": option("number of windows per training step", COUNT),
    "--validation-size": option(
        "last steps of each series' training part, held out for validation", STEPS
    ),
    "--window-sampling-limit": option(
        "train on forecasts that begin in the last STEPS of each series (default: all)", STEPS
    ),
}
TIME_LIMIT = {
    "--time-limit": option(
        "seconds that the training takes at most, without --epochs (default: 900)", SECONDS
    )
}
EXISTS = {
    "--if-exists": option(
        "what to do if an output exists: error (default) or replace",
        {"choices": ("error", "replace")},
    )
}


def replaces(options):
    """Return whether the command may replace its outputs."""
    return getattr(options, "if_exists", "error") == "replace"


LEVELS = {"--levels": option("percents of the intervals", type=numbers, metavar="80,95")}
EXCEEDS = {
    "--exceeds": option(
        "values; adds the probability of a value above each", type=numbers, metavar="0,5"
    )
}


def add_options(parser, *tables):
    """Add options that are absent from the namespace unless they are given.

    Args:
        parser: `argparse.ArgumentParser`.
        *tables: Dicts of option -> arguments of `add_argument`.
    """
    for table in tables:
        for flag, option in table.items():
            parser.add_argument(flag, default=argparse.SUPPRESS, **option)


def given(options, *tables):
    """Return a dict of the options of some tables that were given, by argument name."""
    keys = [key for table in tables for key in flags(table)]
    return {key: getattr(options, key) for key in keys if hasattr(options, key)}


def flags(table):
    """Return a dict of the argument names of a table's options -> the options."""
    return {x.get("dest", flag[2:].replace("-", "_")): flag for flag, x in table.items()}
