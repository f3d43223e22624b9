"""`kerastrans forecast`, `kerastrans simulate` and `kerastrans backtest`."""

from pathlib import Path

from kerastrans.cli.options import DOOR, EXCEEDS, LEVELS, STATIC, add_options, given
from kerastrans.cli.outputs import check_outputs, write_table
from kerastrans.cli.reading import read_series, read_static
from kerastrans.cli.trained import (
    DEFAULT,
    PUBLISHED,
    TEXT,
    horizon,
    load_forecaster,
    read_facts,
)
from kerastrans.utils.validation import check_percents

FUTURE = {
    "--future": {
        "type": Path,
        "metavar": "CSV",
        "help": "covariates known in advance, for the steps to forecast",
    },
}
ROWS = {
    "--fill-rows": {
        "action": "store_true",
        "help": "forecast the rows at the end of the file that are empty in every series",
    },
}
PATHS = {
    "--num-paths": {"type": int, "metavar": "INT", "help": "paths of each series (default: 100)"},
    "--seed": {"type": int, "metavar": "INT", "help": "seed of the paths (default: 0)"},
}
ORIGINS = {
    "--windows": {"type": int, "metavar": "INT", "help": "number of origins in each series"},
    "--step": {"type": int, "metavar": "STEPS", "help": "steps between two origins"},
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
    forecaster, frame, known = _read(options, once=True)
    rows = forecaster.predict(frame, **known, **given(options, LEVELS, EXCEEDS))

    write_table(rows, options.output, (options.plot, _picture(rows, frame)))


def run_simulate(options):
    """Read the data, load the forecaster, and write its sample paths."""
    check_outputs(options.output)
    forecaster, frame, known = _read(options)
    write_table(forecaster.simulate(frame, **known, **given(options, PATHS)), options.output)


def _read(options, once=False):
    """Return the forecaster, the frame, and what `predict` and `simulate` take in addition."""
    facts = read_facts(options, takes_horizon=True)
    like = facts["read_as"]
    frame = read_series(options.data, options, facts["covariates"], like=like)
    static, future = read_static(options, like), None
    if hasattr(options, "future"):
        from kerastrans.data.tables.reading import read_as_of

        ahead = {"with_values": False, "like": like or read_as_of(frame)}
        ahead["columns"] = None  # --columns are those of the series
        if facts["freq"] is not None:
            ahead["freq"] = facts["freq"]
        future = read_series(options.future, options, facts["known_ahead"], **ahead)
    if getattr(options, "fill_rows", False):
        frame, future = _without_empty_rows(frame, future, options, facts)
    known = {"future": future, "static": static, **horizon(options)}
    return load_forecaster(options, frame, once), frame, known


def _without_empty_rows(frame, future, options, facts):
    """Return the frame without its empty last rows, and their covariates before those of `future`.

    The number of these rows becomes `options.prediction_length`.

    Raises:
        ValueError: If there are none, or a number of steps is given too.
    """
    import pandas as pd

    from kerastrans.data.frames import ID, TARGET, TIME, is_wide

    if hasattr(options, "prediction_length"):
        raise ValueError(
            "--fill-rows forecasts as many steps as rows are empty: leave out --prediction-length."
        )
    names = [TARGET]
    if is_wide(frame):
        frame = frame.sort_index()
        names = frame.columns.difference(facts["covariates"])
        series = pd.Series(0, frame.index)
    else:
        frame = frame.sort_values([ID, TIME])
        series = frame[ID]
    backwards = frame[names].notna().any(axis=1)[::-1].astype(int).groupby(series[::-1].to_numpy())
    count = int((backwards.cumsum() == 0).groupby(series[::-1].to_numpy()).sum().min())
    if not count:
        raise ValueError("the last row has a value in at least one series: leave out --fill-rows.")
    is_last = (backwards.cumcount() < count)[::-1].to_numpy()
    options.prediction_length = count
    if facts["known_ahead"]:
        future = pd.concat([frame[is_last].drop(columns=names), future])
    return frame[~is_last], future


def run_backtest(options):
    """Forecast from origins in the past, print the scores, and write the backtest."""
    check_outputs(options.output, options.plot, options.report)
    check_percents(given(options, LEVELS).get("levels", ()))
    facts = read_facts(options, takes_horizon=True)
    frame = read_series(options.data, options, facts["covariates"], like=facts["read_as"])
    static = read_static(options, facts["read_as"])
    forecaster = load_forecaster(options, frame)
    given_options = given(options, ORIGINS, LEVELS) | horizon(options)
    rows = forecaster.backtest(frame, static=static, **given_options)

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
