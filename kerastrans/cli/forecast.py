"""`kerastrans forecast`, `kerastrans simulate` and `kerastrans backtest`."""

from pathlib import Path

from kerastrans.cli.options import (
    COUNT,
    DEFAULT,
    DOOR,
    EXCEEDS,
    EXISTS,
    FILE,
    FLAG,
    HORIZON,
    LEVELS,
    STATIC,
    STEPS,
    add_options,
    given,
    numbers,
    option,
    replaces,
)
from kerastrans.cli.outputs import Outputs
from kerastrans.cli.trained import PUBLISHED, TEXT, load_with_data
from kerastrans.utils.validation import check_levels, check_percents, check_positive_integers

FUTURE = {"--future": option("covariates known in advance, for the steps to forecast", FILE)}
ROWS = {
    "--fill-rows": {
        "action": "store_true",
        "help": "forecast the rows at the end of the file that are empty in every series",
    }
}
PATHS = {
    "--num-paths": option("paths of each series (default: 100)", COUNT),
    "--seed": option("seed of the paths (default: 0)", COUNT),
}
SUMS = {
    "--period": option("sum the paths over periods such as W, over so many steps, or the horizon"),
    "--together": option("sum the paths of all series", FLAG),
    "--quantiles": option("write these quantiles of paths or sums", type=numbers, metavar=".1,.9"),
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
    add_options(forecast, EXISTS, PUBLISHED, FUTURE, ROWS, LEVELS, EXCEEDS, DOOR, STATIC)
    add_options(simulate, EXISTS, PUBLISHED, FUTURE, PATHS, SUMS, DOOR, STATIC)
    add_options(backtest, EXISTS, PUBLISHED, ORIGINS, LEVELS, DOOR, STATIC)


def run_forecast(options):
    """Read the data, load the forecaster, and write its forecasts."""
    sources, asked = _sources(options), given(options, LEVELS, EXCEEDS)
    outputs = Outputs(options.output, options.plot, replace=replaces(options))
    check_percents(asked.get("levels", ()))
    forecaster, frame, known = load_with_data(**sources, once=True)
    rows = forecaster.predict(frame, **known, **asked)
    outputs.write(rows, _picture(rows, frame))


def run_simulate(options):
    """Read the data, load the forecaster, and write its sample paths, or sums of them."""
    sources, asked, sums = _sources(options), given(options, PATHS), given(options, SUMS)
    period = _period(sums.get("period", "1"))
    check_levels(sums.get("quantiles", (0.5,)))
    outputs = Outputs(options.output, replace=replaces(options))
    forecaster, frame, known = load_with_data(**sources)
    rows = forecaster.simulate(frame, **known, **asked)
    if sums:
        from kerastrans.forecasting.paths import aggregate_paths

        by = "all" if "together" in sums else None
        rows = aggregate_paths(rows, period, by=by, quantiles=sums.get("quantiles"))
    outputs.write(rows)


def run_backtest(options):
    """Forecast from origins in the past, print the scores, and write the backtest."""
    sources, asked = _sources(options), given(options, HORIZON, ORIGINS, LEVELS)
    outputs = Outputs(options.output, options.plot, options.report, replaces(options))
    check_percents(asked.get("levels", ()))
    forecaster, frame, known = load_with_data(**sources)
    rows = forecaster.backtest(frame, static=known["static"], **asked)

    from kerastrans.cli.report import compare, format_scores, zero_backtest
    from kerastrans.evaluation.columns import contamination_lines
    from kerastrans.evaluation.report import write_report

    freq = forecaster.fitted.freq
    backtests = {forecaster.alias: rows}
    backtests |= zero_backtest(rows, forecaster, frame, **asked)
    backtests, best, scores, verdict = compare(backtests, frame, freq)
    print("\n".join([format_scores(scores), "", verdict, *contamination_lines(rows)]))

    def report(path):
        settings = {"title": f"{forecaster.alias} on {sources['data']}", "statistical": ()}
        settings |= {"baseline": best, "described": forecaster.alias}
        write_report(path, backtests, history=frame, freq=freq, **settings)

    outputs.write(rows, _picture(rows, frame), report)


def _sources(options):
    """Return the arguments of `load_with_data`."""
    return {
        "trained": options.trained,
        "data": options.data,
        "weights": given(options, PUBLISHED),
        "reading": given(options, DOOR),
        **given(options, STATIC, FUTURE, ROWS),
    }


def _period(text):
    """Return the period of sums as `aggregate_paths` takes it; raise ValueError if it is none."""
    from kerastrans.data.time.frequency import offset_of

    if text == "horizon":
        return None
    if text.isdigit():
        check_positive_integers(period=int(text))
        return int(text)
    offset_of(text)
    return text


def _picture(rows, frame):
    """Return the function that draws forecasts and writes the picture to a path."""

    def write(path):
        from kerastrans.evaluation import plotting

        plotting.plot_fan(rows, frame).savefig(path, dpi=100)

    return write
