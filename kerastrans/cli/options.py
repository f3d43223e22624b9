"""Options that several commands share: names, types and help texts, but no default values.

Options that are not given are omitted from the call, so that every default is defined only once.
"""

import argparse
import ast
import math
from pathlib import Path


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


# Arguments of `kerastrans.data.read_table`.
DOOR = {
    "--date-column": {"metavar": "NAME", "help": "date column of the file"},
    "--date-format": {
        "metavar": "FORMAT",
        "help": "format of the dates, such as %%d.%%m.%%Y",
    },
    "--dayfirst": {
        "action": argparse.BooleanOptionalAction,
        "help": "read 03/04/2024 as the third of April, or as the fourth of March",
    },
    "--timezone": {"metavar": "NAME", "help": "time zone of the dates, such as Europe/Berlin"},
    "--columns": {"type": names, "metavar": "A,B", "help": "columns to keep"},
    "--freq": {"metavar": "FREQ", "help": "frequency of the data, such as h, 15min, D, MS"},
}
# Arguments of `read_table`, `read_static` and `read_numbers`, which are inferred if not given.
FORMAT = {
    "--sep": {"metavar": "CHAR", "help": "column separator of the file, such as ; or tab"},
    "--decimal": {"metavar": "CHAR", "help": "decimal sign of the file, . or a comma"},
    "--encoding": {"metavar": "NAME", "help": "encoding of the file, such as cp1250"},
    "--sheet": {"metavar": "NAME", "help": "sheet of an Excel file"},
}
DOOR |= FORMAT
STATIC = {
    "--static": {"type": Path, "metavar": "CSV", "help": "file of unique_id and static covariates"},
}
# Arguments of `kerastrans.Forecaster`.
FORECASTER = {
    "--context-length": {"type": int, "metavar": "STEPS", "help": "number of steps of history"},
    "--prediction-length": {"type": int, "metavar": "STEPS", "help": "number of steps to forecast"},
    "--head": {
        "metavar": "NAME",
        "help": "kind of forecast: quantiles, point, normal, student_t ...",
    },
    "--loss": {
        "metavar": "NAME",
        "help": "replaces the loss of the head; for points smape, mape, mase, mae ...",
    },
    "--scaler": {
        "type": optional,
        "metavar": "NAME",
        "help": "scaling of each window: standard, mean_abs, mase or none",
    },
    "--past": {"type": names, "metavar": "A,B", "help": "covariates known for the past"},
    "--future-columns": {
        "type": names,
        "metavar": "A,B",
        "dest": "future",
        "help": "covariates known in advance",
    },
    "--calendar": {"action": "store_true", "help": "add hour, weekday ... as covariates"},
    "--seed": {"type": int, "metavar": "INT", "help": "seed of weights, order and samples"},
    "--size": {
        "metavar": "NAME",
        "help": "size of the model: laptop, paper, or that of a script, see `kerastrans zoo MODEL`",
    },
    "--set": {
        "type": hyperparameter,
        "action": "append",
        "metavar": "NAME=VALUE",
        "dest": "hyperparameters",
        "help": "a hyperparameter, see `kerastrans zoo MODEL`; may be repeated",
    },
}
# Arguments of `Forecaster.fit`.
FIT = {
    "--epochs": {
        "type": int,
        "metavar": "INT",
        "help": "passes over the windows (default: until the held-out steps stop improving)",
    },
    "--batch-size": {"type": int, "metavar": "INT", "help": "number of windows per training step"},
    "--validation-size": {
        "type": int,
        "metavar": "STEPS",
        "help": "last steps of each series' training part, held out for validation",
    },
    "--window-sampling-limit": {
        "type": int,
        "metavar": "STEPS",
        "help": "train on forecasts that begin in the last STEPS of each series (default: all)",
    },
}
TIME_LIMIT = {
    "--time-limit": {
        "type": positive,
        "metavar": "SECONDS",
        "help": "seconds that the training takes at most, without --epochs (default: 900)",
    },
}
EXCEEDS = {
    "--exceeds": {
        "type": numbers,
        "metavar": "0,5",
        "help": "values; adds the probability of a value above each",
    },
}
LEVELS = {
    "--levels": {"type": numbers, "metavar": "80,95", "help": "percents of the intervals"},
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
    flags = [(flag, option) for table in tables for flag, option in table.items()]
    keys = [option.get("dest", flag[2:].replace("-", "_")) for flag, option in flags]
    return {key: getattr(options, key) for key in keys if hasattr(options, key)}
