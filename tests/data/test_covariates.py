import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from kerastrans.data.covariates import Column, Covariates
from kerastrans.data.panel import read_panel
from tests.helpers.frames import long_frame


def test_columns_survive_a_json_round_trip():
    frame = pd.DataFrame({"price": [1.0, 3.0], "day": ["work", None]})
    covariates = Covariates.of(frame, past=["price"], future=["day"])
    again = Covariates.from_dict(json.loads(json.dumps(covariates.to_dict())))
    assert again == covariates
    np.testing.assert_array_equal(again.encode(frame, "future"), [[1.0], [0.0]])


def test_a_constant_column_becomes_zero():
    column = pd.Series([0.1] * 10)
    np.testing.assert_array_equal(Column.of(column, "x").encode(column), 0.0)


def test_huge_numbers_are_standardised():
    column = pd.Series([1e300, 3e300])
    np.testing.assert_allclose(Column.of(column, "x").encode(column), [-1.0, 1.0])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1j, 2j], "covariate 'x' must be real numbers or text, not complex"),
        ([np.nan, np.inf], "covariate 'x' has no finite value"),
    ],
)
def test_invalid_columns_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        Column.of(pd.Series(values), "x")


@pytest.mark.parametrize("value", [np.inf, 1e300])
def test_value_outside_the_range_of_float32_is_refused(value):
    """An infinite one became 3.4e38."""
    column = Column.of(pd.Series([1.0, 3.0]), "x")
    with pytest.raises(ValueError, match=r"covariate 'x' has the value .*, too large"):
        column.encode(pd.Series([1.0, value]))


def test_a_text_that_training_did_not_have_is_told():
    column = Column.of(pd.Series(["work", "rest"]), "kind")
    covariates = Covariates(future=(column,))
    frame = pd.DataFrame({"kind": ["work", "holiday", None, "work "]})
    with pytest.warns(UserWarning, match="'kind' has 2 values .* seen in training, such as 'holi"):
        codes = covariates.encode(frame, "future")
    assert codes[:, 0].tolist() == [2, 0, 0, 0]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (pd.date_range("2024", periods=2), "'x' must be numbers or text, got datetime64"),
        (pd.to_timedelta([1, 2], "h"), "'x' must be numbers or text, got timedelta64"),
        ([1j, 2], "'x' must be real numbers or text, not complex"),
    ],
)
def test_covariates_are_numbers_or_text(values, message):
    with pytest.raises(ValueError, match=message):
        Column.of(pd.Series(values), "x")


def test_the_text_among_numbers_is_shown():
    column = Column.of(pd.Series([1.0, 3.0]), "x")
    with pytest.raises(ValueError, match="'x' must be numeric, got object, such as '1,5'"):
        column.encode(pd.Series([1.0, "1,5"], dtype=object))


def test_static_frame_must_have_one_row_per_series():
    frame = long_frame([9, 9])
    static = pd.DataFrame({"unique_id": ["s0", "s1"], "size": [1.0, 3.0]})
    covariates = Covariates.of(frame, static)
    panel = read_panel(frame, covariates=covariates, static=static[::-1])
    np.testing.assert_array_equal(panel.static, [[-1.0], [1.0]])
    panel = read_panel(frame, covariates=covariates, static=static[1:])
    assert panel.faults == {"s0": "no row in the frame of static covariates"}
    with pytest.raises(ValueError, match="static must have one row per series, 's1' has several"):
        read_panel(frame, covariates=covariates, static=static.iloc[[0, 1, 1]])
    with pytest.raises(ValueError, match=r"static covariates \['size'\] are missing"):
        read_panel(frame, covariates=covariates)


def test_a_covariate_of_the_future_alone_is_refused():
    """It would have no known value in the history, and no effect."""
    frame = long_frame([9]).assign(price=np.arange(9.0))
    covariates = Covariates.of(frame, future=["price"])
    past, ahead = frame[:6], frame[6:].drop(columns="y")
    panel = read_panel(past, covariates=covariates, future=ahead)
    assert np.isfinite(panel.future[1:]).all()
    with pytest.raises(ValueError, match=r"covariates \['price'\] are missing: the columns are"):
        read_panel(past.drop(columns="price"), covariates=covariates, future=ahead)


