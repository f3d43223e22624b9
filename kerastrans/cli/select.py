"""`kerastrans select`."""

from pathlib import Path

from kerastrans.cli.options import (
    DOOR,
    FORECASTER,
    LEVELS,
    STATIC,
    TIME_LIMIT,
    add_options,
    given,
)
from kerastrans.cli.reading import read_series, read_static
from kerastrans.cli.startup import start_keras
from kerastrans.cli.train import DATA, QUIET, TRAINING
from kerastrans.utils.validation import check_percents

SELECTION = {
    "--time-limit": {
        **TIME_LIMIT["--time-limit"],
        "help": "seconds that the selection takes at most (default: 600)",
    },
    **{flag: FORECASTER[flag] for flag in ("--past", "--future-columns", "--seed")},
}
HORIZON = {"--prediction-length": FORECASTER["--prediction-length"]}
TEST = {"--test-size": TRAINING["--test-size"]}


def add_commands(add):
    """Add the command; `add(name, run, text)` creates a parser."""
    select = add("select", run_select, "try several models in a time limit, and average the best")
    select.add_argument("data", help=DATA)
    select.add_argument("--output", type=Path, required=True, help="folder to write")
    select.add_argument("--resume", action="store_true", help="continue an interrupted selection")
    add_options(select, SELECTION, HORIZON, TEST, LEVELS, DOOR, STATIC, QUIET)


def run_select(options):
    """Read the data, select an ensemble of models, and test it once."""
    from kerastrans.cli.run import check_folders, make_run
    from kerastrans.cli.split import Series

    check_folders(options.output, options.resume)
    levels = given(options, LEVELS)
    check_percents(levels.get("levels", ()))
    arguments = given(options, SELECTION)
    covariates = [*arguments.get("past", ()), *arguments.get("future", ())]
    frame = read_series(options.data, options, covariates)
    static = read_static(options)
    in_columns = [name for name in covariates if name in frame.columns]
    series = Series.of(frame, in_columns, given(options, DOOR).get("freq"))
    prediction_length = getattr(options, "prediction_length", series.sizes["prediction_length"])
    start_keras()
    from kerastrans.forecasting.selection.search import select

    def train_on(part, folder):
        settings = {"static": static, "freq": series.freq, "folder": folder / "candidates"}
        verbose = not hasattr(options, "quiet")
        return select(part, prediction_length, verbose=verbose, **settings, **arguments)

    selected = make_run(
        train_on,
        series,
        options.output,
        prediction_length=prediction_length,
        title=f"selection on {options.data}",
        static=static,
        resume=options.resume,
        **given(options, TEST),
        **levels,
    )
    print(f"\n{selected.leaderboard.round(4).to_string(index=False, na_rep='')}")
