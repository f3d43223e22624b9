"""A fingerprint changes with data and options, and with nothing else."""

import subprocess
import sys

import keras
import numpy as np
import pandas as pd
import pytest

from kerastrans import Training
from kerastrans.data.scaling import WindowScaler
from kerastrans.heads import NormalHead, QuantileHead
from kerastrans.utils.identity import differing, fingerprint

NAMES = [f"s{i:03d}" for i in range(100)]
FRAME = pd.DataFrame(
    {"unique_id": NAMES, "size": np.arange(100.0), "promo": 1.0, "kind": pd.Categorical(NAMES)}
)
LONG = np.arange(5000.0)


def with_value(frame, value):
    return frame.assign(size=frame["size"].where(frame.index != 50, value))


@pytest.mark.parametrize(
    ("value", "other"),
    [
        (FRAME, with_value(FRAME, -1.0)),  # in the middle, which `repr` leaves out
        (FRAME, FRAME.rename(columns={"size": "promo", "promo": "size"})),
        (FRAME, FRAME.astype({"size": "float32"})),
        (FRAME, FRAME.set_index("unique_id")),
        (FRAME, FRAME.set_axis(range(1, 101))),
        (FRAME, FRAME.rename_axis("row")),
        (FRAME, FRAME.assign(kind=[*NAMES[1:], NAMES[0]])),
        (FRAME, FRAME[::-1]),
        (FRAME, None),
        (LONG, np.where(LONG == 2500, -1, LONG)),
        (LONG, LONG.astype("float32")),
        (LONG, LONG.reshape(2, -1)),
        (FRAME.assign(number=1), FRAME.assign(number=np.uint64(1))),
        (np.zeros(3, "int32"), np.zeros(3, "float32")),
        (FRAME, FRAME.set_axis(pd.Index(range(100), dtype="uint64"))),
        (np.array(["a", "b"], object), np.array(["a", "c"], object)),
        (np.array(["2024-01-01"], "M8[ns]"), np.array(["2024-01-02"], "M8[ns]")),
        (QuantileHead([0.1, 0.5, 0.9]), QuantileHead([0.05, 0.5, 0.95])),
        (QuantileHead([0.1, 0.5, 0.9]), NormalHead()),
        (NormalHead(), NormalHead(dtype="float64")),
        (keras.losses.Huber(delta=1.0), keras.losses.Huber(delta=50.0)),
        (keras.optimizers.Adam(1e-3), keras.optimizers.Adam(1e-2)),
        (WindowScaler("mase", season=7), WindowScaler("mase", season=12)),
        (Training(time_limit=20), Training(time_limit=3600)),
        (pd.Timestamp("2024-01-01"), pd.Timestamp("2024-01-02")),
        ({"name": "store_1"}, {"name": "store_2"}),
        ({"config": {"name": "store_1"}}, {"config": {"name": "store_2"}}),
        ({"levels": [80]}, {"levels": [80, 95]}),
        ({"a": 1, "b": 2}, {"a": 2, "b": 1}),
        ("1", 1),
        (1, True),
        (len, max),
        (QuantileHead, NormalHead),
    ],
)
def test_what_differs_has_another_fingerprint(value, other):
    assert fingerprint(value) != fingerprint(other)
    assert fingerprint({"deep": [value]}) != fingerprint({"deep": [other]})


def wrapped():
    """Optimizer around another one, whose automatic name is within its config."""
    return keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam(1e-3))


@pytest.mark.parametrize(
    "make",
    [
        lambda: FRAME.copy(),
        lambda: FRAME["size"].to_numpy(object),
        lambda: QuantileHead([0.1, 0.5, 0.9]),
        lambda: keras.optimizers.Adam(1e-3),
        wrapped,
        lambda: keras.losses.MeanSquaredError(),
        lambda: Training(epochs=np.int64(3)),
        lambda: {"size": np.float64(0.5), "none": None, "object": type("A", (), {})()},
        lambda: lambda x: x,
    ],
)
def test_what_is_made_again_has_the_same_fingerprint(make):
    assert fingerprint(make()) == fingerprint(make())


def test_containers_have_the_fingerprint_of_what_they_contain():
    assert fingerprint((1, [2.0])) == fingerprint([1, (2.0,)])
    assert fingerprint(np.float64(0.5)) == fingerprint(0.5)
    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})


def test_files_are_identified_by_their_names_and_content(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "one.parquet").write_bytes(b"1")
    first, file = fingerprint(tmp_path / "a"), fingerprint(tmp_path / "a" / "b" / "one.parquet")
    assert fingerprint(tmp_path / "a") == first != file
    (tmp_path / "a").rename(tmp_path / "moved")
    assert fingerprint(tmp_path / "moved") == first
    inside = tmp_path / "moved" / "b"
    (inside / "one.parquet").write_bytes(b"2")  # of the same size
    second = fingerprint(tmp_path / "moved")
    assert second != first
    assert fingerprint(inside / "one.parquet") != file
    (inside / "one.parquet").rename(inside / "two.parquet")
    assert fingerprint(tmp_path / "moved") not in (first, second)
    with pytest.raises(FileNotFoundError):
        fingerprint(tmp_path / "a")
    assert fingerprint(str(inside)) != fingerprint(inside)  # text is an option, not a path


@pytest.mark.slow
def test_a_fingerprint_is_the_same_in_another_process():
    line = """
import sys; from tests.utils.test_identity import *
print(fingerprint([FRAME, LONG, NormalHead(), keras.optimizers.Adam(0.1), Training(), wrapped]))
"""
    run = [sys.executable, "-c", line]
    found = {subprocess.run(run, capture_output=True, text=True).stdout for _ in range(2)}
    values = [FRAME, LONG, NormalHead(), keras.optimizers.Adam(0.1), Training(), wrapped]
    assert {fingerprint(values) + "\n"} == found


def test_the_names_of_differing_settings_are_sorted():
    assert differing({"b": "1", "a": "1", "c": "1"}, {"c": "1", "d": "1"}) == ["a", "b", "d"]
