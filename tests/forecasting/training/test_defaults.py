"""What `fit` chooses where it is not told."""

import keras
import numpy as np
import pandas as pd
import pytest

from kerastrans import Forecaster
from kerastrans.data.panel import read_panel
from kerastrans.data.time.seasons import Seasons
from kerastrans.forecasting.training import defaults
from kerastrans.forecasting.training.early_stopping import DECAY, EarlyStopping


def wave(length=400, name="w", freq="D"):
    rng = np.random.default_rng(0)
    times = pd.date_range("2024-01-01", periods=length, freq=freq)
    y = 10 + 3 * np.sin(2 * np.pi * np.arange(length) / 7) + rng.normal(size=length)
    return pd.DataFrame({"unique_id": name, "ds": times, "y": y})


@pytest.mark.parametrize(
    ("series", "length", "steps"),
    [
        (1, 10_000, 64 * 12),  # 64 forecasts
        (1, 1_000, 8 * 12),  # a tenth
        (14, 10_000, 5 * 12),  # 64 forecasts of all together
        (100, 10_000, 12),
        (1, 60, 12),  # one at least
        (1, 24, 0),  # no window would train
    ],
)
def test_the_end_of_each_series_is_held_out(series, length, steps):
    assert defaults.held_out_steps([length] * series, 12) == steps


@pytest.mark.parametrize(
    ("series", "length", "expected"),
    [
        (500, 59, defaults.HeldOut(12, 64 / 500)),  # less than five forecasts
        (60, 24, defaults.HeldOut(12, 12 / 60)),
        (500, 60, defaults.HeldOut(12)),
        (49, 59, defaults.HeldOut(12)),  # too few to hold some out
        (49, 20, defaults.HeldOut(0)),
        (1, 10_000, defaults.HeldOut(64 * 12)),
    ],
)
def test_of_many_short_series_some_are_held_out(series, length, expected):
    assert defaults.choose_hold_out([length] * series, 12) == expected


def many_short():
    """Series of 14 years, as half of M3's."""
    return pd.concat([wave(14, f"w{number:02}", "YS") for number in range(60)])


@pytest.mark.slow
def test_short_series_train_to_their_ends_with_a_context_as_long_as_the_forecast(one_epoch):
    frame = many_short()
    options = {"prediction_length": 6, "optimizer": keras.optimizers.Adam()}  # keeps them held out
    forecaster = Forecaster("nlinear", **options).fit(frame, verbose=0)
    assert forecaster.context_length == 8
    fitted, (ends,) = forecaster.fitted, {*forecaster.fitted.chosen_by.values()}
    assert len(fitted.chosen_by) == 12  # a fifth
    assert len(fitted.trained) == 48
    assert not set(fitted.chosen_by) & set(fitted.trained)
    assert set(fitted.trained.values()) == {ends}
    # Other values in what is held out change the loss that ends the training, and no weight.
    changed = frame.copy()
    changed.loc[changed["unique_id"].isin(list(fitted.chosen_by)), "y"] **= 2
    second = forecaster.clone().fit(changed, verbose=0)
    assert second.history.history["loss"] == forecaster.history.history["loss"]
    assert second.history.history["val_loss"] != forecaster.history.history["val_loss"]


@pytest.mark.parametrize(
    ("freq", "length", "horizon", "context"),
    [
        ("h", 5_000, 24, 336),  # two weeks
        ("h", 500, 24, 72),  # a week is not found four times
        ("h", 5_000, 168, 504),  # three forecasts
        ("h", 5_000, 400, 512),
        ("MS", 120, 12, 36),
        ("YS", 30, 6, 18),
        ("YS", 14, 6, 2),  # beside a forecast that is held out, and one that trains
        ("QS", 15, 8, 7),
    ],
)
def test_the_context_is_chosen_by_frequency_and_lengths(freq, length, horizon, context):
    frame = wave(length, freq=freq)
    forecaster = Forecaster("last_value", None, horizon).fit(frame)
    assert forecaster.context_length == context
    assert forecaster.clone().context_length is None
    assert Forecaster("last_value", 9, horizon).fit(frame).context_length == 9


