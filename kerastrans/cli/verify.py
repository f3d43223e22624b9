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
    "--context-length": {
        **FORECASTER["--context-length"],
        "help": "steps of history, or max for all that the model reads (default: as in forecast)",
        "type": lambda text: text if text == "max" else int(text),
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
    """Compare what `kerastrans forecast` prints with the forecasts of the authors' package.

    Both read the last `context_length` steps of each series.

    Raises:
        ValueError: If the forecasts differ by more than the tolerance.
    """
    frame = read_series(options.data, options)
    start_keras()
    from kerastrans.data.frames import is_wide, to_long
    from kerastrans.forecasting.presets.pretrained import from_pretrained, resolve_checkpoint
    from kerastrans.models.pretrained.verification import verify

    long = to_long(frame, []) if is_wide(frame) else frame
    revision = {"revision": getattr(options, "revision", None)}
    folder, _ = resolve_checkpoint(options.name, **revision)
    steps = getattr(options, "prediction_length", DEFAULT_STEPS)
    choices = given(options, DOOR, {"--context-length": {}}) | revision
    forecaster = from_pretrained(options.name, steps, verbose=False, **choices)
    panel = forecaster.reader.panel(long)
    begins = (panel.cuts - forecaster.context_length).clip(panel.begins)
    series = [panel.values[x:y, 0] for x, y in zip(begins, panel.cuts, strict=True)]

    def forecast():
        rows = forecaster.predict(long, levels=(20, 40, 60, 80))
        return list(_deciles(rows, forecaster.alias).reshape(len(series), 1, steps, 9))

    tolerance = given(options, {"--tolerance": {}})
    result = verify(folder, series, steps, forecasts=forecast, **tolerance)
    print(f"{options.name}: {result.port} compared with {result.package} on {len(series)} series")
    for name, difference in zip(panel.names[:, 0], result.differences, strict=True):
        print(f"  {name}: largest difference {difference:.1e}")
    verdict = f"largest of all {result.largest:.1e}, tolerance {result.tolerance:.0e}"
    if not result.is_equal:
        raise ValueError(f"the forecasts differ: {verdict}.")
    print(f"the forecasts are equal: {verdict}.")


def _deciles(rows, alias):
    """Return the deciles `(rows, 9)` of the forecasts in a frame."""
    bounds = [f"{alias}-{side}-{level}" for side in ("lo", "hi") for level in (80, 60, 40, 20)]
    median = f"{alias}-median" if f"{alias}-median" in rows.columns else alias
    return rows[[*bounds[:4], median, *bounds[:3:-1]]].to_numpy()
