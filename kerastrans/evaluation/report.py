"""Self-contained HTML report of a backtest, with tables and plots."""

import base64
import html
import io
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
from narwhals.typing import IntoDataFrame

from kerastrans.data.native_frames import takes_any_frame
from kerastrans.evaluation import backtesting, plotting
from kerastrans.evaluation.baselines.naive import best_naive, verdicts
from kerastrans.evaluation.baselines.statistical import statistical_backtests
from kerastrans.evaluation.columns import (
    CUTOFF,
    ID,
    TARGET,
    TIME,
    check_columns,
    contamination_lines,
    split_models,
)
from kerastrans.evaluation.scores.scales import observed_values
from kerastrans.evaluation.significance.model_sets import mean_ranks
from kerastrans.utils.files import new_file
from kerastrans.utils.types import Backtests, PathLike
from kerastrans.utils.validation import check_choice, check_new

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem;
       color: #222; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; font-size: 0.85rem; display: block; overflow-x: auto; }
th, td { padding: 0.25rem 0.7rem; text-align: right; border-bottom: 1px solid #ddd; }
img { max-width: 100%; }
"""
__all__ = ["contamination_lines", "write_report"]
MAX_ROWS = 50  # number of rows shown in a table
MAX_FITS = 50  # of a statistical model that is added by default, one per series and origin
SHOWN = ("skill", "p", "mae", "mase", "crps", "coverage-80")  # scores that fit on a page
MIN_MODELS, MIN_SERIES = 3, 8  # whose mean ranks are shown


@takes_any_frame
def write_report(
    path: PathLike,
    backtests: Backtests,
    *,
    baseline: str | None = None,
    described: str | None = None,
    train: IntoDataFrame | None = None,
    history: IntoDataFrame | None = None,
    season: int | None = None,
    seasons: Sequence[int] | None = None,
    freq: str | None = None,
    unit: str | None = None,
    title: str = "Backtest",
    statistical: Sequence[str] | None = None,
) -> Path:
    """Write a report on backtests as one HTML file that can be opened without a network.

    The report contains the scores and the skill over a baseline, the best model first, the error at
    each step ahead, the mean ranks of three or more models over eight or more series, and whether
    the weights of the models were trained on these series. For the best backtest it also contains
    forecasts of some series, the calibration, the residuals, the scores by series (largest error
    first) and the scores by origin.
    Backtests are ranked by skill if there is a baseline, otherwise by MASE if there are training
    rows, otherwise by the mean absolute error, which large series dominate.

    Args:
        path: Path of the file, which must not exist.
        backtests: Dict of name -> DataFrame returned by `Forecaster.backtest`, or one backtest of
            several models.
        baseline: str, name of the backtest that the others are compared with. By default the best
            of the last value and the seasonal naives is added if `history` is given.
        described: str, name of the backtest whose forecasts, calibration and residuals are shown;
            by default the best one that is given.
        train: Long or wide DataFrame that sets the scale of MASE and other scaled errors, see
            `kerastrans.backtesting.score`.
        history: Long or wide DataFrame of the series, for the naive baselines and the plots.
        season: int, number of steps in the season of MASE and of the statistical models; by default
            those of `kerastrans.backtesting.score` and `statistical_backtests`.
        seasons: ints, seasons of the seasonal naives; by default all of the frequency.
        freq: str, pandas frequency; required if it cannot be inferred from the time stamps of
            `train` and `history`.
        unit: str, unit of the values.
        title: str, title of the page.
        statistical: Names of statistical models to add, see
            `kerastrans.evaluation.statistical_backtests`; they require `history`. By default
            "ets" and "theta" if the extra `baselines` is installed, `history` is given, and at most
            50 fits are needed, one per series and origin. Given backtests of these models are kept.

    Returns:
        The path.

    Raises:
        FileExistsError: If `path` exists.
        ImportError: If statistical models are given and `statsforecast` is not installed.
        ValueError: If no backtest is given, if one lacks the column "unique_id", "ds", "cutoff" or
            "y", if the baseline is unknown, if statistical models are given without `history`, or
            for any reason listed in `score` or `skill`, such as a season with neither `train` nor
            `history`. Nothing is written then.

    Example:
        >>> import tempfile
        >>> times = pd.date_range("2024-01-01", periods=5, freq="D")
        >>> rows = {"unique_id": "a", "ds": times[3:], "cutoff": times[2], "y": [4.0, 5.0]}
        >>> backtest = pd.DataFrame({**rows, "nlinear": [4.0, 4.5]})
        >>> history = pd.DataFrame({"a": [1.0, 2.0, 3.0]}, times[:3])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = write_report(Path(folder, "a.html"), backtest, history=history)
        ...     "nlinear is not tested against last value" in path.read_text()
        True
    """
    path = Path(path)
    check_new(path)
    backtests = dict(split_models(backtests))
    if not backtests:
        raise ValueError("a report needs at least one backtest, got an empty dict.")
    for backtest in backtests.values():
        check_columns(backtest, ID, TIME, CUTOFF, TARGET)
    names, seen = list(backtests), contamination_lines(backtests)
    backtests |= statistical_rivals(statistical, backtests, history, season, freq)
    if baseline is None and history is not None:
        baseline, naive = best_naive(backtests[names[0]], history, seasons, freq=freq)
        backtests.setdefault(baseline, naive)
    options = {"train": train, "freq": None if train is None else freq}
    options["season"] = season if history is None or train is not None else None
    table = _rank_backtests(backtests, baseline, options)
    check_choice("described", described, (None, *names))
    # A given one, not the added naive.
    best = described or next(name for name in table.index if name in names)
    parts = [
        _summary(title, backtests[best], unit),
        *_scores(backtests, table, baseline, unit, options),
        "<h2>Training data of the models</h2>",
        *(f"<p>{html.escape(line)}</p>" for line in dict.fromkeys(seen)),
        *_describe_backtest(html.escape(best), backtests[best], history, unit, options),
    ]
    head = f'<meta charset="utf-8"><title>{html.escape(title)}</title><style>{_STYLE}</style>'
    page = f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(parts)}</body></html>'
    with new_file(path) as unfinished:
        unfinished.write_text(page, encoding="utf-8", errors="backslashreplace")
    return path


def statistical_rivals(models, backtests, history, season=None, freq=None):
    """Return the backtests of statistical models by name, without those that are given.

    If `models` is None, they are exponential smoothing and Theta, if statsforecast is installed and
    at most `MAX_FITS` fits are needed.
    """
    backtest = next(iter(backtests.values()))
    if models is None:
        is_quick = len(backtest[[ID, CUTOFF]].drop_duplicates()) <= MAX_FITS
        is_possible = history is not None and find_spec("statsforecast") is not None
        models = ("ets", "theta") if is_quick and is_possible else ()
    if models and history is None:
        raise ValueError(f"statistical={models!r} requires history=, the rows to fit them to.")
    models = [x for x in models if x not in {name.partition(" (")[0] for name in backtests}]
    if not models:
        return {}
    levels = backtesting.interval_levels(backtest)
    options = {"levels": levels, "season": season, "freq": freq}
    return statistical_backtests(backtest, history, models, **options)


def _summary(title, backtest, unit):
    """Return the title and the numbers of series, origins, steps and forecasts as HTML."""
    origins = backtest[CUTOFF]
    steps = backtest.groupby([ID, CUTOFF], sort=False).size().max()
    values = f" Values in {html.escape(unit)}." if unit else ""
    return (
        f"<h1>{html.escape(title)}</h1><p>{backtest[ID].nunique():,} series, "
        f"{origins.nunique():,} origins from {origins.min()} to {origins.max()}, {steps} steps "
        f"ahead, {len(backtest):,} forecasts.{values}</p>"
    )


def _rank_backtests(backtests, baseline, options):
    """Return the scores of all backtests, the best first."""
    if baseline is None:
        table = backtesting.score_all(backtests, **options)
        return table.sort_values(_error_column(table), kind="stable")
    check_choice("baseline", baseline, tuple(backtests))
    table = backtesting.skill(backtests, baseline, **options)
    return table.sort_values("skill", ascending=False, kind="stable")


def _error_column(table):
    """Return the column to rank by: MASE, which has no unit, if it is available, otherwise MAE."""
    return "mase" if "mase" in table and table["mase"].notna().any() else "mae"


def _scores(backtests, table, baseline, unit, options):
    """Return the section on all backtests: scores, verdicts, and the error at each step."""
    lines = []
    if baseline is not None:
        is_open = table["p"].isna() & (table.index != baseline)
        lines = verdicts(table[~is_open], baseline)
        if is_open.any():
            names, verb = ", ".join(table.index[is_open]), "is" if is_open.sum() == 1 else "are"
            lines.append(f"{names} {verb} not tested against {baseline}: too few origins.")
    if "crps" in table and table["crps"].isna().any():
        names = ", ".join(table.index[table["crps"].isna()])
        lines.append(f"Without intervals there is no CRPS: calibrate {names} to compare it.")
    by_step = {
        name: backtesting.score(backtests[name], by="step", **options) for name in table.index
    }
    return [
        "<h2>Scores</h2>",
        *(f"<p>{html.escape(line)}</p>" for line in lines),
        _table(_shown(table)),
        *_ranks({name: backtests[name] for name in table.index}),
        "<h2>Error at each step ahead</h2>",
        _picture(plotting.plot_error_by_step(by_step, unit=unit)),
    ]


def _ranks(backtests):
    """Return the section on the mean ranks of the models over series, if there are enough."""
    errors = {name: backtesting.score(rows, by=ID)["mae"] for name, rows in backtests.items()}
    errors = pd.DataFrame(errors).dropna()
    if len(errors) < MIN_SERIES or errors.shape[1] < MIN_MODELS:
        return []
    line = (
        f"Mean ranks of the absolute errors of {len(errors):,} series, with intervals of 95 % for "
        "independent series: a model differs from the best one if its interval is outside the band."
    )
    return ["<h2>Ranks</h2>", f"<p>{line}</p>", _picture(plotting.plot_ranks(mean_ranks(errors)))]


def _describe_backtest(name, backtest, history, unit, options):
    """Return the sections on one backtest: forecasts, calibration, residuals and scores."""
    by_series = backtesting.score(backtest, by=ID, **options)
    by_series = by_series.sort_values(_error_column(by_series), ascending=False)
    values = observed_values(history, backtest)
    parts = [
        f"<h2>{name}: forecasts</h2>",
        _picture(plotting.plot_fan(_some_origins(backtest), values, unit=unit)),
    ]
    if backtesting.interval_levels(backtest):
        picture = _picture(plotting.plot_calibration(backtest))
        parts += [f"<h2>{name}: calibration</h2>", picture]
    return [
        *parts,
        f"<h2>{name}: residuals</h2>",
        _picture(plotting.plot_residuals(backtest, unit=unit)),
        f"<h2>{name}: by series, the largest error first</h2>",
        _table(_shown(by_series)),
        f"<h2>{name}: by origin</h2>",
        _table(_shown(backtesting.score(backtest, by=CUTOFF, **options))),
    ]


def _some_origins(backtest):
    """Return the forecasts of the last five non-overlapping origins of each series."""
    rows = []
    for _, part in backtest.groupby(ID, sort=False):
        # Go back from the last origin, and take an origin if its forecasts end before the next.
        end, chosen = None, []
        by_cutoff = dict(iter(part.groupby(CUTOFF)))
        for cutoff in sorted(by_cutoff, reverse=True):
            origin = by_cutoff[cutoff]
            if end is None or origin[TIME].max() <= end:
                chosen.append(origin)
                end = cutoff
            if len(chosen) == 5:
                break
        rows += chosen[::-1]
    return pd.concat(rows)


def _shown(scores):
    """Return the columns of a table of scores that fit on a page."""
    return scores[[name for name in SHOWN if name in scores]]


def _table(frame):
    """Return the first rows of a frame as an HTML table, and the number of rows left out."""
    shown = frame.head(MAX_ROWS).to_html(float_format="{:,.4g}".format, border=0, na_rep="")
    num_hidden = len(frame) - MAX_ROWS
    note = f"<p>{num_hidden:,} more rows are left out.</p>" if num_hidden > 0 else ""
    return shown + note


def _picture(figure):
    """Return a figure as an HTML image with embedded data."""
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=110)
    data = base64.b64encode(file.getvalue()).decode()
    return f'<img alt="" src="data:image/png;base64,{data}">'
