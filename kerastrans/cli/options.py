"""The options that commands share: names, types and help, and nothing of their defaults.

What is not given is left to the function that takes it, so that no default is written twice.
"""

import argparse
import ast
import math
from pathlib import Path


def names(text):
    """Names between commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def percents(text):
    """Numbers between commas."""
    return [float(number) if "." in number else int(number) for number in names(text)]


def finite(text):
    """A number that is neither NaN nor infinite."""
    return _number(text, float, math.isfinite, "a finite number")


def positive(text):
    """A finite number above 0."""
    return _number(text, float, lambda number: 0 < number < math.inf, "a number above 0")


def port(text):
    """A port, 0 for any that is free."""
    return _number(text, int, lambda number: 0 <= number < 2**16, "a port from 0 to 65535")


def _number(text, kind, is_valid, wanted):
    try:
        number = kind(text)
        if is_valid(number):
            return number
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"expected {wanted}, got {text!r}")


def optional(text):
    """A name, or None."""
    return None if text.lower() == "none" else text


def hyperparameter(text):
    """A pair of a name and a value of Python, or else a text."""
    name, sign, value = text.partition("=")
    if not sign or not name.isidentifier():
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, got {text!r}")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


# How a CSV file is read, see `kerastrans.data.read_csv`.
DOOR = {
    "--date-column": {"metavar": "NAME", "help": "its date column"},
    "--date-format": {
        "metavar": "FORMAT",
        "help": "how its dates are written, such as %%d.%%m.%%Y",
    },
    "--dayfirst": {"action": "store_true", "help": "03/04/2024 is the third of April"},
    "--columns": {"type": names, "metavar": "A,B", "help": "the columns to keep"},
    "--freq": {"metavar": "FREQ", "help": "its frequency, such as h, 15min, D, MS"},
    "--sep": {"metavar": "CHAR", "help": "what separates its columns"},
    "--decimal": {"metavar": "CHAR", "help": "its decimal point"},
}
STATIC = {
    "--static": {"type": Path, "metavar": "CSV", "help": "unique_id and static covariates"},
}
# Of `kerastrans.Forecaster`.
FORECASTER = {
    "--context-length": {"type": int, "metavar": "STEPS", "help": "steps of history"},
    "--prediction-length": {"type": int, "metavar": "STEPS", "help": "steps to forecast"},
    "--head": {
        "metavar": "NAME",
        "help": "what is forecast: quantiles, point, normal, student_t ...",
    },
    "--loss": {
        "metavar": "NAME",
        "help": "in place of the head's own: of points smape, mape, mase, mae ...",
    },
    "--scaler": {
        "type": optional,
        "metavar": "NAME",
        "help": "how each window is scaled: standard, mean_abs, mase or none",
    },
    "--past": {"type": names, "metavar": "A,B", "help": "covariates known for the past"},
    "--future-columns": {
        "type": names,
        "metavar": "A,B",
        "dest": "future",
        "help": "covariates known ahead too",
    },
    "--calendar": {"action": "store_true", "help": "hour, weekday ... are covariates"},
    "--seed": {"type": int, "metavar": "INT", "help": "of weights, order and samples"},
    "--set": {
        "type": hyperparameter,
        "action": "append",
        "metavar": "NAME=VALUE",
        "dest": "hyperparameters",
        "help": "a hyperparameter, see `kerastrans zoo MODEL`; may be repeated",
    },
}
# Of its `fit`.
FIT = {
    "--epochs": {
        "type": int,
        "metavar": "INT",
        "help": "passes over the windows (default: until the held-out steps stop improving)",
    },
    "--batch-size": {"type": int, "metavar": "INT", "help": "windows in a training step"},
    "--validation-size": {
        "type": int,
        "metavar": "STEPS",
        "help": "last steps of each series' training part, held out for the validation loss",
    },
    "--window-sampling-limit": {
        "type": int,
        "metavar": "STEPS",
        "help": "last steps of each series in which the forecasts begin that train (default: all)",
    },
}
LEVELS = {
    "--levels": {"type": percents, "metavar": "80,95", "help": "percents of the intervals"},
}


def add_options(parser, *tables):
    """Add options that are absent where they are not given.

    Args:
        parser: `argparse.ArgumentParser`.
        *tables: dicts of option -> arguments of `add_argument`.
    """
    for table in tables:
        for flag, option in table.items():
            parser.add_argument(flag, default=argparse.SUPPRESS, **option)


def given(options, *tables):
    """Dict of what was given of some tables, by the names of the function's arguments."""
    flags = [(flag, option) for table in tables for flag, option in table.items()]
    keys = [option.get("dest", flag[2:].replace("-", "_")) for flag, option in flags]
    return {key: getattr(options, key) for key in keys if hasattr(options, key)}
