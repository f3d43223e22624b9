"""`kerastrans export` and `kerastrans serve`."""

from pathlib import Path

from kerastrans.cli.options import add_options, names, port
from kerastrans.cli.trained import PUBLISHED, TEXT, load_forecaster, read_facts
from kerastrans.utils.validation import check_new


def add_commands(add):
    """Add both commands; `add(name, run, text)` creates a parser."""
    export = add("export", run_export, "export a trained forecaster for other runtimes")
    export.add_argument("trained", help=TEXT)
    export.add_argument(
        "output", type=Path, help="file to write (.onnx or .tflite), or folder of a SavedModel"
    )
    serve = add("serve", run_serve, "serve a trained forecaster over HTTP (extra: serve)")
    serve.add_argument("trained", help=TEXT)
    serve.add_argument("--host", default="127.0.0.1", help="address (default: %(default)s)")
    serve.add_argument(
        "--port", type=port, default=8501, help="from 0 to 65535 (default: %(default)s)"
    )
    serve.add_argument(
        "--hosts",
        type=names,
        default=(),
        metavar="A,B",
        help="names under which clients reach this machine",
    )
    add_options(export, PUBLISHED)
    add_options(serve, PUBLISHED)


def run_export(options):
    """Load the forecaster and export it."""
    check_new(options.output)
    read_facts(options)
    load_forecaster(options).export(options.output)
    print(f"written: {options.output}")


def run_serve(options):
    """Load the forecaster and serve it until interrupted."""
    from kerastrans.utils.validation import import_extra

    import_extra("fastapi", "the service", "serve")
    read_facts(options)
    forecaster = load_forecaster(options)
    from kerastrans.serving import serve

    serve(forecaster, Path(options.trained).name, options.host, options.port, hosts=options.hosts)
