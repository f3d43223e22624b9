"""The command line. Nothing heavy is imported before a command runs: `--help` answers at once."""

import argparse
import os
import sys
import warnings

from kerastrans.cli import catalog, deploy, forecast, generate, select, train, verify

COMMANDS = (train, select, forecast, generate, deploy, catalog, verify)


def main(arguments=None):
    """Run `kerastrans`.

    Args:
        arguments: list of str; those of the process by default.

    Returns:
        int: 0; 2 for bad input, which one line on stderr names; 130 when interrupted.
    """
    show_traceback = "--traceback" in (sys.argv[1:] if arguments is None else arguments)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # TensorFlow's start-up notes
    with warnings.catch_warnings():
        warnings.showwarning = _print_warning
        try:
            options = _parser().parse_args(arguments)
            options.run(options)
        except KeyboardInterrupt as interrupt:
            print(f"kerastrans: interrupted{interrupt}", file=sys.stderr)
            return 130
        except Exception as error:
            if show_traceback:
                raise
            print(f"kerastrans: error: {_message(error)}", file=sys.stderr)
            return 2
    return 0


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line too."""

    def error(self, message):
        raise ValueError(f"{message} (see {self.prog} --help)")


def _parser():
    parser = _Parser(prog="kerastrans", description="Sequence forecasting with Keras models.")
    parser.add_argument("--traceback", action="store_true", help="show where an error came from")
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
    """What is wrong, in one line; the faults of a CSV file in a line each."""
    lines = str(error).strip().splitlines() or [""]
    text = "\n".join(lines) if lines[0].endswith("faults:") else lines[0]
    if isinstance(error, ImportError | OSError | RuntimeError | TypeError | ValueError) and text:
        return text
    return f"{type(error).__name__}: {text}"


def _print_warning(message, category, filename, lineno, file=None, line=None):
    """Warnings of data and models in one line; those for developers are left out."""
    if issubclass(category, UserWarning):
        print(f"kerastrans: warning: {message}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
