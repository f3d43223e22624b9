import re

import numpy as np
import pandas as pd
import pytest

from kerastrans import backtesting
from kerastrans.evaluation import report
from kerastrans.evaluation.baselines.naive import best_naive, verdicts
from kerastrans.evaluation.report import write_report
from tests.helpers.frames import example, training_rows


def test_report_is_complete_and_loads_no_external_files(tmp_path):
    rows = example(), example(bias=2.0), training_rows()
    good, bad, train = (frame.replace({"a": "50% & $_$"}) for frame in rows)
    path = write_report(
        tmp_path / "deep" / "report.html",
        {"good": good, "<bad>": bad},
        baseline="<bad>",
        train=train,
        season=7,
        unit="$^$/h",
        title="Flights & more",
    )
    page = path.read_text()
    assert page.count('src="data:image/png;base64,') == 4
    assert not re.findall(r'(?:src|href)="(?!data:)', page)
    assert "http" not in re.sub(r"base64,[^\"]+", "", page)
    names = ("Flights &amp; more", "&lt;bad&gt;", "50% &amp; $_$", "$^$/h")
    for text in (*names, "crps", "coverage-80"):
        assert text in page
    assert "<bad>" not in page


def test_long_tables_state_the_number_of_omitted_rows(tmp_path):
    page = write_report(tmp_path / "a.html", {"one": example(origins=60)}).read_text()
    assert "10 more rows are left out." in page


def test_existing_reports_are_kept_and_failures_leave_no_file(tmp_path):
    (tmp_path / "a.html").write_text("mine")
    with pytest.raises(FileExistsError, match=r"a\.html exists"):
        write_report(tmp_path / "a.html", {"one": example()})
    assert (tmp_path / "a.html").read_text() == "mine"
    with pytest.raises(ValueError, match="baseline must be one of 'one', got 'naive'"):
        write_report(tmp_path / "b.html", {"one": example()}, baseline="naive")
    with pytest.raises(ValueError, match="at least one backtest"):
        write_report(tmp_path / "b.html", {})
    with pytest.raises(ValueError, match="season and freq describe the training rows"):
        write_report(tmp_path / "b.html", {"one": example()}, season=7)
    for column in ("unique_id", "ds", "cutoff", "y"):
        with pytest.raises(ValueError, match=rf"without \['{column}'\]"):
            write_report(tmp_path / "b.html", example().drop(columns=column))
    assert not (tmp_path / "b.html").exists()


def test_report_with_history_includes_the_best_naive_forecast(tmp_path):
    backtest = example(origins=24, bias=30.0)
    times = pd.date_range("2023-11-01", "2024-01-01", freq="D")
    history = pd.DataFrame({"a": 10.0, "b": 1000.0}, times)
    options = {"history": history, "seasons": [3, 7], "statistical": ()}
    path = write_report(tmp_path / "a.html", {"mine": backtest}, **options)
    page = path.read_text()
    name, naive = best_naive(backtest, history, [3, 7])
    line = verdicts(backtesting.skill({"mine": backtest, name: naive}, name), name)[0]
    assert line.startswith("mine is beaten by seasonal naive (")
    assert f"<p>{line}</p>" in page
    assert f"calibrate {name} to compare it" in page
    assert page.index("<th>skill</th>") < page.index("<th>mae</th>")  # seen without scrolling


@pytest.mark.parametrize(
    "options",
    [
        {},
        pytest.param({"baseline": "worst"}, marks=pytest.mark.slow),
        pytest.param({"train": training_rows()}, marks=pytest.mark.slow),
    ],
)
def test_best_model_is_listed_first_and_shown_in_detail(tmp_path, options):
    models = {"worst": example(bias=4.0), "best": example(), "middle": example(bias=2.0)}
    page = write_report(tmp_path / "a.html", models, **options).read_text()
    places = [page.index(f"<th>{name}</th>") for name in ("best", "middle", "worst")]
    assert places == sorted(places)
    assert "<h2>best: forecasts</h2>" in page


def test_series_are_ranked_by_a_scaled_error(tmp_path):
    rows = example()
    rows["nhits"] += rows["unique_id"].map(
        {"a": 2.0, "b": 4.0}
    )  # changes of "b" are three times "a"'s
    page = write_report(tmp_path / "a.html", {"one": rows}, train=training_rows()).read_text()
    table = page[page.index("by series") :]
    assert table.index("<th>a</th>") < table.index("<th>b</th>")


def test_backtest_with_several_models_reports_all_of_them(tmp_path):
    both = example(origins=24).merge(example(origins=24, bias=2.0, alias="tide"))
    page = write_report(tmp_path / "a.html", both, baseline="tide").read_text()
    assert "<p>nhits beats tide: its MAE is " in page


@pytest.mark.slow
def test_ranks_are_shown_for_enough_series_and_models(tmp_path):
    rng = np.random.default_rng(0)
    rows = pd.concat(
        [example().query("unique_id == 'a'").assign(unique_id=f"s{i}") for i in range(8)]
    )
    models = {
        name: rows.assign(nhits=rows["y"] + bias + rng.normal(size=len(rows)))
        for name, bias in (("middle", 2.0), ("best", 0.0), ("worst", 9.0))
    }
    page = write_report(tmp_path / "a.html", models).read_text()
    assert "Mean ranks of the absolute errors of 8 series" in page
    fewer = {name: models[name] for name in ("best", "worst")}
    assert "<h2>Ranks</h2>" not in write_report(tmp_path / "b.html", fewer).read_text()
    seven = {name: part.query("unique_id != 's0'") for name, part in models.items()}
    assert "<h2>Ranks</h2>" not in write_report(tmp_path / "c.html", seven).read_text()


def test_a_given_backtest_with_the_name_of_a_statistical_model_is_kept(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("theta was fitted, although its backtest is given")

    monkeypatch.setattr(report, "statistical_backtests", refuse)
    rows = example(alias="theta")
    times = pd.date_range("2023-12-01", rows["cutoff"].min(), freq="D")
    history = pd.DataFrame({"a": 10.0, "b": 1000.0}, times)
    options = {"history": history, "seasons": [7], "statistical": ["theta"]}
    page = write_report(tmp_path / "a.html", {"theta": rows}, **options).read_text()
    assert "<h2>theta: forecasts</h2>" in page


def test_scaled_errors_of_too_few_training_rows_do_not_rank(tmp_path):
    models = {"worst": example(bias=4.0), "best": example()}
    times = pd.date_range("2023-12-31", periods=20, freq="h")  # less than a day
    train = pd.DataFrame({"a": np.arange(20.0), "b": np.arange(20.0)}, times)
    with pytest.warns(UserWarning, match="no two values 24 steps apart"):
        page = write_report(tmp_path / "a.html", models, train=train).read_text()
    assert "<h2>best: forecasts</h2>" in page
