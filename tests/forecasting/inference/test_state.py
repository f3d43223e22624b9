"""A forecaster's config and fitted state: what is kept, what is dropped, what is refused."""

import json
import random
import warnings

import keras
import numpy as np
import pandas as pd
import pytest

from kerastrans import Forecaster, heads, zoo
from kerastrans.data import WindowScaler
from kerastrans.forecasting.inference.serialization import (
    FORMAT,
    read_arguments,
    write_arguments,
)
from kerastrans.forecasting.training.spread import UnmeasuredSpreadWarning
from kerastrans.heads.losses import KnownTargets
from tests.helpers.frames import CONTEXT, HORIZON, future_of, series, statics

SIZE = CONTEXT, HORIZON
QUICK = {"epochs": 1, "verbose": 0}


@pytest.fixture(scope="module")
def frame():
    return pd.concat([series("a", 90, 0), series("b", 70, 1, 500.0)], ignore_index=True)


@pytest.fixture(scope="module")
def trained_once(frame):
    """A forecaster for fits that are refused, which change nothing."""
    return Forecaster("nlinear", *SIZE).fit(frame, **QUICK)


@keras.saving.register_keras_serializable(package="tests")
def cubed(y_true, y_pred):
    return keras.ops.mean(keras.ops.abs(y_true - y_pred) ** 3)


def same(one, other):
    pd.testing.assert_frame_equal(one, other, rtol=1e-6)


def test_the_given_point_loss_trains(frame):
    for loss in ("mse", "huber"):
        forecaster = Forecaster("linear_regression", *SIZE, head=heads.PointHead(loss))
        assert forecaster.fit(frame, **QUICK).model.loss.error == loss


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(
            {"model": "deepar", "head": "student_t", "units": 8, "num_samples": 20},
            marks=pytest.mark.slow,
        ),
        {"model": "nlinear", "head": "point", "loss": cubed, "optimizer": "sgd"},
        pytest.param(
            {
                "model": "nhits",
                "head": heads.QuantileHead((0.1, 0.5, 0.9)),
                "scaler": WindowScaler("mase", 7),
                "optimizer": keras.optimizers.Adam(3e-3, clipnorm=1.0),
                "hidden_dim": 8,
                "downsampling": (4, 2, 1),
                "pool_sizes": (4, 2, 1),
                "alias": "mine",
            },
            marks=pytest.mark.slow,
        ),
    ],
)
def test_all_that_was_told_comes_back_from_a_file(arguments, frame, tmp_path):
    arguments = dict(arguments)
    forecaster = Forecaster(arguments.pop("model"), *SIZE, **arguments).fit(frame, **QUICK)
    forecaster.save(tmp_path / "saved")
    loaded = Forecaster.load(tmp_path / "saved")
    same(loaded.predict(frame), forecaster.predict(frame))
    same(loaded.backtest(frame, windows=2), forecaster.backtest(frame, windows=2))
    assert loaded.get_config() == forecaster.get_config()
    assert loaded.config.hyperparameters == forecaster.config.hyperparameters  # tuples stay tuples
    assert loaded.model.optimizer.get_config() == forecaster.model.optimizer.get_config()
    forecaster.fit(frame, **QUICK)
    loaded.fit(frame, **QUICK)
    same(loaded.predict(frame), forecaster.predict(frame))
    with pytest.warns(UserWarning, match="not repeated: 1 further fit of 1 epoch"):
        cloned = loaded.clone().fit(frame, **QUICK)
    same(
        cloned.predict(frame),
        Forecaster.from_config(loaded.get_config()).fit(frame, **QUICK).predict(frame),
    )


def test_the_delta_of_huber_comes_back():
    loss = keras.losses.Huber(delta=50)
    config = Forecaster("nlinear", 14, 2, head="point", loss=loss).config
    loss = read_arguments(json.loads(json.dumps(write_arguments(config.arguments()))))["loss"]
    assert float(loss(np.array([[40.0]]), np.array([[0.0]]))) == 800  # 40**2 / 2
    compiled = KnownTargets.from_config(KnownTargets(config.loss).get_config())  # of the model
    assert float(compiled(np.full((1, 1, 1), 40.0), np.zeros((1, 1, 1)))) == 800


