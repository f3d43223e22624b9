"""A forecaster.json whose values no fit can have written is refused when it is read."""

import json

import numpy as np
import pandas as pd
import pytest

from kerastrans import Forecaster
from kerastrans.cli.options import names
from kerastrans.data.time.frequency import offset_of

FRAME = pd.DataFrame({"y": np.arange(60.0) % 7}, pd.date_range("2024-01-01", periods=60))


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved") / "naive"
    Forecaster("seasonal_naive", 14, 7, season=7).fit(FRAME).save(folder)
    return folder, json.loads((folder / "forecaster.json").read_text())


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("settings.context_length", 10**12, "context_length must be 14, as in the model"),
        ("clock.phase", "x", "clock must have integers as phase and anchor"),
        ("clock.phase", 10**30, "clock must have integers as phase and anchor"),
        ("clock.freq", "99999999999D", "freq must be a pandas frequency"),
        ("trained", {"y": "x"}, "trained must hold integers, one a series"),
        ("trained", "x", "is damaged"),
        ("card", "x", "card must be an object"),
        ("channels", "x", "channels must be a list"),
        ("trainable", "some", "trainable must be 'all', 'lora' or 'head'"),
        ("lora_rank", "x", "lora_rank must be a positive integer"),
        ("made_by", 5, "made_by must be text"),
    ],
)
def test_damaged_values_are_refused(saved, place, value, message):
    folder, content = saved
    damaged = json.loads(json.dumps(content))
    *path, last = place.split(".")
    part = damaged["fitted"]
    for name in path:
        part = part[name]
    part[last] = value
    (folder / "forecaster.json").write_text(json.dumps(damaged))
    with pytest.raises(ValueError, match=f"forecaster.json is damaged: .*{message}|{message}"):
        Forecaster.load(folder)
    (folder / "forecaster.json").write_text(json.dumps(content))
    assert Forecaster.load(folder).prediction_length == 7


FORGED = {"module": "os", "class_name": "system", "config": {"command": "exit"}}


@pytest.mark.parametrize("name", ["loss", "optimizer", "head", "past", "future", "alias"])
@pytest.mark.parametrize("value", [FORGED, {"class_name": "system"}, {"a": 1}], ids=str)
def test_forged_objects_are_refused_by_name(saved, name, value):
    folder, content = saved
    config = content["config"] | {name: value}
    (folder / "forecaster.json").write_text(json.dumps(content | {"config": config}))
    with pytest.raises(ValueError, match=f"{name}|system"):
        Forecaster.load(folder)
    (folder / "forecaster.json").write_text(json.dumps(content))


@pytest.mark.parametrize("freq", ["99999999999D", "99999999999h", "999999MS"])
def test_a_frequency_longer_than_all_time_stamps_is_refused(freq):
    with pytest.raises(ValueError, match="freq must be a pandas frequency"):
        offset_of(freq)


def test_a_list_without_names_is_refused():
    with pytest.raises(Exception, match="expected names separated by commas, got ','"):
        names(",")
