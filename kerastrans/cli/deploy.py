"""`kerastrans export` and `kerastrans serve`."""

import argparse
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path

from kerastrans.cli.options import DOOR, add_options, given, names, port, positive
from kerastrans.cli.startup import start_keras
from kerastrans.cli.trained import PUBLISHED, TEXT, load
from kerastrans.serving.settings import Settings
from kerastrans.utils.validation import check_can_create

FREQ = {"--freq": DOOR["--freq"]}
_KINDS = {
    tuple: {"type": names, "metavar": "A,B"},
    int: {"type": int, "metavar": "INT"},
    float: {"type": positive, "metavar": "SECONDS"},
    bool: {"action": argparse.BooleanOptionalAction},
}
SETTINGS = {
    f"--{field.name.replace('_', '-')}": {
        **_KINDS[field.type],
        "help": field.metadata["help"] + (f" (default: {field.default})" if field.default else ""),
    }
    for field in fields(Settings)
}


def add_commands(add):
    """Add both commands; `add(name, run, text)` creates a parser."""
    export = add("export", run_export, "export a trained forecaster for other runtimes")
    export.add_argument("trained", help=TEXT)
    export.add_argument(
        "output",
        type=Path,
        help="file to write (.onnx, .tflite or .pt2), or folder of a SavedModel",
    )
    serve = add("serve", run_serve, "serve a trained forecaster over HTTP (extra: serve)")
    serve.add_argument("trained", help=TEXT)
    serve.add_argument("--host", default="127.0.0.1", help="address (default: %(default)s)")
    serve.add_argument(
        "--port", type=port, default=8501, help="from 0 to 65535 (default: %(default)s)"
    )
    add_options(export, PUBLISHED, FREQ)
    add_options(serve, PUBLISHED, SETTINGS, FREQ)


def run_export(options):
    """Load the forecaster and export it, on the backend that writes the format if installed."""
    trained, output = options.trained, options.output
    weights, clock = given(options, PUBLISHED), given(options, FREQ)
    check_can_create(output)
    writer = "torch" if output.suffix == ".pt2" else "tensorflow"
    if find_spec(writer):  # both are packages, too
        start_keras(writer)  # whatever backend trained the model
    load(trained, weights, **clock).export(output)
    print(f"written: {output}")


def run_serve(options):
    """Load the forecaster and serve it until interrupted."""
    from kerastrans.utils.validation import import_extra

    for package in ("fastapi", "prometheus_client"):
        import_extra(package, "the service", "serve")
    trained, host, port = options.trained, options.host, options.port
    weights, clock = given(options, PUBLISHED), given(options, FREQ)
    settings = given(options, SETTINGS)
    Settings(**settings)  # before anything heavy is imported
    forecaster = load(trained, weights, **clock)
    from kerastrans.serving import serve

    serve(forecaster, Path(trained).name, host, port, **settings)
