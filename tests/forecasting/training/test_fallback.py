"""What `auto` does where series are too short to train on, or the training is of no use."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from kerastrans import Forecaster, from_pretrained
from kerastrans.forecasting.training import fallback, loop, time_limit
from kerastrans.forecasting.training.comparison import (
    AVERAGE,
    PUBLISHED,
    TRAINED,
    Comparison,
    reason_not_to_train,
)
from kerastrans.forecasting.training.data import TrainingData


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


@pytest.fixture
def two_steps(monkeypatch):
    """A training is two steps."""
    monkeypatch.setattr(loop, "MAX_EPOCHS", 1)
    monkeypatch.setattr(loop, "MAX_STEPS_PER_EPOCH", 2)


@pytest.fixture
def decided(monkeypatch, two_steps):
    """A list of what comparisons decide, the first one first."""
    kept, decide = [], Comparison.decide

    def decided(comparison, *args):
        verdict = decide(comparison, *args)
        return replace(verdict, kept=kept.pop(0)) if kept else verdict

    monkeypatch.setattr(Comparison, "decide", decided)
    return kept


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
def test_a_model_that_published_weights_beat_is_not_used(capsys, tmp_path, two_steps):
    frame = hourly(rows=700)
    forecaster = Forecaster(prediction_length=6, calendar=False, bounds=(0, None), alias="f")
    forecaster.fit(frame, verbose=2)
    verdict = forecaster.fine_tuning
    assert verdict["kept"] == "published"
    assert verdict["loss_change"] > verdict["standard_error"] > 0
    assert verdict["windows"] == 61  # in the last 66 rows
    line = capsys.readouterr().out.splitlines()[-1]
    assert line.startswith("auto: kerastrans_zero_2, published weights without training: on 61")
    assert (
        f"tide differs from that of kerastrans_zero_2 by {100 * verdict['loss_change']:+.1f} +- "
        in line
    )
    assert verdict["loss_change"] > verdict["average_change"] > 0
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


@pytest.mark.parametrize(
    ("trained", "average", "of_ends", "kept"),
    [
        (1.2, 1.01, True, PUBLISHED),
        (1.2, 0.99, True, AVERAGE),
        (0.82, 0.9, True, AVERAGE),  # better by less than the standard error, 10 %
        (0.79, 0.9, True, TRAINED),
        (0.79, 0.9, False, AVERAGE),  # whole series were held out
        (0.6, 1.01, True, TRAINED),
    ],
)
def test_the_loss_of_held_out_windows_decides(monkeypatch, trained, average, of_ends, kept):
    class Forecasts:
        targets = parameters = np.zeros((4, 1, 1))
        windows = type("Windows", (), {"series": np.arange(4), "cuts": np.arange(4)})

    compared = Comparison.__new__(Comparison)
    compared.held_out, compared.published = Forecasts.windows, np.zeros((4, 1, 1, 1))
    compared.averages, compared.is_of_ends = True, of_ends
    compared.clusters = [np.array([0, 0, 1, 1])]  # two series
    noise = np.array([0.9, 0.9, 1.1, 1.1])
    losses = [np.ones(4), trained + average * (noise - 1), average * np.ones(4)]
    monkeypatch.setattr(compared, "_quantiles", lambda *_: np.zeros((4, 1, 1, 1)), raising=False)
    monkeypatch.setattr(compared, "_losses", lambda *_: losses.pop(0), raising=False)
    verdict = compared.decide(None, Forecasts)
    assert verdict.kept == kept
    assert verdict.loss_change == pytest.approx(trained - 1)
    assert verdict.average_change == pytest.approx(average - 1)


@pytest.mark.slow
def test_the_average_is_that_of_both_forecasts_and_is_saved(decided, tmp_path, capsys):
    frame = hourly(2, rows=700)
    decided += [AVERAGE]
    forecaster = Forecaster(prediction_length=6).fit(frame)
    assert "auto: the average of tide and kerastrans_zero_2: on " in capsys.readouterr().out
    decided += [TRAINED]
    trained = Forecaster(prediction_length=6, alias="f").fit(frame, verbose=0)
    mean, rows = forecaster.predict(frame), trained.predict(frame)
    expected = (rows["f"] + published(alias="f").predict(frame)["f"]) / 2
    np.testing.assert_allclose(mean["tide_kerastrans_zero_2"], expected, rtol=1e-4)
    assert forecaster.fitted.trained == trained.fitted.trained
    forecaster.save(tmp_path / "saved")
    loaded = Forecaster.load(tmp_path / "saved")
    pd.testing.assert_frame_equal(loaded.predict(frame), mean)
    assert loaded.clone().config.model == "auto"
    loaded.fit(frame, epochs=1, verbose=0)  # trains both
    assert loaded.alias == forecaster.alias


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("kept", [PUBLISHED, AVERAGE, TRAINED])
def test_decoders_and_wide_frames_are_compared_too(kept, decided):
    decided += [kept, kept]
    wide = hourly(2, rows=700).pivot_table(index="ds", columns="unique_id", values="y")
    options = {"prediction_length": 6, "alias": "f"}
    forecaster = Forecaster(**options).fit(wide, verbose=0)
    assert forecaster.fine_tuning["kept"] == kept
    assert len(forecaster.predict(wide)) == 12
    frame = hourly(rows=2300).assign(load=lambda x: np.arange(len(x)) % 7.0)
    known, ahead = frame[:-6], frame[-6:].drop(columns="y")
    forecaster = Forecaster(future=["load"], **options).fit(known, verbose=0)
    assert (forecaster.fine_tuning["kept"], forecaster.card is None) == (kept, kept != PUBLISHED)
    assert np.isfinite(forecaster.predict(known, future=ahead)["f"]).all()


def test_a_limit_too_short_for_a_step_trains_nothing(monkeypatch, capsys):
    monkeypatch.setattr(time_limit.TimeLimit, "left", -5.0)
    with pytest.warns(time_limit.TimeLimitWarning, match="time_limit=1 was exceeded by 5 s"):
        forecaster = Forecaster(prediction_length=6).fit(hourly(rows=700), time_limit=1)
    (line,) = capsys.readouterr().out.splitlines()
    assert "published weights without training: time_limit=1 leaves 0 s, and compiling" in line
    assert (forecaster.alias, forecaster.history) == ("kerastrans_zero_2", None)


def test_a_panel_of_constants_is_not_trained_on(capsys):
    forecaster = Forecaster(prediction_length=6).fit(hourly(rows=700).assign(y=3.0))
    assert "without training: the series are constant." in capsys.readouterr().out
    assert forecaster.predict(hourly(rows=700).assign(y=3.0)).shape == (6, 7)


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
    return fallback.may_replace(config, data) and reason_not_to_train(data) is not None


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
def test_a_backtest_trains_at_all_origins_if_it_has_trained_at_the_first(decided):
    decided += [TRAINED]
    forecaster = Forecaster(prediction_length=6, calendar=False, alias="f")
    options = {"windows": 3, "refit": True, "verbose": 0}
    rows = forecaster.backtest(hourly(rows=712), **options)
    assert len(rows) == 18
    assert np.isfinite(rows["f"]).all()
