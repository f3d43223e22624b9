"""A frame of its own that ends a training: what validates, what is seen, what is refused."""

import numpy as np
import pandas as pd
import pytest

from kerastrans import Forecaster
from tests.helpers.frames import CONTEXT, HORIZON, series, statics

SIZE = CONTEXT, HORIZON
QUICK = {"epochs": 2, "verbose": 0}


@pytest.fixture(scope="module")
def frame():
    return pd.concat([series("a", 90, 0), series("b", 70, 1, 500.0)], ignore_index=True)


@pytest.fixture
def few_epochs(monkeypatch):
    monkeypatch.setattr("kerastrans.forecasting.training.loop.MAX_EPOCHS", 2)


def split(frame, steps):
    back = frame.groupby("unique_id").cumcount(ascending=False)
    return frame[back >= steps], frame[back < steps]


@pytest.mark.slow
def test_rows_that_follow_validate_as_the_held_out_end_does(frame):
    train, end = split(frame, 14)
    given = Forecaster("nlinear", *SIZE).fit(train, validation=end, **QUICK)
    held = Forecaster("nlinear", *SIZE).fit(frame, validation_size=14, **QUICK)
    for name in ("loss", "val_loss"):
        np.testing.assert_allclose(
            given.history.history[name], held.history.history[name], rtol=1e-5
        )
    pd.testing.assert_frame_equal(given.predict(frame), held.predict(frame), rtol=1e-5)
    assert given.fitted.trained == held.fitted.trained


@pytest.mark.slow
def test_all_windows_of_a_long_validation_count():
    frame = series("a", 1300, 0)
    train, end = split(frame, 1200)
    given = Forecaster("nlinear", *SIZE).fit(train, validation=end, epochs=1, verbose=0)
    held = Forecaster("nlinear", *SIZE).fit(frame, validation_size=1200, epochs=1, verbose=0)
    losses = [forecaster.history.history["val_loss"] for forecaster in (given, held)]
    np.testing.assert_allclose(*losses, rtol=1e-5)


@pytest.mark.slow
def test_rows_that_follow_in_any_order_end_a_default_training_and_set_the_spread(frame, few_epochs):
    train, end = split(frame, 14)
    given = Forecaster("nlinear", *SIZE).fit(train, validation=end, verbose=0)
    shuffled = end.sample(frac=1, random_state=0)
    again = Forecaster("nlinear", *SIZE).fit(train, validation=shuffled, verbose=0)
    assert "val_loss" in given.history.history
    assert given.model.layers[-1].spread != 1
    pd.testing.assert_frame_equal(given.predict(frame), again.predict(frame))
    seen = given.fitted.chosen_by, given.fitted.trained
    assert [seen[0][name] - seen[1][name] for name in "ab"] == [14, 14]


@pytest.mark.slow
def test_other_series_validate_from_their_own_beginning(frame, few_epochs):
    other = series("c", 40, 2)
    forecaster = Forecaster("nlinear", *SIZE).fit(frame, validation=other, verbose=0)
    assert set(forecaster.fitted.trained) == {"a", "b"}
    assert set(forecaster.fitted.chosen_by) == {"c"}
    forecaster = Forecaster("nlinear", *SIZE).fit(frame, validation=other, **QUICK)
    alone = Forecaster("nlinear", *SIZE).fit(frame, **QUICK)
    points = [x.predict(frame)[["unique_id", "ds", "nlinear"]] for x in (forecaster, alone)]
    pd.testing.assert_frame_equal(*points)  # only the spread is measured there


@pytest.mark.slow
def test_a_series_without_a_value_does_not_validate(frame, few_epochs):
    train, end = split(frame, 14)
    end = end.assign(y=end["y"].where(end["unique_id"] == "a"))
    given = Forecaster("nlinear", *SIZE).fit(train, validation=end, **QUICK)
    alone = Forecaster("nlinear", *SIZE)
    alone.fit(train, validation=end[end["unique_id"] == "a"], **QUICK)
    assert given.history.history == alone.history.history


@pytest.mark.slow
def test_a_wide_frame_with_a_gap_before_its_validation(frame):
    wide = frame.pivot(index="ds", columns="unique_id", values="y")[["a"]]
    train, end = wide.iloc[:60], wide.iloc[70:]
    forecaster = Forecaster("nlinear", *SIZE).fit(train, validation=end, **QUICK)
    assert np.isfinite(forecaster.history.history["val_loss"]).all()


@pytest.mark.slow
def test_an_interrupted_training_resumes_with_the_same_validation_alone(frame, tmp_path):
    train, end = split(frame, 14)
    options = {"verbose": 0, "checkpoint": tmp_path / "c", "epochs": 2}
    Forecaster("nlinear", *SIZE).fit(train, validation=end, **options)
    with pytest.raises(ValueError, match="data"):
        Forecaster("nlinear", *SIZE).fit(train, validation=end.assign(y=end["y"] + 1), **options)


@pytest.mark.slow
def test_it_reads_covariates_by_the_rows_that_train(frame):
    static, frame = statics(), frame.assign(price=np.arange(len(frame), dtype=float))
    train, end = split(frame, 14)
    forecaster = Forecaster("tide", *SIZE, future=["price"], hidden_dim=8)
    forecaster.fit(train, validation=end, static=static, **QUICK)
    without = Forecaster("tide", *SIZE, future=["price"], hidden_dim=8)
    without.fit(train, static=static, **QUICK)
    assert forecaster.fitted.covariates == without.fitted.covariates
    assert len(forecaster.history.history["val_loss"]) == 2


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"validation": 14}, TypeError, "validation must be a DataFrame, got int"),
        ({"validation_size": 14}, ValueError, "validation and validation_size=14 cannot"),
        ({"rows": slice(-20, None)}, ValueError, "validation of 'b' begins at .*not after"),
        ({"rows": slice(-3, None)}, ValueError, "validation holds no 7 steps of a series"),
    ],
)
def test_what_cannot_validate_is_refused_and_changes_nothing(frame, options, error, message):
    train, end = split(frame, 14)
    rows = options.pop("rows", None)
    options = {"validation": end if rows is None else frame.iloc[rows], **options}
    if rows is not None and rows.start == -3:
        train = frame.iloc[:-3]
    forecaster = Forecaster("nlinear", *SIZE)
    with pytest.raises(error, match=message):
        forecaster.fit(train, **options, **QUICK)
    assert forecaster.fitted is None


def test_a_backtest_that_trains_anew_refuses_it(frame):
    train, end = split(frame, 14)
    forecaster = Forecaster("nlinear", *SIZE)
    with pytest.raises(ValueError, match="validation and refit=True cannot be combined"):
        forecaster.backtest(train, refit=True, validation=end, **QUICK)
