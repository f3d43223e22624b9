"""What `auto` does where series are too short to train on, or the training is of no use."""

import numpy as np
import pandas as pd
import pytest

from kerastrans import Forecaster, from_pretrained
from kerastrans.forecasting.training import fallback
from kerastrans.forecasting.training.data import TrainingData
from kerastrans.forecasting.training.guard import Guard


def published(**options):
    """Return the published weights of `auto`, with the season of hourly steps."""
    options = {"model_options": {"season": 24}, "verbose": False, **options}
    return from_pretrained("kerastrans_zero_2", 6, **options)


def hourly(num_series=1, rows=60, seed=0):
    rng = np.random.default_rng(seed)
    times = pd.date_range("2024-01-01", periods=rows, freq="h")
    wave = 10 + np.sin(np.arange(rows) / 4)
    return pd.concat(
        pd.DataFrame({"unique_id": f"s{i}", "ds": times, "y": wave + rng.normal(0, 0.1, rows)})
        for i in range(num_series)
    )


@pytest.fixture(scope="module")
def fitted():
    return Forecaster(prediction_length=6, bounds=(0, None)).fit(hourly())


def test_short_series_have_the_forecast_of_published_weights_and_are_told(capsys):
    frame = hourly()
    forecaster = Forecaster(prediction_length=6).fit(frame)
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(
        "auto: kerastrans_zero_2, published weights without training: 1 series of"
    )
    assert "60 rows" in line
    expected = published().predict(frame)
    pd.testing.assert_frame_equal(forecaster.predict(frame), expected)
    assert forecaster.history is None
    assert forecaster.card["name"] == "kerastrans_zero_2"
    assert forecaster.card["parameters"] == published().card["parameters"] == 88_732
    assert forecaster.clone().config.model == "auto"
    assert capsys.readouterr().out == ""


@pytest.mark.slow
@pytest.mark.exhaustive
def test_covariates_act_without_training(tmp_path):
    rng = np.random.default_rng(1)
    frame = hourly(2).assign(
        price=lambda x: rng.normal(size=len(x)),
        open=lambda x: rng.choice(["yes", "no"], len(x)),
        y=lambda x: x["y"] + 3 * x["price"] + 2 * (x["open"] == "yes"),
    )
    known = frame[frame["ds"] < frame["ds"].max() - pd.Timedelta("5h")]
    ahead = frame[~frame["ds"].isin(known["ds"])].drop(columns="y")
    forecaster = Forecaster(prediction_length=6, future=["price", "open"]).fit(known, verbose=0)
    options = {"future": ["price", "open"], "categories": {"open": ["yes", "no"]}}
    untrained = published(**options)
    rows = forecaster.predict(known, future=ahead)
    assert forecaster.alias == "kerastrans_zero_2"
    pd.testing.assert_frame_equal(rows, untrained.predict(known, future=ahead), atol=1e-4)
    together = rows.merge(frame, on=["unique_id", "ds"])
    errors = (together["kerastrans_zero_2"] - together["y"]).abs()
    assert errors.mean() < 0.3  # 3 without covariates
    forecaster.save(tmp_path / "saved")
    again = Forecaster.load(tmp_path / "saved").predict(known, future=ahead)
    pd.testing.assert_frame_equal(again, rows)


@pytest.mark.slow
def test_a_wide_frame_is_forecast_column_by_column():
    long = hourly(3)
    wide = long.pivot_table(index="ds", columns="unique_id", values="y")
    forecaster = Forecaster(prediction_length=6).fit(wide, verbose=0)
    rows = forecaster.predict(wide).sort_values(["unique_id", "ds"], ignore_index=True)
    expected = Forecaster(prediction_length=6).fit(long, verbose=0).predict(long)
    pd.testing.assert_frame_equal(rows, expected, check_dtype=False)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_the_file_stays_auto_and_repeats_the_forecast(fitted, tmp_path):
    frame = hourly()
    fitted.save(tmp_path / "saved")
    loaded = Forecaster.load(tmp_path / "saved")
    pd.testing.assert_frame_equal(loaded.predict(frame), fitted.predict(frame))
    assert loaded.get_config() == fitted.get_config()
    assert (loaded.alias, loaded.context_length) == (fitted.alias, fitted.context_length)
    options = {"windows": 2, "refit": True, "verbose": 0}
    rows = [x.backtest(frame, **options) for x in (loaded, fitted)]
    pd.testing.assert_frame_equal(*rows)


@pytest.mark.slow
def test_a_series_that_has_grown_is_trained_on(fitted):
    frame = hourly(rows=700)
    again = fitted.clone().fit(frame, time_limit=1e-6, restore_published=False, verbose=0)
    assert again.alias == "tide"
    assert again.fine_tuning is None


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_model_that_published_weights_beat_is_not_used(capsys, tmp_path):
    frame = hourly(rows=700)
    forecaster = Forecaster(prediction_length=6, calendar=False, bounds=(0, None), alias="f")
    forecaster.fit(frame, time_limit=1e-6, verbose=2)  # one step
    verdict = forecaster.fine_tuning
    assert verdict["kept"] == "published"
    assert verdict["loss_change"] > verdict["standard_error"] > 0
    assert verdict["windows"] == 61  # in the last 66 rows
    line = capsys.readouterr().out.splitlines()[-1]
    assert line.startswith("auto: kerastrans_zero_2, published weights without training: on 61")
    assert f"tide differs from theirs by {100 * verdict['loss_change']:+.1f} +- " in line
    untrained = published(bounds=(0, None), alias="f")
    rows = forecaster.predict(frame)
    pd.testing.assert_frame_equal(rows, untrained.predict(frame))
    assert forecaster.fitted.trained == {}
    assert list(forecaster.fitted.chosen_by) == ["s0"]  # by its last rows
    forecaster.save(tmp_path / "saved")
    loaded = Forecaster.load(tmp_path / "saved")
    pd.testing.assert_frame_equal(loaded.predict(frame), rows)
    assert loaded.fine_tuning == verdict
    assert loaded.clone().config.model == "auto"