def test_held_out_steps_are_excluded_from_covariate_statistics():
    """By the clock: "s1" has gaps, and a row of it is before its last two steps."""
    frame = long_frame([6, 6]).drop(index=[7, 8, 10])
    frame["price"] = [1.0, 3.0, 1.0, 3.0, 900.0, 900.0, 1.0, 3.0, 900.0]
    frame["day"] = ["a", "b"] * 2 + ["c"] * 2 + ["a", "b", "c"]
    frame = frame.iloc[[3, 1, 0, 2, 5, 4, 8, 7, 6]]
    covariates = Covariates.named(past=["price"], future=["day"])
    with pytest.warns(UserWarning, match="in training, such as") as told:
        panel = read_panel(frame, covariates=covariates, held_out=2)
    found = [str(x.message) for x in told]
    assert found == [
        "covariate 'price' has 3 values far outside of those in training, such as 900.0.",
        "covariate 'day' has 3 values that were not seen in training, such as 'c': they are read "
        "as missing.",
    ]
    assert panel.covariates.past[0] == Column("price", 2.0, 1.0, reach=1.0)
    assert panel.covariates.future[0].categories == ("a", "b")
    np.testing.assert_array_equal(panel.past[1:7, 0], [-1, 1, -1, 1, 898, 898])
    np.testing.assert_array_equal(panel.future[1:7, 0], [1, 2, 1, 2, 0, 0])
    whole = read_panel(frame, covariates=covariates, held_out=6)  # nothing would be left
    assert whole.covariates == Covariates.of(frame, past=["price"], future=["day"])


def test_covariate_known_only_in_held_out_steps_is_refused():
    frame = long_frame([6]).assign(price=[np.nan] * 4 + [1.0, 2.0])
    with pytest.raises(ValueError, match="'price' has no finite value in the training rows"):
        read_panel(frame, covariates=Covariates.named(past=["price"]), held_out=2)


def test_a_covariate_that_never_changed_is_named_and_so_is_another_value_of_it():
    """A forecast of 10 became 3697 without a word."""
    frame = long_frame([9, 9]).assign(promo=0.5, price=np.tile(np.arange(9.0), 2))
    with pytest.warns(UserWarning, match="'promo' never changes in the training rows") as told:
        covariates = Covariates.of(frame, past=["promo"], future=["price"])
    assert len(told) == 1
    covariates.encode(frame, "past")  # no warning is an error here
    covariates.encode(frame.assign(price=frame["price"] + 5), "future")
    with pytest.warns(UserWarning, match="'promo' has 18 values far outside .* as 0.6"):
        covariates.encode(frame.assign(promo=0.6), "past")
    with pytest.warns(UserWarning, match="'price' has 2 values far outside .* as 1000.0"):
        covariates.encode(frame.assign(price=frame["price"].replace(8, 1000)), "future")


@pytest.mark.parametrize("level", [0.0, 1e6, -1e9])
def test_numbers_of_published_weights_are_centred_before_they_are_float32(level):
    """Series at other levels, and gaps, change nothing."""
    x = np.random.default_rng(0).normal(size=18)
    x[[3, 12]] = np.nan
    frame = long_frame([9, 9]).assign(price=x, day=["a", "b"] * 9)
    shifted = frame.assign(price=x + level * np.repeat([1, -2], 9))
    covariates = Covariates.named(past=["price"], future=["day"])
    covariates = replace(covariates, future=(Column("day", categories=("a", "b")),))
    panel, moved = (read_panel(each, covariates=covariates) for each in (frame, shifted))
    assert panel.past.dtype == moved.past.dtype == "float32"
    np.testing.assert_allclose(np.nanmean(panel.past[1:10]), 0, atol=1e-7)
    np.testing.assert_allclose(moved.past, panel.past, atol=1e-6 + 1e-15 * abs(level))
    np.testing.assert_array_equal(moved.future, panel.future)
