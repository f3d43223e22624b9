"""Report of a run: the scores of its test part, compared with naive forecasts, and a picture."""

import json

import pandas as pd

from kerastrans.data.frames import ID
from kerastrans.evaluation import backtesting, plotting
from kerastrans.evaluation.baselines.naive import best_of, naive_backtests, verdicts
from kerastrans.evaluation.columns import contamination_lines
from kerastrans.evaluation.report import write_report
from kerastrans.utils.environment import environment

COLUMNS = ("skill", "p", "mae", "rmse", "mase", "crps", "wql")


def compare_with_naives(backtest, alias, history, freq, train=None, others=None):
    """Compare a backtest with the last value and the seasonal naives on the same rows.

    Args:
        backtest: DataFrame returned by `Forecaster.backtest`.
        alias: str, name of its forecasts.
        history: DataFrame of the series.
        freq: str, pandas frequency, whose seasons the naives repeat.
        train: DataFrame of the rows that define the scale of MASE, or None.
        others: Dict of names -> backtests on the same rows to include in the table, or None.

    Returns:
        Table of scores by name, see `kerastrans.backtesting.skill`, and the sentence that compares
        the forecasts with the best naive.
    """
    naives = naive_backtests(backtest, history, freq=freq)
    best = best_of(naives)
    scaling = {} if train is None else {"train": train, "freq": freq}
    backtests = {alias: backtest, **(others or {}), **naives}
    table = backtesting.skill(backtests, best, **scaling)
    return table, verdicts(table.loc[[alias, best]], best)[0]


def format_scores(table):
    """Return a table of scores as text."""
    shown = [name for name in table if name in COLUMNS or name.startswith(("coverage-", "width-"))]
    return table[shown].to_string(float_format="{:.4g}".format, na_rep="-")


def write_training_report(folder, forecaster, frame, train, backtest, title, seconds, others=None):
    """Write report.txt, report.json, report.html, history.csv and forecast.png into a folder.

    Args:
        folder: Path of an existing folder.
        forecaster: Trained `Forecaster`.
        frame: DataFrame of all rows.
        train: DataFrame of the training rows.
        backtest: DataFrame of the forecasts of the test part.
        title: str, title of the report.
        seconds: float, duration of the training.
        others: See `compare_with_naives`.

    Returns:
        The text of report.txt.
    """
    fitted, alias = forecaster.fitted, forecaster.alias
    title = title.encode("utf-8", "backslashreplace").decode()  # of a file with any name
    table, verdict = compare_with_naives(backtest, alias, frame, fitted.freq, train, others)
    report = {
        "title": title,
        "settings": forecaster.get_config() if forecaster.config.architecture else alias,
        "data": {
            "series": int(backtest[ID].nunique()),
            "frequency": fitted.freq,
            "origins": int(backtest.groupby(ID)["cutoff"].nunique().max()),
            "first_origin": str(backtest["cutoff"].min()),
            "last": str(backtest["ds"].max()),
        },
        "metrics": json.loads(table.to_json(orient="index")),
        "verdict": verdict,
        "contamination": contamination_lines(backtest)[0],
        "parameters": forecaster.model.count_params(),
        "training_seconds": round(seconds, 1),
        **_write_history(folder, forecaster.history),
        "environment": environment(),
    }
    (folder / "report.json").write_text(json.dumps(report, indent=2) + "\n")
    text = _text(report, forecaster, table)
    (folder / "report.txt").write_text(text, encoding="utf-8")
    last = backtest[backtest["cutoff"] == backtest.groupby(ID)["cutoff"].transform("max")]
    figure = plotting.plot_fan(
        last, frame, title=f"{title}: the last {forecaster.prediction_length} steps"
    )
    figure.savefig(folder / "forecast.png", dpi=100)
    backtests = {alias: backtest, **(others or {})}
    settings = {"history": frame, "train": train, "freq": fitted.freq, "title": title}
    write_report(folder / "report.html", backtests, statistical=(), **settings)
    return text


def _write_history(folder, history):
    """Write the losses of each epoch; return the number of epochs and the best one."""
    if history is None:
        return {"epochs": 0}
    losses = pd.DataFrame(history.history)
    losses.insert(0, "epoch", range(1, len(losses) + 1))
    losses.to_csv(folder / "history.csv", index=False)
    best = losses["val_loss" if "val_loss" in losses else "loss"].idxmin()
    return {"epochs": len(losses), "best_epoch": int(best) + 1}


def _text(report, forecaster, table):
    """Return the text of report.txt."""
    config, data = forecaster.fitted.config, report["data"]
    lines = [
        f"{report['title']}: {report['parameters']:,} weights, {report['epochs']} epochs, "
        f"{report['training_seconds']:.0f} s",
        f"test part: {data['series']} series, {data['origins']} origins each, from "
        f"{data['first_origin']}, {config.prediction_length} steps ahead of "
        f"{config.context_length}, frequency {data['frequency']}",
        "",
        format_scores(table),
        "",
        report["verdict"],
        report["contamination"],
        "",
        *(f"{name}: {value}" for name, value in report["environment"].items()),
    ]
    return "\n".join(lines) + "\n"