@pytest.mark.slow
@pytest.mark.parametrize(("below", "kept"), [(0.11, "trained"), (0.09, "published")])
def test_training_has_to_be_better_by_a_standard_error(monkeypatch, below, kept):
    # Two series with as many windows: the standard error is 0.1.
    monkeypatch.setattr(Guard, "_losses", lambda guard, state: losses.pop(0))
    frame = hourly(2, rows=700)
    losses = [np.ones(122), np.repeat([0.9, 1.1], 61) - below]
    forecaster = Forecaster(prediction_length=6, calendar=False)
    forecaster.fit(frame, time_limit=1e-6, verbose=0)
    assert forecaster.fine_tuning["kept"] == kept


@pytest.mark.parametrize(
    ("num_series", "rows", "needed"),
    [(1, 22, True), (1, 599, True), (1, 600, False), (10, 59, True), (10, 60, False)],
)
def test_a_hundred_forecasts_are_enough_to_train_on(num_series, rows, needed):
    assert is_needed(hourly(num_series, rows)) == needed


@pytest.mark.parametrize(("rows", "needed"), [(11, False), (12, True), (29, True), (30, False)])
def test_series_of_three_seasons_and_less_than_five_forecasts_are_not_trained_on(rows, needed):
    frame = hourly(60, rows)
    dates = pd.date_range("2000", periods=rows, freq="QS")
    frame["ds"] = np.tile(dates, 60)
    assert is_needed(frame) == needed
    assert not is_needed(frame.assign(load=1.0), future=["load"])


@pytest.mark.parametrize(
    "options",
    [
        {"model": "nlinear"},
        {"head": "student_t"},
        {"calendar": True},
        {"context_length": 12},
        {"scaler": "mase"},
        {"optimizer": "sgd"},
        {"static": pd.DataFrame({"unique_id": ["s0"], "size": [1.0]})},
    ],
)
def test_what_published_weights_have_not_is_trained(options):
    assert not is_needed(hourly(), **options)


@pytest.mark.parametrize("kind", ["past", "future"])
def test_covariates_need_no_training(kind):
    frame = hourly()
    assert is_needed(frame.assign(load=np.arange(len(frame))), **{kind: ["load"]})


def is_needed(frame, static=None, **options):
    config = Forecaster(prediction_length=6, **options).config
    data = TrainingData.read(config, frame, static=static)
    return fallback.is_possible(config, data) and fallback.is_needed(config, data)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"epochs": 1}, {"validation_size": 12, "time_limit": 1e-6}])
def test_a_fit_that_is_told_how_to_train_trains(options):
    forecaster = Forecaster(prediction_length=6).fit(hourly(), verbose=0, **options)
    assert forecaster.alias == "tide"


@pytest.mark.slow
def test_a_series_of_one_value_is_forecast():
    frame = hourly(rows=1)
    rows = Forecaster(prediction_length=6, alias="f").fit(frame, freq="h", verbose=0).predict(frame)
    assert np.isfinite(rows["f"]).all()


@pytest.mark.slow
def test_a_backtest_keeps_what_the_first_origin_has_chosen():
    options = {"windows": 3, "refit": True, "time_limit": 1e-6, "verbose": 0}
    rows = Forecaster(prediction_length=6, alias="f").backtest(hourly(rows=612), **options)
    zero = published(alias="f")
    pd.testing.assert_frame_equal(rows, zero.backtest(hourly(rows=612), windows=3))


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_backtest_trains_at_all_origins_if_it_has_trained_at_the_first(monkeypatch):
    verdicts, check = [], Guard.check

    def keep_the_first(guard, history):
        verdicts.append(guard)
        return {} if len(verdicts) == 1 else check(guard, history)

    monkeypatch.setattr(Guard, "check", keep_the_first)
    forecaster = Forecaster(prediction_length=6, calendar=False, alias="f")
    options = {"windows": 3, "refit": True, "time_limit": 1e-6, "verbose": 0}
    rows = forecaster.backtest(hourly(rows=712), **options)
    assert len(rows) == 18
    assert np.isfinite(rows["f"]).all()
    assert len(verdicts) == 1


def test_models_that_decode_have_no_rival_whatever_their_alias():
    config = Forecaster(prediction_length=6, alias="f").config
    data = TrainingData.read(config, hourly(rows=700))
    deepar = Forecaster("deepar", 12, 6).fit(hourly(), epochs=0, verbose=0).model
    assert fallback.rival_state(config, data, deepar) is None
    wide = hourly(2, rows=700).pivot_table(index="ds", columns="unique_id", values="y")
    nlinear = Forecaster("nlinear", 12, 6).fit(wide, epochs=0, verbose=0).model
    assert fallback.rival_state(config, TrainingData.read(config, wide), nlinear) is None
