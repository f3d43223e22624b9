"""Entry point of the command line. Heavy imports happen in commands, so that `--help` is fast."""

import argparse
import functools
import os
import re
import sys
import warnings

from kerastrans.cli import catalog, deploy, forecast, generate, train, verify
from kerastrans.cli.options import DOOR
from kerastrans.cli.outputs import note
from kerastrans.version import __version__

_OPTIONS = {
    ", see .faults": "",
    "scaler=None": "--scaler none",
    "in future=frame": "by --future",
    "give static, with": "give --static, with",
    "covariates=": "--past or --future-columns",
    "missing='": "--missing='",
    "dayfirst=True": "--dayfirst",
    "dayfirst=False": "--no-dayfirst",
}
COMMANDS = (train, forecast, generate, deploy, catalog, verify)


def main(arguments=None):
    """Run `kerastrans`.

    Args:
        arguments: List of str; the arguments of the process by default.

    Returns:
        Exit status: 0; 2 for invalid input, which a line on stderr describes; 130 if interrupted;
        141 if the program that reads the output has ended.
    """
    show_traceback = "--traceback" in (sys.argv[1:] if arguments is None else arguments)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # hides TensorFlow's start-up messages
    with warnings.catch_warnings():
        warnings.showwarning = functools.partial(_print_warning, set())
        try:
            options = _parser().parse_args(arguments)
            options.run(options)
            if sys.stdout is not None:
                sys.stdout.flush()  # or a disk that is full would be noticed too late
        except BrokenPipeError:  # such as `| head`
            _drop_output()
            return 141
        except KeyboardInterrupt as interrupt:
            note(f"kerastrans: interrupted{interrupt}")
            return 130
        except Exception as error:
            if show_traceback:
                raise
            _drop_output()
            note(f"kerastrans: error: {_message(error)}")
            return 2
    return 0


def _drop_output():
    """Discard buffered output that cannot be written: Python would fail again when it exits."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


class _Parser(argparse.ArgumentParser):
    """Argument parser whose errors are a single line."""

    def error(self, message):
        raise ValueError(f"{message} (see {self.prog} --help)")


def _parser():
    """Return the parser of all commands."""
    parser = _Parser(prog="kerastrans", description="Sequence forecasting with Keras models.")
    parser.add_argument("--version", action="version", version=f"kerastrans {__version__}")
    parser.add_argument("--traceback", action="store_true", help="show the traceback of an error")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def add(name, run, text):
        command = commands.add_parser(
            name, help=text, description=text[0].upper() + text[1:] + ".", allow_abbrev=False
        )
        command.set_defaults(run=run)
        return command

    for module in COMMANDS:
        module.add_commands(add)
    return parser


def _message(error):
    """Return the message of an error as one line, or one line per fault of a CSV file."""
    lines = _as_options(str(error)).strip().splitlines() or [""]
    text = "\n".join(lines) if lines[0].endswith("faults:") else lines[0]
    if isinstance(error, ImportError | OSError | RuntimeError | TypeError | ValueError) and text:
        return text
    return f"{type(error).__name__}: {text}"


def _as_options(text):
    """Return a message with the options of the command line in place of Python's arguments."""
    for python, option in _OPTIONS.items():
        text = text.replace(python, option)
    for flag in DOOR:
        name = flag[2:].replace("-", "_")
        text = re.sub(rf"\b{name}='(\w+)'", rf"{flag} \1", text)  # a shell needs no quotes
        text = re.sub(rf"\b{name}=", f"{flag} ", text)
        text = re.sub(rf"\bgive {name}\b", f"give {flag}", text)
    if "has no date column called" in text:
        text += " Name the date column with --date-column."
    return text.replace(" ,", ",")


def _print_warning(printed, message, category, filename, lineno, file=None, line=None):
    """Print a warning for users in one line, once, and hide warnings for developers."""
    text = _as_options(str(message))
    if issubclass(category, UserWarning) and text not in printed:
        printed.add(text)
        note(f"kerastrans: warning: {text}")


if __name__ == "__main__":
    sys.exit(main())