def test_a_loss_that_cannot_be_written_is_named_before_anything_is(frame, tmp_path):
    def own(y_true, y_pred):
        return keras.ops.abs(y_true - y_pred)

    forecaster = Forecaster("nlinear", *SIZE, head="point", loss=own).fit(frame, **QUICK)
    with pytest.raises(ValueError, match=r"loss=.*own.* cannot be written: register it"):
        forecaster.save(tmp_path / "saved")
    assert not (tmp_path / "saved").exists()


@pytest.mark.slow
def test_without_the_optimizer_it_still_knows_how_to_train(frame, tmp_path):
    forecaster = Forecaster("nlinear", *SIZE, optimizer=keras.optimizers.SGD(0.123))
    forecaster.fit(frame, **QUICK).save(tmp_path / "saved", optimizer=False)
    loaded = Forecaster.load(tmp_path / "saved")
    assert not loaded.model.compiled
    loaded.fit(frame, **QUICK)
    assert float(loaded.model.optimizer.learning_rate) == pytest.approx(0.123)


def test_a_first_fit_that_fails_leaves_nothing(frame):
    forecaster = Forecaster("nlinear", *SIZE)
    with pytest.raises(ValueError, match="no window to train on"):
        forecaster.fit(series("a", 5), epochs=1)
    assert forecaster.fitted is None
    with pytest.raises(RuntimeError, match="not trained"):
        forecaster.predict(frame)
    hourly = frame.assign(ds=pd.date_range("2024", periods=len(frame), freq="h"), unique_id="a")
    forecaster.fit(hourly, **QUICK)
    assert forecaster.fitted.clock.freq == "h"


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_later_fit_that_fails_changes_nothing(error, frame, tmp_path):
    class Fails(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            if epoch == 1:
                raise error

    forecaster = Forecaster("nlinear", *SIZE).fit(frame, **QUICK)
    forecaster.calibrate(frame, windows=20, levels=(80,))
    before = forecaster.fitted
    weights = [w.copy() for w in forecaster.model.get_weights()]
    state = [np.array(v) for v in forecaster.model.optimizer.variables]
    with pytest.raises(error):
        forecaster.fit(frame, epochs=3, verbose=0, callbacks=[Fails()])
    assert forecaster.fitted is before
    for one, other in zip(forecaster.model.get_weights(), weights, strict=True):
        np.testing.assert_array_equal(one, other)
    for one, other in zip(forecaster.model.optimizer.variables, state, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_training_that_diverges_is_refused(frame):
    forecaster = Forecaster(
        "nlinear", *SIZE, head=heads.PointHead("mse"), optimizer=keras.optimizers.SGD(1e30)
    )
    with pytest.raises(ValueError, match="the training diverged"):
        forecaster.fit(frame, epochs=3, verbose=0)
    assert forecaster.fitted is None


def test_new_training_drops_the_intervals(frame):
    forecaster = Forecaster("nlinear", *SIZE, head="point").fit(frame, **QUICK)
    with pytest.warns(UserWarning, match="calibrate by rows that the model was trained on"):
        forecaster.calibrate(frame, windows=20, levels=(80,))
    assert forecaster.fitted.intervals is not None
    forecaster.fit(frame, **QUICK)
    assert list(forecaster.predict(frame).columns) == ["unique_id", "ds", "nlinear"]


@pytest.mark.slow
def test_rows_that_trained_are_not_scored_without_a_word(frame):
    forecaster = Forecaster("nlinear", *SIZE).fit(frame, **QUICK)
    with pytest.warns(UserWarning, match="4 of 4 windows score rows that the model was trained"):
        forecaster.backtest(frame, windows=2)
    known = frame[frame.groupby("unique_id").cumcount(ascending=False) >= HORIZON]
    held_out = Forecaster("nlinear", *SIZE).fit(known, **QUICK)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        held_out.backtest(frame, windows=1)
        Forecaster("nlinear", *SIZE).fit(frame, validation_size=HORIZON, **QUICK).backtest(
            frame, windows=1
        )


@pytest.mark.slow
def test_only_what_has_trained_counts_as_trained(frame):
    known = frame[frame.groupby("unique_id").cumcount(ascending=False) >= HORIZON]
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        Forecaster("seasonal_naive", *SIZE, season=7).fit(frame).backtest(frame, windows=2)
        Forecaster("nlinear", *SIZE).fit(frame, epochs=0).backtest(frame, windows=2)
    forecaster = Forecaster("nlinear", *SIZE).fit(frame, **QUICK).fit(known, **QUICK)
    with pytest.warns(UserWarning, match="2 of 2 windows score rows that the model was trained"):
        forecaster.backtest(frame, windows=1)


def test_a_compiled_model_takes_the_loss_and_the_optimizer_that_are_given(frame):
    model = own_model((HORIZON, 1))
    model.compile("sgd", "mse")
    optimizer = keras.optimizers.Adam(0.0123)
    given = Forecaster(model, *SIZE, loss="mae", optimizer=optimizer).fit(frame, **QUICK).model
    assert float(given.optimizer.learning_rate) == pytest.approx(0.0123)
    assert given.loss.error == "mae"
    model.compile("sgd", "mse")
    assert Forecaster(model, *SIZE).fit(frame, **QUICK).model.loss == "mse"


def test_histories_reach_an_input_of_another_name(frame):
    past = keras.Input((CONTEXT, 1), name="past_covariates")
    values = keras.Input((CONTEXT, 1), name="values")
    x = keras.layers.Flatten()(keras.layers.Concatenate()([values, past]))
    x = keras.layers.Reshape((HORIZON, 1))(keras.layers.Dense(HORIZON)(x))
    model = keras.Model([values, past], x, name="mine")
    forecaster = Forecaster(model, *SIZE, past=["price"]).fit(frame, **QUICK)
    part = frame[frame["unique_id"] == "b"]
    encoded = forecaster.fitted.covariates.encode(part, "past")[None, -CONTEXT:]
    inputs = {"history": part["y"].to_numpy()[None, -CONTEXT:, None], "past_covariates": encoded}
    served = forecaster.forecast_histories(inputs)["forecast"][0, :, 0]
    np.testing.assert_allclose(served, forecaster.predict(part)["mine"], rtol=1e-5)


@pytest.mark.slow
def test_refitting_reads_covariates_by_the_past_alone(frame):
    spiked = frame.copy()
    last = spiked.groupby("unique_id")["ds"].transform("max") - pd.Timedelta(days=HORIZON)
    spiked.loc[spiked["ds"] > last, "price"] = 1e6

    def first_origin(data):
        forecaster = Forecaster("nlinear", *SIZE, past=["price"])
        rows = forecaster.backtest(data, windows=2, refit=True, **QUICK)
        return rows[rows["cutoff"] == rows.groupby("unique_id")["cutoff"].transform("min")]

    same(first_origin(spiked), first_origin(frame))


@pytest.mark.slow
def test_an_integer_refits_at_every_so_many_origins(frame, monkeypatch):
    ends, fit = [], Forecaster.fit

    def counted(self, data, **options):
        ends.append(data["ds"].max())
        return fit(self, data, **options)

    monkeypatch.setattr(Forecaster, "fit", counted)
    one = frame[frame["unique_id"] == "a"]
    forecaster = Forecaster("nlinear", *SIZE)
    rows = forecaster.backtest(one, windows=5, step=2, refit=3, **QUICK)
    cutoffs = sorted(rows["cutoff"].unique())
    assert ends == [cutoffs[0], cutoffs[3]]
    first = Forecaster("nlinear", *SIZE).fit(one[one["ds"] <= cutoffs[0]], **QUICK)
    third = rows[rows["cutoff"] == cutoffs[2]].reset_index(drop=True)
    expected = first.predict(one[one["ds"] <= cutoffs[2]])
    same(third[expected.columns], expected)
    for refit in (0, -1, 1.5):
        with pytest.raises(ValueError, match="refit must be an integer of at least 1"):
            forecaster.backtest(one, windows=2, refit=refit, **QUICK)


def test_a_frame_of_another_frequency_is_refused(frame):
    forecaster = Forecaster("nlinear", *SIZE).fit(frame, **QUICK)
    months = frame.assign(ds=frame.groupby("unique_id").cumcount())
    months["ds"] = [pd.Timestamp("2010-01-01") + pd.DateOffset(months=x) for x in months["ds"]]
    months_on_days = "have the frequency 'MS', but the model or freq has 'D': 97% of the steps"
    with pytest.raises(ValueError, match=months_on_days):
        forecaster.predict(months)
    days_on_hours = "have the frequency 'D', but the model or freq has 'h': 96% of the steps"
    with pytest.raises(ValueError, match=days_on_hours):
        Forecaster("nlinear", *SIZE).fit(frame, freq="h", **QUICK)
    sparse = frame[np.random.default_rng(0).random(len(frame)) < 0.4]  # days with gaps
    assert len(forecaster.predict(sparse))


def test_a_frequency_may_be_spelt_in_another_way(frame):
    forecaster = Forecaster("last_value", *SIZE).fit(frame, epochs=0, verbose=0)
    before = forecaster.fitted.freq
    forecaster.fit(frame, freq="1D", epochs=0, verbose=0)
    assert forecaster.fitted.freq == before == "D"


def test_a_missing_input_is_named(frame):
    forecaster = Forecaster("nlinear", *SIZE, calendar=True).fit(frame, **QUICK)
    with pytest.raises(ValueError, match=r"the input 'future_covariates' \(None, .* is missing"):
        forecaster.forecast_histories({"history": np.zeros((1, CONTEXT, 1))})
    with pytest.raises(TypeError, match=r"inputs must be a dict of arrays .* got ndarray"):
        forecaster.forecast_histories(np.zeros((1, CONTEXT, 1)))


def test_a_context_much_longer_than_the_series_warns():
    frame = pd.DataFrame({"x": np.arange(20.0)}, pd.date_range("2024-01-01", periods=20))
    with pytest.warns(UserWarning, match="context_length=100 is more than 4 times as long as the"):
        Forecaster("last_value", 100, 2).fit(frame)


def test_a_very_wide_frame_warns_with_the_line_that_makes_it_long():
    times = pd.date_range("2024-01-01", periods=9)
    frame = pd.DataFrame(np.ones((9, 1000)), times, [f"x{i}" for i in range(1000)])
    with pytest.warns(UserWarning, match="the 1000 columns are read as one series") as warned:
        Forecaster("last_value", 4, 2).fit(frame)
    line = str(warned[0].message).partition("give ")[2].rstrip(".")
    long = eval(line, {"frame": frame})
    assert list(long.columns) == ["ds", "unique_id", "y"]
    with warnings.catch_warnings(record=True) as others:
        Forecaster("last_value", 4, 2).fit(long)
    assert not [x for x in others if "are read as one series" in str(x.message)]


def test_channels_without_a_value_are_told_before_the_training():
    frame = pd.DataFrame({"a": 1.0, "b": np.nan}, pd.date_range("2024-01-01", periods=9))
    with pytest.warns(UserWarning, match="no value to train on in the channels 'b': leave them"):
        Forecaster("last_value", 4, 2).fit(frame)


@pytest.mark.slow
def test_refitting_is_fitting_by_hand_on_the_rows_before_each_origin(frame):
    forecaster = Forecaster("nlinear", *SIZE, past=["weather"], future=["price"], calendar=True)
    options = {"static": statics("ab"), **QUICK}
    rows = forecaster.backtest(frame, windows=2, step=5, refit=True, **options)
    assert forecaster.fitted is None  # it stays as it was
    back = {"a": [], "b": []}
    for name, part in rows.groupby("unique_id"):
        back[name] = sorted(part["cutoff"].unique())
    for number in range(2):
        cutoffs = frame["unique_id"].map({name: cuts[number] for name, cuts in back.items()})
        known = frame[frame["ds"] <= cutoffs]
        horizon = frame[(frame["ds"] > cutoffs) & (frame["ds"] <= cutoffs + pd.Timedelta("7D"))]
        by_hand = forecaster.clone().fit(known, **options)
        future = horizon[["unique_id", "ds", "price"]]
        expected = by_hand.predict(known, future=future, static=options["static"])
        found = rows[
            rows["cutoff"] == rows["unique_id"].map({k: v[number] for k, v in back.items()})
        ]
        same(found[expected.columns].reset_index(drop=True), expected)


def test_a_frame_of_which_every_series_is_refused_says_so(frame):
    forecaster = Forecaster("nlinear", 100, HORIZON, short="refuse")
    with pytest.raises(ValueError, match=r"no series is left of 2.*'a' has 90 steps, fewer than"):
        forecaster.fit(frame, **QUICK)
    assert forecaster.fitted is None


def test_a_folder_that_is_refit_is_refused_and_arguments_of_refit_need_it(frame):
    forecaster = Forecaster("nlinear", *SIZE).fit(frame, **QUICK)
    with pytest.raises(ValueError, match=r"\['epochs', 'train_size'\] are arguments of refit=True"):
        forecaster.backtest(frame, train_size=30, epochs=2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ([0.9], r"levels are percents: for 0\.9 use 90"),
        ([100], "levels are percents above 0 and below 100, got 100"),
        ([0], "levels are percents above 0 and below 100, got 0"),
        (["80"], "levels are percents above 0 and below 100, got '80'"),
    ],
)
def test_levels_are_percents(levels, message, frame):
    forecaster = Forecaster("nlinear", *SIZE).fit(frame, **QUICK)
    for call in (
        lambda: forecaster.predict(frame, levels=levels),
        lambda: forecaster.backtest(frame, levels=levels),
        lambda: forecaster.calibrate(frame, windows=20, levels=levels),
        lambda: Forecaster("nlinear", *SIZE).backtest(frame, levels=levels, refit=True),
    ):
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.parametrize("fill", ["zero", pytest.param("last", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "gaps", [[0, 1, 8], *(pytest.param(x, marks=pytest.mark.slow) for x in ([3, 5], [13]))]
)
def test_histories_are_filled_as_frames_are(fill, gaps, frame):
    forecaster = Forecaster("nlinear", *SIZE, fill=fill).fit(frame, **QUICK)
    part = frame[frame["unique_id"] == "b"].reset_index(drop=True)
    part.loc[len(part) - CONTEXT + np.array(gaps), "y"] = np.nan
    found = forecaster.predict(part)["nlinear"]
    history = part["y"].to_numpy()[None, -CONTEXT:, None]
    served = forecaster.forecast_histories({"history": history})["forecast"][0, :, 0]
    if gaps == [CONTEXT - 1] and fill == "last":
        # The horizon begins after the last known value: the context is a step shorter than that of
        # `predict`, and the last step is not forecast.
        assert np.isnan(served).tolist() == [False] * (len(served) - 1) + [True]
    else:
        np.testing.assert_allclose(served, found, rtol=1e-5)


@pytest.mark.slow
def test_the_process_generators_are_untouched_and_the_seed_decides(frame):
    random.seed(3)
    np.random.seed(3)
    before = random.getstate(), np.random.get_state()[1].copy()
    one = Forecaster("nhits", *SIZE, hidden_dim=8, seed=1).fit(frame, **QUICK)
    forecast = one.predict(frame)
    assert random.getstate() == before[0]
    np.testing.assert_array_equal(np.random.get_state()[1], before[1])
    random.seed(99)
    again = Forecaster("nhits", *SIZE, hidden_dim=8, seed=1).fit(frame, **QUICK)
    pd.testing.assert_frame_equal(again.predict(frame), forecast, rtol=1e-7)
    other = Forecaster("nhits", *SIZE, hidden_dim=8, seed=2).fit(frame, **QUICK)
    assert not np.allclose(other.predict(frame)["nhits"], forecast["nhits"])


@pytest.mark.slow
def test_calibration_names_the_series_that_it_leaves_out(frame):
    forecaster = Forecaster("nlinear", *SIZE).fit(frame, validation_size=21, **QUICK)
    with_short = pd.concat([frame, series("tiny", 3)])
    with pytest.warns(UserWarning, match="1 series left out, see .faults: 'tiny' has 3 steps"):
        forecaster.calibrate(with_short, windows=10, levels=(80,))
    with pytest.raises(ValueError, match=r"no series is left of 1.*'tiny' has 3 steps, too few"):
        forecaster.calibrate(series("tiny", 3), windows=10, levels=(80,))


def test_a_baseline_forecasts_points_by_default(frame):
    naive = Forecaster("seasonal_naive", *SIZE, season=7).fit(frame)
    found = naive.predict(frame)
    assert list(found.columns) == ["unique_id", "ds", "seasonal_naive"]
    last = frame[frame["unique_id"] == "a"]["y"].to_numpy()[-7:]
    np.testing.assert_allclose(found["seasonal_naive"][:HORIZON], last, rtol=1e-6)


@pytest.mark.slow
def test_frames_of_many_sizes_do_not_make_the_backend_warn(frame, caplog):
    forecasters = [Forecaster("nlinear", *SIZE, seed=i).fit(frame, **QUICK) for i in range(3)]
    caplog.clear()  # training is Keras's own function
    for count in (1, 2, 3, 9, 20, 70, 5):
        many = pd.concat(
            [frame[frame["unique_id"] == "a"].assign(unique_id=i) for i in range(count)]
        )
        for forecaster in forecasters:
            forecaster.predict(many)
    assert "retracing" not in caplog.text


@pytest.mark.slow
@pytest.mark.parametrize("length", [HORIZON + 2, 40])
def test_where_nothing_can_be_held_out_all_of_it_trains(length):
    short = series("s", length)
    if length == 40:
        short.loc[short.index[-HORIZON:], "y"] = np.nan
    with pytest.warns(UnmeasuredSpreadWarning, match="rows, and 280 are needed to measure"):
        forecaster = Forecaster("nlinear", *SIZE).fit(short, verbose=0)
    assert list(forecaster.history.history) == ["loss"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Forecaster("nlinear", 8, 4, past=["y"]), r"\['y'\] cannot be covariates"),
        (lambda: Forecaster("nlinear", 8, 4, past="wind"), "past must be a list of column names"),
        (
            lambda: Forecaster("nlinear", 8, 4, past=["a"], future=["a"]),
            "cannot be both past and future",
        ),
        (
            lambda: Forecaster("nlinear", 8, 4, scaler=WindowScaler("mase", 8)),
            "scaler 'mase' needs a season below context_length=8, got season=8",
        ),
        (
            lambda: Forecaster(zoo.build("nlinear", 8, 4, 1), 8, 4, head="normal"),
            "head and a Keras model cannot be combined",
        ),
        (
            lambda: Forecaster(zoo.build("nlinear", 8, 4, 1, head="negative_binomial"), 8, 4),
            "NegativeBinomialHead and scaler='standard' cannot be combined",
        ),
        (
            lambda: Forecaster(zoo.build("nlinear", 8, 4, 1), 9, 4),
            r"history' must have the shape \(batch, 9, 1\), got \(batch, 8, 1\)",
        ),
        (
            lambda: Forecaster("nlinear", 8, 4, loss="mae"),
            "loss 'mae' does not fit a QuantileHead",
        ),
        (lambda: Forecaster("nlinear", 8, 4, learning_rate=0.1), "optimizer=keras.optimizers.Adam"),
        (lambda: Forecaster("nlinear", 8, 4, epochs=3), r"use fit\(frame, epochs=...\)"),
        (
            lambda: Forecaster("seasonal_naive", 8, 4, head="normal"),
            "cannot be trained: use head=",
        ),
        (lambda: Forecaster(print, 8, 4), "a builder takes context_length, prediction_length"),
        (
            lambda: Forecaster(3, 8, 4),
            "model must be the name of an architecture, a Keras model or",
        ),
        (
            lambda: Forecaster(zoo.build("nlinear", 8, 4, 1), 8, 4, calendar=True),
            r"nlinear\w* has no input 'future_covariates', which future covariates or a",
        ),
    ],
)
def test_what_cannot_work_together_is_refused_at_construction(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"validation_size": HORIZON - 1}, "validation_size=6 holds no whole forecast"),
        ({"validation_split": 0.2}, "fit takes no 'validation_split': use validation_size"),
        ({"validation_data": 1}, "fit takes no 'validation_data': use validation, a frame"),
        ({"learning_rate": 0.1}, "fit takes no 'learning_rate': use Forecaster"),
        ({"epochs": -1}, "epochs must be an integer of at least 1, got -1"),
        ({"stride": 0}, "stride must be an integer of at least 1, got 0"),
        ({"freq": "h"}, "trained on frequency 'D', freq='h' is another"),
    ],
)
def test_arguments_of_fit_are_checked_before_any_work(arguments, message, frame, trained_once):
    with pytest.raises(ValueError, match=message):
        trained_once.fit(frame, **arguments)


