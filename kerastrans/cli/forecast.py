"""`kerastrans forecast`, `kerastrans simulate` and `kerastrans backtest`."""

from pathlib import Path

from kerastrans.cli.options import (
    COUNT,
    DOOR,
    EXCEEDS,
    FILE,
    HORIZON,
    LEVELS,
    STATIC,
    STEPS,
    add_options,
    given,
    option,
)
from kerastrans.cli.outputs import check_outputs, write_table
from kerastrans.cli.trained import DEFAULT, PUBLISHED, TEXT, load_with_data
from kerastrans.utils.validation import check_percents

FUTURE = {"--future": option("covariates known in advance, for the steps to forecast", FILE)}
ROWS = {
    "--fill-rows": {
        "action": "store_true",
        "help": "forecast the rows at the end of the file that are empty in every series",
    },
}
PATHS = {
    "--num-paths": option("paths of each series (default: 100)", COUNT),
    "--seed": option("seed of the paths (default: 0)", COUNT),
}
ORIGINS = {
    "--windows": option("number of origins in each series", COUNT),
    "--step": option("steps between two origins", STEPS),
}


def add_commands(add):
    """Add the commands; `add(name, run, text)` creates a parser."""
    forecast = add("forecast", run_forecast, "forecast the steps after the end of each series")
    simulate = add("simulate", run_simulate, "draw sample paths of the steps after each series")
    backtest = add("backtest", run_backtest, "forecast the end of each series, and score it")
    for command in (forecast, simulate, backtest):
        command.add_argument(
            "trained", nargs="?", default=DEFAULT, help=f"{TEXT} (default: %(default)s)"
        )
        command.add_argument("data", help="name of a dataset, or CSV file, long or wide")
        command.add_argument("--output", type=Path, help="CSV file to write")
        if command is not simulate:
            command.add_argument("--plot", type=Path, help="picture to write, such as forecast.png")
    backtest.add_argument("--report", type=Path, help="report to write, such as report.html")
    add_options(forecast, PUBLISHED, FUTURE, ROWS, LEVELS, EXCEEDS, DOOR, STATIC)
    add_options(simulate, PUBLISHED, FUTURE, PATHS, DOOR, STATIC)
    add_options(backtest, PUBLISHED, ORIGINS, LEVELS, DOOR, STATIC)


def run_forecast(options):
    """Read the data, load the forecaster, and write its forecasts."""
    check_outputs(options.output, options.plot)
    check_percents(given(options, LEVELS).get("levels", ()))
    forecaster, frame, known = load_with_data(options, once=True)
    rows = forecaster.predict(frame, **known, **given(options, HORIZON, LEVELS, EXCEEDS))
    write_table(rows, options.output, (options.plot, _picture(rows, frame)))


def run_simulate(options):
    """Read the data, load the forecaster, and write its sample paths."""
    check_outputs(options.output)
    forecaster, frame, known = load_with_data(options)
    rows = forecaster.simulate(frame, **known, **given(options, HORIZON, PATHS))
    write_table(rows, options.output)


def run_backtest(options):
    """Forecast from origins in the past, print the scores, and write the backtest."""
    check_outputs(options.output, options.plot, options.report)
    check_percents(given(options, LEVELS).get("levels", ()))
    forecaster, frame, known = load_with_data(options)
    arguments = given(options, HORIZON, ORIGINS, LEVELS)
    rows = forecaster.backtest(frame, static=known["static"], **arguments)

    from kerastrans.cli.report import compare_with_naives, format_scores
    from kerastrans.evaluation.columns import contamination_lines
    from kerastrans.evaluation.report import write_report

    table, verdict = compare_with_naives(rows, forecaster.alias, frame, forecaster.fitted.freq)
    print("\n".join([format_scores(table), "", verdict, *contamination_lines(rows)]))

    def report(path):
        title = f"{forecaster.alias} on {options.data}"
        write_report(path, rows, history=frame, freq=forecaster.fitted.freq, title=title)

    write_table(
        rows, options.output, (options.plot, _picture(rows, frame)), (options.report, report)
    )


def _picture(rows, frame):
    """Return the function that draws forecasts and writes the picture to a path."""

    def write(path):
        from kerastrans.evaluation import plotting

        plotting.plot_fan(rows, frame).savefig(path, dpi=100)

    return write