@pytest.mark.slow
def test_a_chosen_context_is_kept_in_the_file_and_by_a_further_fit(tmp_path):
    frame = wave(200)
    forecaster = Forecaster("nlinear", prediction_length=7).fit(frame, epochs=1, verbose=0)
    context = forecaster.context_length
    forecaster.save(tmp_path / "saved")
    loaded = Forecaster.load(tmp_path / "saved")
    assert loaded.context_length == context
    assert loaded.fitted.seasons == Seasons(7, (365,), (7,))
    pd.testing.assert_frame_equal(loaded.predict(frame), forecaster.predict(frame))
    forecaster.fit(wave(40), epochs=1, verbose=0)
    assert forecaster.context_length == context
    rows = forecaster.backtest(wave(60), windows=2, refit=True, epochs=1, verbose=0)
    assert len(rows) == 14


def test_the_prediction_length_has_no_default():
    with pytest.raises(ValueError, match="prediction_length must be an integer of at least 1"):
        Forecaster("nlinear")


def test_a_failed_fit_chooses_no_context():
    forecaster = Forecaster("nlinear", prediction_length=7)
    with pytest.raises(ValueError, match="no window to train on"):
        forecaster.fit(wave(5), epochs=1, verbose=0)
    assert forecaster.context_length is None


@pytest.mark.slow
def test_training_ends_where_the_held_out_steps_stop_improving(monkeypatch):
    monkeypatch.setattr(
        "kerastrans.forecasting.training.fit.finish",
        lambda errors, windows, *_: (windows, None, 9.0),
    )
    frame = wave(400)
    forecaster = Forecaster("nlinear", 14, 7).fit(frame[:300], verbose=0)
    losses = forecaster.history.history["val_loss"]
    assert 9 < len(losses) <= 100
    steps = defaults.held_out_steps([300], 7)
    y = frame["y"].to_numpy()
    cuts = range(300 - steps, 300 - 7 + 1)
    histories = np.stack([y[cut - 14 : cut] for cut in cuts])[..., None]
    targets = np.stack([y[cut : cut + 7] for cut in cuts])[..., None]
    center, scale = histories.mean(axis=1, keepdims=True), histories.std(axis=1, keepdims=True)
    kept = forecaster.model.evaluate(
        (histories - center) / scale, (targets - center) / scale, verbose=0
    )
    assert kept == pytest.approx(min(losses), rel=1e-3)
    rows = forecaster.backtest(frame, windows=94, step=1)
    inside = (rows["y"] >= rows["nlinear-lo-80"]) & (rows["y"] <= rows["nlinear-hi-80"])
    assert inside.mean() == pytest.approx(0.8, abs=0.08)


def test_an_epoch_is_at_most_250_steps_and_validates_on_about_a_thousand_windows(monkeypatch):
    seen = {}

    def fit(model, *args, **kwargs):
        seen.update(kwargs)
        raise KeyboardInterrupt

    monkeypatch.setattr(keras.Model, "fit", fit)
    with pytest.raises(KeyboardInterrupt):
        Forecaster("nlinear", 8, 4).fit(pd.concat([wave(30_000, n) for n in range(2)]))
    assert seen["steps_per_epoch"] == 250
    assert seen["validation_steps"] == 1  # 64 forecasts of 4 steps, 250 windows
    with pytest.raises(KeyboardInterrupt):
        Forecaster("nlinear", 8, 400).fit(wave(30_000))
    assert seen["validation_steps"] == 4  # of 256


