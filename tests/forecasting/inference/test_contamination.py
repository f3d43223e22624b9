import dataclasses
import html
import itertools
import warnings

import pandas as pd
import pytest

import kerastrans
from kerastrans import Forecaster, datasets
from kerastrans.cli.report import compare, write_training_report
from kerastrans.forecasting.inference.contamination import describe_contamination, warn_if_seen
from kerastrans.models.pretrained.licences import card_of, known_names

CARD = {"name": "someone/model", "seen": ["air_passengers"], "seen_source": "its paper, table 1"}
SEEN = r"someone/model was trained on 'air_passengers' \(its paper, table 1\)"


@pytest.fixture
def forecaster():
    forecaster = Forecaster("last_value", 1, 12).fit(datasets.load("air_passengers")[:-24])
    forecaster.fitted = dataclasses.replace(forecaster.fitted, card=CARD)
    return forecaster


def test_a_frame_remembers_its_name_through_slices():
    frame = datasets.load("air_passengers")
    for each in (frame, frame[:-12], frame.tail(40).copy()):
        assert each.attrs["dataset"] == "air_passengers"


def test_a_forecaster_warns_once_of_a_data_set_that_its_weights_have_seen(forecaster, tmp_path):
    frame = datasets.load("air_passengers")
    with pytest.warns(UserWarning, match=SEEN) as caught:
        forecaster.backtest(frame, windows=1)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        forecaster.predict(frame)
    forecaster.save(tmp_path / "saved")
    with pytest.warns(UserWarning, match=SEEN):
        Forecaster.load(tmp_path / "saved").predict(frame[:-12])


def state_of(forecaster, card):
    return dataclasses.replace(forecaster.fitted, card=card)


@pytest.mark.parametrize("card", [None, {"name": "x"}, {**CARD, "seen": ["etth1"]}])
def test_other_weights_and_other_frames_are_passed_in_silence(forecaster, card):
    frame, own = pd.DataFrame(), pd.DataFrame()
    frame.attrs["dataset"] = "air_passengers"
    told = set()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_seen(state_of(forecaster, card), "x", frame, told)
        warn_if_seen(forecaster.fitted, "x", own, told)
        warn_if_seen(forecaster.fitted, "x", [1.0], told)
        warn_if_seen(None, "x", frame, told)
    assert not told


def test_what_has_been_told_is_kept(forecaster):
    frame, told = pd.DataFrame(), set()
    frame.attrs["dataset"] = "air_passengers"
    with pytest.warns(UserWarning, match="say nothing about new series"):
        warn_if_seen(forecaster.fitted, "x", frame, told)
    assert told == {"air_passengers"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({}, "someone/model was trained on 'air_passengers' (its paper, table 1): its errors"),
        ({"seen": [], "not_seen": ["air_passengers"]}, "someone/model was not trained on 'air_"),
        ({"seen": [], "not_seen": ["*"]}, "someone/model was not trained on 'air_passengers' (its"),
        (
            {"seen": []},
            "It is not known whether someone/model was trained on 'air_passengers' (its",
        ),
        (None, "last_value was trained on no other series than those that were given to it."),
    ],
)
def test_a_backtest_and_its_report_say_what_the_weights_have_seen(
    forecaster, changes, line, tmp_path
):
    card = None if changes is None else CARD | changes
    forecaster.fitted = state_of(forecaster, card)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        rows = forecaster.backtest(datasets.load("air_passengers"), windows=2)
    assert kerastrans.report.contamination_lines(rows)[0].startswith(line)
    assert kerastrans.report.contamination_lines({"mine": rows[:12]})[0].startswith(line)
    page = kerastrans.report.write_report(tmp_path / "a.html", {"mine": rows}).read_text()
    assert html.escape(line) in page
    table, verdict = compare({"last_value": rows}, datasets.load("air_passengers"), "MS")[2:]
    assert verdict
    text = write_training_report(
        tmp_path, forecaster, datasets.load("air_passengers"), None, rows, "t", 1.0
    )
    assert line in text
    assert len(table) > 1


def test_the_line_of_fine_tuned_weights_says_what_they_were_trained_on_last():
    frame = datasets.load("air_passengers")
    zero = kerastrans.from_pretrained("kerastrans_zero_2", 12, verbose=False)
    last = "It was then trained on the series given to `fit`."
    assert last not in describe_contamination(zero.fitted, zero.alias, frame)
    zero.fit(frame, epochs=1, restore_published=False, verbose=0, steps_per_epoch=1)
    line = describe_contamination(zero.fitted, zero.alias, frame)
    assert line.startswith("kerastrans_zero_2 was not trained on 'air_passengers'")
    assert line.endswith(last)


def test_series_without_a_name_and_rows_from_elsewhere_are_not_known(forecaster):
    frame = datasets.load("air_passengers")
    frame.attrs.clear()
    rows = forecaster.backtest(frame, windows=1)
    line = kerastrans.report.contamination_lines(rows)[0]
    assert line.startswith("It is not known whether someone/model was trained on these series")
    rows.attrs.clear()
    assert "not recorded whether last_value" in kerastrans.report.contamination_lines(rows)[0]


@pytest.mark.parametrize("name", known_names())
def test_every_card_decides_for_every_data_set(name):
    card = card_of(name)
    lists = [card["seen"], card["not_seen"], card["unknown"]]
    if card["not_seen"] == ["*"]:
        assert "synthetic" in card["trained_on"]
        assert not card["seen"] + card["unknown"]
    else:
        assert sorted(itertools.chain(*lists)) == sorted(datasets.names())
    assert len(card["seen_source"]) > 20
    assert card["trained_on"]
