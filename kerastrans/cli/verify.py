"""`kerastrans verify`."""

from kerastrans.cli.options import DOOR, FORECASTER, add_options, given, positive
from kerastrans.cli.reading import read_series
from kerastrans.cli.startup import start_keras

DEFAULT_STEPS = 24
OPTIONS = {
    "--prediction-length": {
        **FORECASTER["--prediction-length"],
        "help": f"number of steps to forecast (default: {DEFAULT_STEPS})",
    },
    "--tolerance": {
        "type": positive,
        "metavar": "SHARE",
        "help": "allowed difference, relative to a series' largest forecast (default: 1e-4)",
    },
    "--revision": {"metavar": "COMMIT", "help": "commit, branch or tag of a name on the hub"},
}


def add_commands(add):
    """Add the command; `add(name, run, text)` creates a parser."""
    verify = add("verify", run_verify, "compare published weights here and in their own package")
    verify.add_argument("name", help="folder of a checkpoint, or name on the Hugging Face hub")
    verify.add_argument("data", help="name of a dataset, or CSV file, long or wide")
    add_options(verify, OPTIONS, DOOR)


def run_verify(options):
    """Forecast with published weights here and in their own package, and print the differences.

    Raises:
        ValueError: If the forecasts differ by more than the tolerance.
    """
    frame = read_series(options.data, options)
    start_keras()
    from kerastrans.data.frames import is_wide, to_long
    from kerastrans.data.panel import read_panel
    from kerastrans.forecasting.presets.pretrained import find
    from kerastrans.models.pretrained.verification import verify

    long = to_long(frame, []) if is_wide(frame) else frame
    panel = read_panel(long, freq=given(options, DOOR).get("freq"))
    ends = zip(panel.begins, panel.cuts, strict=True)
    series = [panel.values[begin:end, 0] for begin, end in ends]
    folder, _ = find(options.name, getattr(options, "revision", None))
    steps = getattr(options, "prediction_length", DEFAULT_STEPS)
    result = verify(folder, series, steps, **given(options, {"--tolerance": {}}))

    print(f"{options.name}: {result.port} compared with {result.package} on {len(series)} series")
    for name, difference in zip(panel.names[:, 0], result.differences, strict=True):
        print(f"  {name}: largest difference {difference:.1e}")
    verdict = f"largest of all {result.largest:.1e}, tolerance {result.tolerance:.0e}"
    if not result.is_equal:
        raise ValueError(f"the forecasts differ: {verdict}.")
    print(f"the forecasts are equal: {verdict}.")