def run(patience, losses, rate=0.1):
    """The rates and the first weight after each epoch of a training with these losses."""
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False)])
    model.compile(keras.optimizers.Adam(rate), "mse")
    patience.set_model(model)
    patience.on_train_begin()
    model.stop_training, states = False, []
    for epoch, loss in enumerate(losses):
        if model.stop_training:
            break
        model.set_weights([np.full((1, 1), epoch)])
        patience.on_epoch_end(epoch, {"val_loss": loss})
        states.append((float(model.optimizer.learning_rate), float(model.get_weights()[0][0, 0])))
    patience.on_train_end()
    return model, states


def test_patience_goes_back_with_a_lower_rate_and_then_ends():
    model, states = run(EarlyStopping(2, decays=1), [5, 4, 6, 6, 3, 7, 7, 1])
    rates, weights = zip(*states, strict=True)
    assert rates == pytest.approx([0.1] * 3 + [0.1 * DECAY] * 4)
    assert weights == (0, 1, 2, 1, 4, 5, 6)  # the fourth epoch goes back to the second
    assert model.get_weights()[0] == 4
    assert float(model.optimizer.learning_rate) == pytest.approx(0.1)


def test_patience_without_decays_leaves_the_rate_alone():
    model, states = run(EarlyStopping(2), [5, 4, 6, 6, 3])
    assert [weight for _, weight in states] == [0, 1, 2, 3]
    assert model.get_weights()[0] == 1


def test_a_time_limit_is_seconds():
    with pytest.raises(ValueError, match="time_limit must be seconds above 0 or None, got 0"):
        Forecaster("nlinear", 8, 4).fit(wave(), time_limit=0)


@pytest.fixture
def one_epoch(monkeypatch):
    monkeypatch.setattr("kerastrans.forecasting.training.loop.MAX_EPOCHS", 1)


@pytest.mark.slow
def test_progress_names_the_parts_and_is_a_line_an_epoch(capsys, one_epoch):
    Forecaster("nlinear", 14, 7).fit(wave())
    first, line, measuring, last = capsys.readouterr().out.splitlines()
    assert first == "training 882 weights, 12 steps per epoch"
    assert measuring == "forecasting the held-out rows, to measure the errors"
    assert last == "1 extra steps on all rows"
    assert line.startswith("epoch 1: loss ")
    assert "held-out loss" in line
    assert line.endswith("the end")
    Forecaster("nlinear", 14, 7).fit(wave(200), verbose=0)
    assert not capsys.readouterr().out


@pytest.mark.parametrize(
    ("freq", "length", "name", "calendar"),
    [("h", 2500, "patchtst", True), ("h", 300, "tide", True), ("YS", 60, "tide", False)],
)
def test_the_model_is_chosen_by_the_length_and_the_calendar_by_the_frequency(
    freq, length, name, calendar
):
    panel = read_panel(wave(length, freq=freq))
    found = defaults.resolve_config(Forecaster(prediction_length=4).config, panel, 4, Seasons())
    assert (found.model, found.calendar) == (name, calendar)


def test_long_series_with_future_covariates_get_the_decoder_only_transformer():
    config = Forecaster(prediction_length=4, future=["load"]).config
    found = defaults.resolve_config(config, read_panel(wave(2500, freq="h")), 4, Seasons())
    assert (found.model, found.calendar) == ("decoder_transformer", None)
    assert found.hyperparameters == {"d_model": 128, "ff_dim": 256}


@pytest.mark.slow
def test_what_was_chosen_forecasts_and_a_clone_chooses_anew():
    forecaster = Forecaster(prediction_length=4)
    assert repr(forecaster) == "Forecaster('auto', None, 4)"
    forecaster.fit(wave(60, freq="YS"), epochs=1, steps_per_epoch=1, verbose=0)
    assert forecaster.fitted.config.model == "tide"
    assert forecaster.clone().config.model == "auto"
    assert len(forecaster.predict(wave(60, freq="YS"))) == 4


def test_auto_takes_no_hyperparameters():
    with pytest.raises(ValueError, match=r"model='auto' takes no \['d_model'\]: name a model"):
        Forecaster(prediction_length=4, d_model=8)
