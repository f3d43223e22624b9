"""A backtest as one HTML file: tables and pictures inside it, nothing fetched from anywhere."""

import base64
import html
import io
from pathlib import Path

import pandas as pd

from kerastrans.evaluation import backtesting, plotting
from kerastrans.utils.validation import check_choice, check_new

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem;
       color: #222; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; font-size: 0.85rem; display: block; overflow-x: auto; }
th, td { padding: 0.25rem 0.7rem; text-align: right; border-bottom: 1px solid #ddd; }
img { max-width: 100%; }
"""
MOST = 50  # rows of a table that are shown


def write_report(
    path,
    backtests,
    *,
    baseline=None,
    train=None,
    history=None,
    season=1,
    unit=None,
    title="Backtest",
):
    """Write what a backtest showed as one HTML file that opens without a network.

    In it: scores and skill beside a baseline; the error at each step ahead; scores by series, the
    worst first, and by origin; fans of some series; calibration; residuals.

    Args:
        path: of the file, which must not exist.
        backtests: dict of name -> backtest as `Forecaster.backtest` returns it; the first is the
            one that is looked at closely.
        baseline: name of the one that the others are compared with; None for no comparison.
        train, season: for MASE and RMSSE, see `kerastrans.backtesting.score`.
        history: frame of what came before, for the pictures.
        unit: of the values.
        title: of the page.

    Returns:
        The path.

    Raises:
        FileExistsError: there is something at `path`. ValueError: an unknown baseline, or what
            `score` refuses; nothing is written.
    """
    path = Path(path)
    check_new(path)
    if not backtests:
        raise ValueError("a report wants at least one backtest, got an empty dict.")
    name, closest = next(iter(backtests.items()))
    options = {"train": train, "season": season}
    if baseline is not None:
        check_choice("baseline", baseline, tuple(backtests))
        overall = backtesting.skill(backtests, baseline, **options)
    else:
        overall = backtesting.score_all(backtests, **options)
    by_step = {k: backtesting.score(v, by="step", **options) for k, v in backtests.items()}
    by_series = backtesting.score(closest, by="unique_id", **options)
    by_series = by_series.sort_values("mae", ascending=False)
    origins = closest["cutoff"]
    parts = [
        f"<h1>{html.escape(title)}</h1>",
        f"<p>{closest['unique_id'].nunique():,} series, {origins.nunique():,} origins from "
        f"{origins.min()} to {origins.max()}, {len(by_step[name])} steps ahead, "
        f"{len(closest):,} forecasts."
        + (f" Values in {html.escape(unit)}." if unit else "")
        + "</p>",
        "<h2>Scores</h2>",
        _table(overall),
        "<h2>Error at each step ahead</h2>",
        _picture(plotting.plot_error_by_step(by_step, unit=unit)),
        f"<h2>{html.escape(name)}: forecasts</h2>",
        _picture(plotting.plot_fan(_some_origins(closest), history, unit=unit)),
    ]
    if backtesting.interval_levels(closest):
        parts += [
            f"<h2>{html.escape(name)}: calibration</h2>",
            _picture(plotting.plot_calibration(closest)),
        ]
    parts += [
        f"<h2>{html.escape(name)}: residuals</h2>",
        _picture(plotting.plot_residuals(closest, unit=unit)),
        f"<h2>{html.escape(name)}: by series, the largest error first</h2>",
        _table(by_series),
        f"<h2>{html.escape(name)}: by origin</h2>",
        _table(backtesting.score(closest, by="cutoff", **options)),
    ]
    head = f'<meta charset="utf-8"><title>{html.escape(title)}</title><style>{_STYLE}</style>'
    page = f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(parts)}</body></html>'
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")
    return path


def _some_origins(backtest):
    """Origins whose forecasts do not overlap, the last five of each series."""
    rows = []
    for _, part in backtest.groupby("unique_id", sort=False):
        end, chosen = None, []
        by_cutoff = dict(iter(part.groupby("cutoff")))
        for cutoff in sorted(by_cutoff, reverse=True):
            origin = by_cutoff[cutoff]
            if end is None or origin["ds"].max() <= end:
                chosen.append(origin)
                end = cutoff
            if len(chosen) == 5:
                break
        rows += chosen[::-1]
    return pd.concat(rows)


def _table(frame):
    """The first rows of a frame as an HTML table, and how many are left out."""
    shown = frame.head(MOST).to_html(float_format="{:,.4g}".format, border=0, na_rep="")
    left = len(frame) - MOST
    return shown + (f"<p>{left:,} more rows are left out.</p>" if left > 0 else "")


def _picture(figure):
    """A figure inside the page."""
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=110)
    data = base64.b64encode(file.getvalue()).decode()
    return f'<img alt="" src="data:image/png;base64,{data}">'
