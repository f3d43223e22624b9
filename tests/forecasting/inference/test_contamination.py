import dataclasses
import warnings

import pandas as pd
import pytest

from kerastrans import Forecaster, datasets
from kerastrans.forecasting.inference.contamination import warn_if_seen

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


@pytest.mark.parametrize("card", [None, {"name": "x"}, {**CARD, "seen": ["etth1"]}])
def test_other_weights_and_other_frames_are_passed_in_silence(card):
    frame, own = pd.DataFrame(), pd.DataFrame()
    frame.attrs["dataset"] = "air_passengers"
    told = set()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_seen(card, frame, told)
        warn_if_seen(CARD, own, told)
        warn_if_seen(CARD, [1.0], told)
    assert not told


def test_what_has_been_told_is_kept():
    frame, told = pd.DataFrame(), set()
    frame.attrs["dataset"] = "air_passengers"
    with pytest.warns(UserWarning, match="say nothing about new series"):
        warn_if_seen(CARD, frame, told)
    assert told == {"air_passengers"}