def own_model(output_shape):
    history = keras.Input((CONTEXT, 1), name="history")
    x = keras.layers.Dense(int(np.prod(output_shape)))(keras.layers.Flatten()(history))
    return keras.Model(history, keras.layers.Reshape(output_shape)(x))


class Subclassed(keras.Model):
    def call(self, x):
        return x[:, :HORIZON]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            lambda: own_model((HORIZON,)),
            r"must be \(batch, prediction_length, num_channels\), got \(None, 7\): end it with",
        ),
        (
            lambda: own_model((HORIZON, 2)),
            r"output must have the shape \(batch, 7, 1\), got \(batch, 7, 2\)",
        ),
        (
            Subclassed,
            "must be functional, as keras.Model.inputs, outputs. makes it, got the subclass",
        ),
    ],
)
def test_a_model_of_another_contract_is_refused_by_name(model, message):
    with pytest.raises(ValueError, match=message):
        Forecaster(model(), *SIZE)


@pytest.mark.slow
def test_own_models_and_builders_are_forecasters_like_any_other(frame, tmp_path):
    def build(context_length, prediction_length, num_channels, units=4):
        assert (context_length, prediction_length, num_channels) == (*SIZE, 1)
        history = keras.Input((context_length, 1), name="history")
        x = keras.layers.Dense(units)(keras.layers.Flatten()(history))
        x = keras.layers.Dense(prediction_length)(x)
        return keras.Model(history, keras.layers.Reshape((prediction_length, 1))(x))

    for forecaster in (
        Forecaster(build, *SIZE, units=6, seed=3),
        Forecaster(own_model((HORIZON, 1)), *SIZE, alias="build"),
    ):
        forecaster.fit(frame, **QUICK)
        found = forecaster.predict(frame)
        assert list(found.columns) == ["unique_id", "ds", "build"]
        folder = tmp_path / f"{id(forecaster)}"
        forecaster.save(folder)
        loaded = Forecaster.load(folder)
        same(loaded.predict(frame), found)
        clone = loaded.clone()
        assert clone.fitted is None
        assert not np.array_equal(clone.model.get_weights()[0], loaded.model.get_weights()[0])
        rows = forecaster.backtest(frame, windows=1, refit=True, **QUICK)
        assert len(rows) == 2 * HORIZON
    assert json.loads((folder / "forecaster.json").read_text())["format"] == FORMAT


