import numpy as np
import pandas as pd
import pytest

from kerastrans.evaluation.columns import (
    check_alias,
    check_columns,
    exceeds_column,
    interval_columns,
    model_names,
    read_columns,
    split_models,
)
from kerastrans.utils.validation import check_percents, check_thresholds

FRAME = pd.DataFrame(
    columns=[
        *("unique_id", "ds", "cutoff", "y", "a", "a-median", "a-lo-95", "a-hi-95", "a-lo-80"),
        *("a-hi-80", "a-b", "a-b-lo-97.5", "a-b-hi-97.5", "c", "c-lo-80.0", "c-hi-80.0", "c-lo-50"),
    ]
)


def test_the_columns_of_each_model_are_found():
    assert model_names(FRAME) == ["a", "a-b", "c"]
    first, second, third = (read_columns(FRAME, name) for name in model_names(FRAME))
    assert first.intervals == {80: ("a-lo-80", "a-hi-80"), 95: ("a-lo-95", "a-hi-95")}
    assert list(first.quantiles.values()) == [
        "a-lo-95",
        "a-lo-80",
        "a-median",
        "a-hi-80",
        "a-hi-95",
    ]
    assert list(first.quantiles) == pytest.approx([0.025, 0.1, 0.5, 0.9, 0.975])
    assert (second.median, second.intervals) == ("a-b", {97.5: ("a-b-lo-97.5", "a-b-hi-97.5")})
    assert third.intervals == {80: ("c-lo-80.0", "c-hi-80.0")}  # lower bounds alone do not count
    assert list(split_models(FRAME)["a-b"]) == [
        *("unique_id", "ds", "cutoff", "y", "a-b", "a-b-lo-97.5", "a-b-hi-97.5")
    ]


def test_column_names_survive_a_round_trip():
    names = [name for level in (50, 80.0, 97.5) for name in interval_columns("x", level)]
    assert names == ["x-lo-50", "x-hi-50", "x-lo-80", "x-hi-80", "x-lo-97.5", "x-hi-97.5"]
    assert list(read_columns(pd.DataFrame(columns=["x", *names])).intervals) == [50, 80, 97.5]


def test_near_numbers_have_their_own_columns():
    thresholds = check_thresholds([4_500_000, 4_500_001.0, 0.1 + 0.2, 0.3, 1e20, np.float32(0.1)])
    names = [exceeds_column("x", threshold) for threshold in thresholds]
    assert names == [
        f"x-exceeds-{number}"
        for number in ("0.1", "0.3", "0.30000000000000004", "4500000", "4500001", "1e+20")
    ]
    assert model_names(pd.DataFrame(columns=["x", *names])) == ["x"]
    levels = check_percents([99.99999, 99.999999])
    names = [name for level in levels for name in interval_columns("x", level)]
    assert tuple(read_columns(pd.DataFrame(columns=["x", *names])).intervals) == levels
    with pytest.raises(ValueError, match=r"thresholds 0.1 and .*0.1\)? have one name, 0.1"):
        check_thresholds([0.1, np.float32(0.1)])


@pytest.mark.parametrize("alias", ["y", "ds", "cutoff", "", "a-median", "a-lo-80", "a-hi-2.5", 3])
def test_alias_equal_to_another_column_is_refused(alias):
    with pytest.raises(ValueError, match="alias must be a str other than 'unique_id', 'ds'"):
        check_alias(alias)


def test_frames_without_forecasts_are_refused():
    with pytest.raises(ValueError, match=r"holds no forecasts, only \['unique_id', 'ds'\]"):
        read_columns(FRAME[["unique_id", "ds"]])
    with pytest.raises(ValueError, match="expected a DataFrame, got dict"):
        check_columns({}, "y")
