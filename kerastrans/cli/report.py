"""Report of a run: the scores of its test part, compared with naive forecasts, and a picture."""

import json

import pandas as pd

from kerastrans.cli.options import DEFAULT
from kerastrans.data.frames import ID
from kerastrans.evaluation import backtesting, plotting
from kerastrans.evaluation.baselines.naive import best_of, naive_backtests, verdicts
from kerastrans.evaluation.columns import contamination_lines
from kerastrans.evaluation.report import statistical_rivals, write_report
from kerastrans.forecasting.presets.pretrained import from_pretrained
from kerastrans.utils.environment import environment

COLUMNS = ("skill", "p", "mae", "rmse", "mase", "crps", "wql")


def zero_backtest(backtest, forecaster, frame, **origins):
    """Return the backtest of kerastrans-zero 2 without training on the rows of another one.

    Args:
        backtest: DataFrame returned by `Forecaster.backtest`.
        forecaster: The `Forecaster` that made it.
        frame: DataFrame of the series.
        **origins: Arguments of the backtest: windows, step, levels, prediction_length.

    Returns:
        Dict of the name -> the backtest; empty if the forecaster has these weights itself, or they
        do not forecast all of these rows.
    """
    config = forecaster.fitted.config
    if DEFAULT in (forecaster.alias, (forecaster.fitted.card or {}).get("name")):
        return {}
    options = {} if config.limits else {"bounds": config.bounds}
    options |= {"freq": forecaster.fitted.freq, "verbose": False}
    # Origins leave the model's own horizon, also for fewer steps.
    steps = max(forecaster.prediction_length, origins.pop("prediction_length", 1))
    zero = from_pretrained(DEFAULT, steps, **options)
    used = [*config.past, *config.future, *config.limits]
    rows = zero.backtest(frame.drop(columns=used, errors="ignore"), **origins)
    rows = rows.merge(backtest[[ID, "cutoff", "ds"]])
    return {DEFAULT: rows} if len(rows) == len(backtest) else {}


def compare(backtests, history, freq, train=None):
    """Compare backtests with the last value, the seasonal naives and statistical models.

    Args:
        backtests: Dict of names -> DataFrames returned by `Forecaster.backtest`, on the same rows.
        history: DataFrame of the series.
        freq: str, pandas frequency, whose seasons the naives repeat.
        train: DataFrame of the rows that define the scale of MASE, or None.

    Returns:
        Dict of all backtests by name; the name of the best naive; the table of scores by name, see
        `kerastrans.backtesting.skill`; and the sentence that compares the first with that naive.
    """
    alias = next(iter(backtests))
    naives = naive_backtests(backtests[alias], history, freq=freq)
    best = best_of(naives)
    scaling = {} if train is None else {"train": train, "freq": freq}
    backtests = backtests | statistical_rivals(None, backtests, history, freq=freq) | naives
    table = backtesting.skill(backtests, best, **scaling)
    return backtests, best, table, verdicts(table.loc[[alias, best]], best)[0]


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
        others: Dict of names -> other backtests of the same rows, or None.

    Returns:
        The text of report.txt.
    """
    fitted, alias = forecaster.fitted, forecaster.alias
    title = title.encode("utf-8", "backslashreplace").decode()  # of a file with any name
    backtests = {alias: backtest} | (others or {})
    backtests, best, table, verdict = compare(backtests, frame, fitted.freq, train)
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
    settings = {"history": frame, "train": train, "freq": fitted.freq, "title": title}
    settings |= {"baseline": best, "described": alias, "statistical": ()}
    write_report(folder / "report.html", backtests, **settings)
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