@pytest.mark.slow
def test_a_preset_of_channels_apart_takes_other_columns_and_long_frames():
    preset = zoo.from_preset("nhits_air_passengers_12")
    y = 100 + 30 * np.sin(2 * np.pi * np.arange(80) / 12)
    times = pd.date_range("2000-01-01", periods=80, freq="MS")
    wide = pd.DataFrame({"p": y, "q": 2 * y}, times)
    found = preset.predict(wide)
    assert found["unique_id"].unique().tolist() == ["p", "q"]
    long = pd.DataFrame({"unique_id": "p", "ds": times, "y": y})
    same(preset.predict(long), found[:12])
    np.testing.assert_allclose(found["nhits"][12:], 2 * found["nhits"][:12].to_numpy(), rtol=1e-4)
    mixing = zoo.from_preset("itransformer_etth1_96")
    with pytest.raises(ValueError, match="which itransformer mixes: give these columns"):
        mixing.predict(wide)


def test_its_repr_is_the_call_that_makes_it():
    forecaster = Forecaster("nhits", 24, 12, hidden_dim=8, scaler=None, past=["wind"], seed=3)
    assert repr(forecaster) == (
        "Forecaster('nhits', 24, 12, scaler=WindowScaler(kind=None, season=1), past=('wind',), "
        "seed=3, hidden_dim=8)"
    )


def test_what_is_told_cannot_be_changed():
    forecaster = Forecaster("nlinear", *SIZE)
    with pytest.raises(AttributeError):
        forecaster.config.seed = 4


@pytest.mark.slow
def test_a_future_known_column_is_not_read_from_a_series_neighbour(frame):
    forecaster = Forecaster("nlinear", *SIZE, future=["price"]).fit(frame, **QUICK)
    future = future_of(frame)
    both = forecaster.predict(frame, future=future)
    for name in "ab":
        one = frame[frame["unique_id"] == name]
        alone = forecaster.predict(one, future=future[future["unique_id"] == name])
        same(alone, both[both["unique_id"] == name].reset_index(drop=True))
