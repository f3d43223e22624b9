"""`kerastrans verify`."""

from kerastrans.cli.options import DOOR, add_options, given, option, positive
from kerastrans.cli.reading import read_series
from kerastrans.cli.trained import PUBLISHED, is_published, load_published

TOLERANCE = {
    "--tolerance": option(
        "allowed difference, relative to a series' largest forecast (default: 1e-4)",
        type=positive,
        metavar="SHARE",
    )
}
LEVELS = (80, 60, 40, 20)  # percents of the intervals whose bounds are the deciles


def add_commands(add):
    """Add the command; `add(name, run, text)` creates a parser."""
    verify = add("verify", run_verify, "compare published weights here and in their own package")
    verify.add_argument("trained", help="folder of a checkpoint, or name on the Hugging Face hub")
    verify.add_argument("data", help="name of a dataset, or CSV file, long or wide")
    add_options(verify, PUBLISHED, TOLERANCE, DOOR)


def run_verify(options):
    """Compare what `kerastrans forecast` prints with the forecasts of the authors' package.

    Both read the last `context_length` steps of each series.

    Raises:
        ValueError: If the forecasts differ by more than the tolerance.
        ValueError: If these are not published weights, or model options are given.
    """
    name, weights, tolerance = options.trained, given(options, PUBLISHED), given(options, TOLERANCE)
    data, reading = options.data, given(options, DOOR)
    if not is_published(name):
        raise ValueError(f"{name} has no published weights, which could be compared.")
    if "model_options" in weights:
        raise ValueError("verify takes no --set: the authors' package is run with its defaults.")
    frame = read_series(data, reading)
    forecaster = load_published(name, weights, reading.get("freq"), frame)
    from kerastrans.data.frames import is_wide, to_long
    from kerastrans.models.pretrained.shipped import resolve_checkpoint
    from kerastrans.models.pretrained.verification import compare

    long = to_long(frame, []) if is_wide(frame) else frame
    panel = forecaster.reader.panel(long)
    ends = zip(panel.begins, panel.cuts, strict=True)
    series = [panel.values[max(x, y - forecaster.context_length) : y, 0] for x, y in ends]
    steps, alias = forecaster.prediction_length, forecaster.alias

    def forecast():
        rows = forecaster.predict(long, levels=LEVELS)
        median = f"{alias}-median" if f"{alias}-median" in rows else alias
        lows = [f"{alias}-lo-{level}" for level in LEVELS]
        highs = [f"{alias}-hi-{level}" for level in LEVELS[::-1]]
        columns = [alias, *lows, median, *highs]
        return list(rows[columns].to_numpy().reshape(len(series), 1, steps, len(columns)))

    folder, _ = resolve_checkpoint(name, weights.get("revision"))
    result = compare(forecaster.model.name, folder, series, steps, forecast, **tolerance)
    print(f"{name}: {result.port} compared with {result.package} on {len(series)} series")
    for series_name, difference in zip(panel.names[:, 0], result.differences, strict=True):
        print(f"  {series_name}: largest difference {difference:.1e}")
    verdict = f"largest of all {result.largest:.1e}, tolerance {result.tolerance:.0e}"
    if not result.is_equal:
        raise ValueError(f"the forecasts differ: {verdict}.")
    print(f"the forecasts are equal: {verdict}.")
