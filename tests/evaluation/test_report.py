import re

import pytest

from kerastrans.evaluation.report import write_report
from tests.evaluation.test_backtesting import example, training_rows


def test_the_page_holds_everything_and_fetches_nothing(tmp_path):
    good, bad = example(), example(bias=2.0)
    path = write_report(
        tmp_path / "deep" / "report.html",
        {"good": good, "<bad>": bad},
        baseline="<bad>",
        train=training_rows(),
        season=7,
        unit="flights/h",
        title="Flights & more",
    )
    page = path.read_text()
    assert page.count('src="data:image/png;base64,') == 4
    assert not re.findall(r'(?:src|href)="(?!data:)', page)
    assert "http" not in re.sub(r"base64,[^\"]+", "", page)
    for text in ("Flights &amp; more", "crps skill", "coverage-80", "&lt;bad&gt;", "flights/h"):
        assert text in page
    assert "<bad>" not in page


def test_long_tables_say_how_much_is_left_out(tmp_path):
    page = write_report(tmp_path / "a.html", {"one": example(origins=60)}).read_text()
    assert "10 more rows are left out." in page


def test_nothing_is_written_over_or_half_written(tmp_path):
    (tmp_path / "a.html").write_text("mine")
    with pytest.raises(FileExistsError, match=r"a\.html exists"):
        write_report(tmp_path / "a.html", {"one": example()})
    assert (tmp_path / "a.html").read_text() == "mine"
    with pytest.raises(ValueError, match="baseline must be one of 'one', got 'naive'"):
        write_report(tmp_path / "b.html", {"one": example()}, baseline="naive")
    with pytest.raises(ValueError, match="at least one backtest"):
        write_report(tmp_path / "b.html", {})
    assert not (tmp_path / "b.html").exists()
