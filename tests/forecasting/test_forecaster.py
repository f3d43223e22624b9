import dataclasses
import json

import keras
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kerastrans import Forecaster, backtesting, datasets, zoo
from kerastrans.heads import NormalHead, QuantileHead
from tests.helpers.frames import CONTEXT, HORIZON, future_of, series, statics


@pytest.fixture(scope="module")
def frame():
    return pd.concat(
        [series("a", 120, 0), series("b", 90, 1, 5000.0), series("c", 60, 2, 0.5)],
        ignore_index=True,
    )


@pytest.fixture(scope="module")
def trained(frame):
    """One cheap forecaster for the tests that only read it."""
    return Forecaster("nlinear", CONTEXT, HORIZON).fit(frame, epochs=3, verbose=0)


@pytest.fixture(scope="module")
def with_covariates(frame):
    forecaster = Forecaster(
        "dlinear",
        CONTEXT,
        HORIZON,
        head="normal",
        past=["weather"],
        future=["price"],
        calendar=True,
        optimizer=keras.optimizers.Adam(0.01),
    )
    return forecaster.fit(frame, static=statics(), epochs=30, verbose=0)


def test_it_forecasts_the_steps_behind_each_series(trained, frame):
    found = trained.predict(frame)
    assert list(found.columns) == [
        "unique_id",
        "ds",
        "nlinear",
        "nlinear-lo-80",
        "nlinear-hi-80",
        "nlinear-lo-95",
        "nlinear-hi-95",
    ]
    for name, part in frame.groupby("unique_id"):
        rows = found[found["unique_id"] == name]
        steps = pd.date_range(part["ds"].max(), periods=HORIZON + 1, freq="D")[1:]
        np.testing.assert_array_equal(rows["ds"], steps)
    ordered = found[
        ["nlinear-lo-95", "nlinear-lo-80", "nlinear", "nlinear-hi-80", "nlinear-hi-95"]
    ].to_numpy()
    assert (np.diff(ordered, axis=1) > 0).all()


def test_the_order_of_rows_does_not_matter_and_the_model_is_plain_keras(trained, frame):
    shuffled = trained.predict(frame.sample(frac=1, random_state=0))
    found = trained.predict(frame).set_index(["unique_id", "ds"])
    pd.testing.assert_frame_equal(
        shuffled.set_index(["unique_id", "ds"]).loc[found.index], found, rtol=1e-5
    )
    context = frame.loc[frame["unique_id"] == "b", "y"].to_numpy()[-CONTEXT:]
    scaled = (context - context.mean()) / context.std()
    quantiles = trained.model.predict_on_batch(scaled[None, :, None].astype("float32"))[0, :, 0]
    wanted = quantiles * context.std() + context.mean()
    np.testing.assert_allclose(found.loc["b", "nlinear-lo-95"], wanted[:, 0], rtol=1e-4)
    np.testing.assert_allclose(found.loc["b", "nlinear"], wanted[:, 3], rtol=1e-4)
    assert len(trained.history.history["loss"]) == 3


@pytest.mark.slow
def test_one_model_beats_the_seasonal_naive_on_series_of_all_sizes(with_covariates, frame):
    backtest = with_covariates.backtest(frame, windows=3, static=statics())
    naive = Forecaster("seasonal_naive", CONTEXT, HORIZON, head=None, season=7).fit(frame)
    table = backtesting.skill(
        {"dlinear": backtest, "naive": naive.backtest(frame, windows=3)},
        "naive",
        frame,
        season=7,
    )
    assert table.loc["dlinear", "mase"] < 0.6 * table.loc["naive", "mase"]


@settings(max_examples=12, deadline=None)
@given(
    where=st.sampled_from(["y", "weather", "ds"]),
    origin=st.integers(0, 2),
    row=st.integers(0, HORIZON - 1),
)
@pytest.mark.filterwarnings("ignore:covariate 'weather' has 1 values that were not seen")
def test_nothing_that_lies_in_the_future_moves_a_forecast(
    with_covariates, frame, where, origin, row
):
    """A spike behind an origin: in the target, a past covariate, or the rows there are at all."""
    before = with_covariates.backtest(frame, windows=3, static=statics())
    cutoff = np.sort(before.loc[before["unique_id"] == "a", "cutoff"].unique())[origin]
    changed = frame.copy()
    place = changed.index[
        (changed["unique_id"] == "a") & (changed["ds"] == cutoff + pd.Timedelta(days=1 + row))
    ]
    if where == "y":
        changed.loc[place, "y"] *= 1e6
    elif where == "weather":
        changed.loc[place, "weather"] = "hail"
    else:  # all values behind it are gone; the price there is still known
        later = (changed["unique_id"] == "a") & (changed["ds"] >= changed["ds"][place[0]])
        changed.loc[later, "y"] = np.nan
    after = with_covariates.backtest(changed, windows=3, static=statics())
    untouched = (before["unique_id"] != "a") | (before["cutoff"] <= cutoff)
    columns = ["dlinear", "dlinear-lo-95", "dlinear-hi-95"]
    np.testing.assert_array_equal(before.loc[untouched, columns], after.loc[untouched, columns])


def test_training_does_not_see_what_is_held_out(frame):
    spiked = frame.copy()
    last = spiked.groupby("unique_id")["ds"].transform("max") - pd.Timedelta(days=HORIZON)
    spiked.loc[spiked["ds"] > last, "y"] *= 1e3

    def trained(data):
        options = {"epochs": 1, "verbose": 0, "validation_size": HORIZON}
        return Forecaster("nlinear", CONTEXT, HORIZON).fit(data, **options).model

    models = [trained(data) for data in (frame, spiked)]
    for one, other in zip(*(x.trainable_weights for x in models), strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_future_covariate_counts_and_must_reach_the_horizon(with_covariates, frame):
    future = future_of(frame)
    found = with_covariates.predict(frame, future=future, static=statics())
    dearer = with_covariates.predict(
        frame, future=future.assign(price=future["price"] + 1), static=statics()
    )
    assert (dearer["dlinear"] > found["dlinear"]).all()  # as in training
    short = future[~((future["unique_id"] == "b") & (future["ds"] == future["ds"].max()))]
    b_rows = future["unique_id"] == "b"
    short = future[~(b_rows & (future["ds"] == future.loc[b_rows, "ds"].max()))]
    with pytest.warns(UserWarning, match="1 series left out, see .faults: 'b' has no future cov"):
        rest = with_covariates.predict(frame, future=short, static=statics())
    assert set(rest["unique_id"]) == {"a", "c"}
    last = future.loc[b_rows, "ds"].max()
    assert with_covariates.faults == {
        "b": f"no future covariates for {last}: give price in future=frame"
    }
    pd.testing.assert_frame_equal(
        rest, found[found["unique_id"] != "b"].reset_index(drop=True), rtol=1e-5
    )


def test_a_category_unseen_in_training_is_unknown_not_an_error(with_covariates, frame):
    with pytest.warns(UserWarning, match="not seen in training") as caught:
        found = with_covariates.predict(
            frame.assign(weather="fog"), future=future_of(frame), static=statics().assign(kind="z")
        )
    assert {str(x.message).split("'")[1] for x in caught} == {"weather", "kind"}
    assert np.isfinite(found["dlinear"]).all()


def test_one_bad_series_never_loses_the_others(trained, frame):
    bad = pd.concat([frame, frame[frame["unique_id"] == "a"].assign(unique_id="d", y=np.nan)])
    bad = pd.concat([bad, series("e", 30).iloc[[0, 1, 1, 2]]])
    with pytest.warns(UserWarning, match="2 series left out"):
        found = trained.predict(bad)
    pd.testing.assert_frame_equal(found, trained.predict(frame), rtol=1e-5)
    with pytest.warns(UserWarning, match="2 series left out"):
        trained.predict(bad)
    assert trained.faults == {
        "d": "no value at all",
        "e": "duplicate time stamp 2024-01-02 00:00:00",
    }


@pytest.mark.parametrize("size", [1e12, 1e-12])
def test_huge_and_tiny_series_are_forecast_alike(trained, frame, size):
    found = trained.predict(frame)
    scaled = trained.predict(frame.assign(y=frame["y"] * size))
    np.testing.assert_allclose(scaled["nlinear"], found["nlinear"] * size, rtol=1e-4)


@pytest.mark.filterwarnings("ignore:.*series end with missing values")
def test_constant_short_and_gappy_series_are_forecast(trained):
    constant = series("k", 40).assign(y=5.0)
    gappy = series("g", 40)
    gappy.loc[[20, 33, 39], "y"] = np.nan
    data = pd.concat([constant, gappy.drop(index=[25, 26]), series("s", 3)])
    found = trained.predict(data)
    assert np.isfinite(found["nlinear"]).all()
    np.testing.assert_allclose(found.loc[found["unique_id"] == "k", "nlinear"], 5.0, atol=1.5)
    refusing = Forecaster(trained.model, CONTEXT, HORIZON, short="refuse")
    refusing.fitted = dataclasses.replace(trained.fitted, config=refusing.config)
    with pytest.warns(UserWarning, match="'s' has 3 steps, fewer than the context's 14"):
        assert set(refusing.predict(data)["unique_id"]) == {"k", "g"}


def test_time_zones_come_back_and_clocks_may_change():
    times = pd.date_range("2024-03-20", periods=500, freq="h", tz="Europe/Paris")
    wave = np.sin(2 * np.pi * np.arange(500) / 24)
    data = pd.DataFrame({"unique_id": "a", "ds": times, "y": wave})
    forecaster = Forecaster("nlinear", 48, 12, calendar=True).fit(data, epochs=1, verbose=0)
    found = forecaster.predict(data)
    steps = pd.date_range(times[-1], periods=13, freq="h")[1:]
    assert (pd.DatetimeIndex(found["ds"]) == steps).all()
    with pytest.raises(ValueError, match="no time zone do not fit a model trained on"):
        forecaster.predict(data.assign(ds=times.tz_localize(None)))


def test_wide_frames_are_series_of_channels():
    wide = datasets.load("nyc_departures")[:600]
    forecaster = Forecaster("nlinear", 48, 12).fit(wide, epochs=1, stride=8, verbose=0)
    found = forecaster.predict(wide)
    assert found["unique_id"].unique().tolist() == list(wide.columns)
    assert len(found) == 36
    assert forecaster.model.output_shape == (None, 12, 3, 7)


def test_wide_columns_are_known_by_name():
    wide = datasets.load("nyc_departures")[:400]
    forecaster = Forecaster("nlinear", 48, 12).fit(wide, epochs=1, stride=8, verbose=0)
    found = forecaster.predict(wide)
    pd.testing.assert_frame_equal(found, forecaster.predict(wide[wide.columns[::-1]]))
    with pytest.raises(ValueError, match=r"made for the columns .* \['JFK'\] are missing"):
        forecaster.predict(wide.drop(columns="JFK"))


@pytest.mark.slow
def test_a_model_trained_on_one_column_takes_long_frames():
    wide = datasets.load("nyc_departures")[:400][["JFK"]]
    forecaster = Forecaster("nlinear", 48, 12).fit(wide, epochs=1, stride=8, verbose=0)
    long = pd.DataFrame({"unique_id": "x", "ds": wide.index, "y": wide["JFK"].to_numpy()})
    both = pd.concat([long, long.assign(unique_id="y", y=3 * long["y"])])
    found = forecaster.predict(both)
    expected = forecaster.predict(wide)["nlinear"].to_numpy()
    np.testing.assert_allclose(found["nlinear"], [*expected, *(3 * expected)], rtol=1e-4)
    assert set(forecaster.fit(long, epochs=1, verbose=0).fitted.trained) == {"JFK", "x"}


def test_a_series_that_has_gone_silent_is_left_out(trained, frame):
    silent = frame.copy()
    last = silent.index[silent["unique_id"] == "c"][-CONTEXT:]
    silent.loc[last, "y"] = np.nan
    with pytest.warns(UserWarning, match="'c' has no value in its last 14 steps"):
        assert set(trained.predict(silent)["unique_id"]) == {"a", "b"}
    backtest = trained.backtest(silent, windows=1, step=1)
    assert backtest.loc[backtest["unique_id"] == "c", "y"].isna().all()


def test_a_model_of_one_channel_forecasts_each_column_and_one_of_two_takes_no_single_ones(trained):
    times = pd.date_range("2024", periods=40, freq="D")
    two = pd.DataFrame(np.ones((40, 2)), times, ["p", "q"])
    assert trained.predict(two)["unique_id"].unique().tolist() == ["p", "q"]
    built = Forecaster(zoo.build("nlinear", 14, HORIZON, 2), prediction_length=HORIZON)
    with pytest.raises(ValueError, match=r"the model has 2 channel\(s\), the frame 1"):
        built.fit(two[["p"]], epochs=1)


@pytest.mark.slow
def test_counts_are_forecast_as_counts():
    rng = np.random.default_rng(0)
    data = series("a", 200).assign(y=rng.poisson(4, 200))
    forecaster = Forecaster("nhits", 21, 7, head="negative_binomial", scaler=None, hidden_dim=32)
    found = forecaster.fit(data, epochs=10, verbose=0).predict(data)
    bounds = found[["nhits-lo-95", "nhits-hi-95"]].to_numpy()
    np.testing.assert_array_equal(bounds, np.round(bounds))
    assert (bounds[:, 0] >= 0).all()
    assert found["nhits"].between(2, 7).all()


@pytest.mark.parametrize("wrong", [-3.0, 2.5])
@pytest.mark.parametrize("name", ["nhits", "deepar"])
def test_what_is_no_count_is_refused_before_training(name, wrong):
    rng = np.random.default_rng(0)
    data = [series(x, 60).assign(y=rng.poisson(4, 60).astype("float64")) for x in ("a", "b")]
    data[0].loc[3, "y"] = np.nan
    data[1].loc[50, "y"] = wrong
    forecaster = Forecaster(name, 21, 7, head="negative_binomial", scaler=None)
    with pytest.raises(ValueError, match=rf"requires counts \(0, 1, 2, ...\): 'b' has {wrong}.$"):
        forecaster.fit(pd.concat(data), epochs=1, verbose=0)
    assert forecaster.fitted is None
    wide = pd.DataFrame({"p": [1.0] * 60, "q": [*[1.0] * 59, wrong]}, data[0]["ds"])
    with pytest.raises(ValueError, match=f"'q' has {wrong}.$"):
        forecaster.fit(wide, epochs=1, verbose=0)


@pytest.mark.slow
def test_deepar_samples_and_repeats_itself(frame):
    forecaster = Forecaster("deepar", CONTEXT, HORIZON, head="student_t", units=8, num_samples=50)
    forecaster.fit(frame, epochs=1, verbose=0)
    found = forecaster.predict(frame)
    assert (found["deepar-hi-95"] > found["deepar-lo-95"]).all()
    pd.testing.assert_frame_equal(found, forecaster.predict(frame))


def test_backtest_rows_are_what_predict_said_at_each_origin(trained, frame):
    backtest = trained.backtest(frame, windows=3, step=5)
    assert len(backtest) == 3 * 3 * HORIZON
    for (name, cutoff), rows in backtest.groupby(["unique_id", "cutoff"]):
        part = frame[frame["unique_id"] == name]
        known = trained.predict(part[part["ds"] <= cutoff])
        np.testing.assert_allclose(rows["nlinear"], known["nlinear"], rtol=1e-5)
        np.testing.assert_array_equal(rows["ds"], known["ds"])
        truth = part.set_index("ds")["y"].loc[rows["ds"]]
        np.testing.assert_array_equal(rows["y"], truth)


@pytest.mark.slow
@pytest.mark.parametrize("train_size", [None, 40])
def test_refitting_trains_on_the_past_of_each_origin_alone(frame, train_size):
    forecaster = Forecaster("nlinear", CONTEXT, HORIZON)
    options = {"windows": 2, "refit": True, "train_size": train_size, "epochs": 1, "verbose": 0}
    backtest = forecaster.backtest(frame, **options)
    part = backtest[backtest["cutoff"] == backtest["cutoff"].min()]
    cuts = backtest.groupby("unique_id")["cutoff"].min()
    past = frame[frame["ds"] <= frame["unique_id"].map(cuts)]
    if train_size:
        past = past.groupby("unique_id").tail(train_size)
    alone = Forecaster("nlinear", CONTEXT, HORIZON).fit(past, epochs=1, verbose=0).predict(past)
    name = part["unique_id"].iloc[0]
    np.testing.assert_allclose(
        part.loc[part["unique_id"] == name, "nlinear"],
        alone.loc[alone["unique_id"] == name, "nlinear"],
        rtol=1e-4,
    )


@pytest.mark.parametrize("method", ["split", pytest.param("adaptive", marks=pytest.mark.slow)])
@pytest.mark.parametrize("head", ["point", pytest.param("quantiles", marks=pytest.mark.slow)])
@pytest.mark.filterwarnings("ignore:95 % requires 19 calibration origins")
def test_calibrated_intervals_cover_what_they_promise(frame, head, method):
    data = pd.concat([series(name, 400, seed) for seed, name in enumerate("ab")])
    cut = pd.Timestamp("2024-01-01") + pd.Timedelta(days=280)
    before = data[data["ds"] < cut]
    forecaster = Forecaster("nlinear", CONTEXT, HORIZON, head=head)
    forecaster.fit(data[data["ds"] < cut - pd.Timedelta(days=90)], epochs=5, verbose=0)
    forecaster.calibrate(before, windows=80, method=method)
    scores = backtesting.score(forecaster.backtest(data, windows=113, step=1)).iloc[0]
    assert scores["coverage-80"] == pytest.approx(0.80, abs=0.05)
    assert scores["coverage-95"] == pytest.approx(0.95, abs=0.04)
    found = forecaster.predict(data)
    assert {"nlinear-lo-80", "nlinear-hi-95"} < set(found.columns)
    with pytest.raises(ValueError, match=r"calibrated for levels \(80, 95\), asked for \[50\]"):
        forecaster.predict(data, levels=(50,))


def test_saved_it_forecasts_the_same_and_fine_tunes(with_covariates, frame, tmp_path):
    with_covariates.save(tmp_path / "saved")
    loaded = Forecaster.load(tmp_path / "saved")
    arguments = {"frame": frame, "future": future_of(frame), "static": statics()}
    found = loaded.predict(**arguments)
    pd.testing.assert_frame_equal(found, with_covariates.predict(**arguments), rtol=1e-5)
    json.loads((tmp_path / "saved" / "forecaster.json").read_text())
    loaded.fit(frame, static=statics(), epochs=1, verbose=0)
    assert np.abs(loaded.predict(**arguments)["dlinear"] - found["dlinear"]).max() > 0
    with pytest.raises(FileExistsError, match="saved exists"):
        loaded.save(tmp_path / "saved")
    with pytest.raises(FileNotFoundError, match="holds no forecaster"):
        Forecaster.load(tmp_path)


@pytest.mark.tensorflow
@pytest.mark.parametrize(
    "head", ["point", *(pytest.param(x, marks=pytest.mark.slow) for x in ("quantiles", "mixture"))]
)
def test_exported_it_takes_raw_histories_with_gaps(frame, tmp_path, head):
    import tensorflow as tf

    forecaster = Forecaster("nlinear", CONTEXT, HORIZON, head=head)
    forecaster.fit(frame, epochs=1, verbose=0)
    forecaster.export(tmp_path / "export")
    serve = tf.saved_model.load(tmp_path / "export").signatures["serving_default"]
    part = frame[frame["unique_id"] == "b"].copy()
    part.iloc[-3, 2] = np.nan
    history = part["y"].to_numpy("float32")[None, -CONTEXT:, None]
    served = serve(history=tf.constant(history))["forecast"][0, :, 0]
    np.testing.assert_allclose(served, forecaster.predict(part)["nlinear"], rtol=1e-4)


@pytest.mark.slow
def test_importances_name_the_variables(frame):
    sizes = {"future": (0,), "static": (3, 0)}
    model = zoo.build("tft", 2, 1, 1, d_model=4, num_heads=1, covariates=sizes)
    model.compile("adam", "mae", run_eagerly=True)  # two LSTMs take half a minute to compile
    forecaster = Forecaster(model, 2, 1, future=["price"])
    forecaster.fit(frame, static=statics().assign(size=1.0), epochs=1, stride=50, verbose=0)
    shares = forecaster.variable_importances(frame, static=statics().assign(size=1.0))
    assert shares.loc[shares["kind"] == "past", "variable"].tolist() == ["y", "price"]
    assert shares.loc[shares["kind"] == "future", "variable"].tolist() == ["steps ahead", "price"]
    assert shares.loc[shares["kind"] == "static", "variable"].tolist() == ["kind", "size"]
    np.testing.assert_allclose(shares.groupby("kind")["share"].sum(), 1.0, rtol=1e-4)
    short = frame[frame["unique_id"] == frame["unique_id"].iloc[0]].iloc[:1]
    short = pd.concat([short.assign(unique_id="new"), frame])
    fixed = pd.concat([statics(), statics().iloc[:1].assign(unique_id="new")]).assign(size=1.0)
    with pytest.warns(UserWarning, match="'new' has 1 steps, too few"):
        others = forecaster.variable_importances(short, static=fixed)
    pd.testing.assert_frame_equal(others, shares)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Forecaster("nlinaer", 8, 4), "unknown model 'nlinaer': did you mean 'nlinear'"),
        (lambda: Forecaster("nhits", 8, 4, width=3), "nhits has no hyperparameter 'width'"),
        (lambda: Forecaster("nlinear", 0, 4), "context_length must be an integer"),
        (lambda: Forecaster("nlinear", 8, 4, short="cut"), "short must be one of 'pad', 'refuse'"),
        (lambda: Forecaster("nlinear", 8, 4, scaler="minmax"), "scaler must be one of"),
        (
            lambda: Forecaster("nlinear", 8, 4, head="negative_binomial"),
            "NegativeBinomialHead and scaler='standard' cannot be combined",
        ),
        (
            lambda: Forecaster(zoo.build("nlinear", 8, 4, 1), 8, 4, individual=True),
            "a Keras model takes no hyperparameters",
        ),
        (
            lambda: Forecaster(zoo.build("nlinear", 8, 4, 1), 8, 5),
            "was built for prediction_length=4, got 5",
        ),
        (
            lambda: Forecaster("nlinear", 8, 4).fit(series("a", 4), verbose=0),
            "no window to train on: the longest series has 4 steps",
        ),
        (
            lambda: Forecaster("nlinear", 8, 4, past=["wind"]).fit(series("a", 40)),
            r"covariates \['wind'\] are not columns",
        ),
        (
            lambda: Forecaster("last_value", 8, 4, head=NormalHead()).fit(series("a", 40)),
            "cannot be trained: use head=",
        ),
    ],
)
def test_bad_input_is_refused_in_one_line(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_what_needs_training_or_intervals_says_so(frame, trained):
    with pytest.raises(RuntimeError, match="not trained: call fit first"):
        Forecaster("nlinear", 8, 4).predict(frame)
    point = Forecaster("nlinear", CONTEXT, HORIZON, head="point")
    point.fit(frame, epochs=1, verbose=0)
    assert list(point.predict(frame).columns) == ["unique_id", "ds", "nlinear"]
    with pytest.raises(ValueError, match="a point forecast has no intervals: call calibrate"):
        point.predict(frame, levels=(80,))
    head = QuantileHead((0.1, 0.5, 0.9))
    few = Forecaster("nlinear", CONTEXT, HORIZON, head=head).fit(frame, epochs=1, verbose=0)
    assert list(few.predict(frame).columns[3:]) == ["nlinear-lo-80", "nlinear-hi-80"]
    wider = few.predict(frame, levels=(80, 95))  # 95 is extrapolated
    assert (wider["nlinear-hi-95"] > wider["nlinear-hi-80"]).all()
    assert (wider["nlinear-lo-95"] < wider["nlinear-lo-80"]).all()
    with pytest.raises(ValueError, match=r"no series is left of 3.*too few for 1 origin"):
        trained.backtest(frame.groupby("unique_id").head(HORIZON), windows=100)


@pytest.mark.parametrize("model", ["cyclenet", pytest.param("deepar", marks=pytest.mark.slow)])
def test_histories_are_forecast_as_frames_are(model):
    times = pd.date_range("2024-01-01", periods=60, freq="h")
    wide = pd.DataFrame({"a": np.arange(60) % 7 + 10.0, "b": np.arange(60) % 5 - 3.0}, times)
    head = "normal" if model == "deepar" else "quantiles"
    forecaster = Forecaster(model, 24, 6, head=head, num_samples=20)
    forecaster.fit(wide, epochs=1, verbose=0)
    inputs = {"history": wide.to_numpy()[None, -24:]}
    if model == "cyclenet":
        inputs["position"] = forecaster.fitted.clock.numbers(wide.index[-24:-23])[0].astype("int32")
    found = forecaster.forecast_histories(inputs)
    expected = forecaster.predict(wide)[model].to_numpy().reshape(2, 6).T
    if model == "deepar":
        assert found["samples"].shape == (1, 6, 2, 20)
    np.testing.assert_allclose(found["forecast"][0], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "share"), [({"validation_size": 14, "epochs": 1}, 0), ({}, 0), ({"epochs": 1}, 1)]
)
def test_covariates_are_standardised_by_the_rows_that_train(frame, options, share):
    """The held-out rows counted too: their 1000 moved a mean of 0."""
    held_out = options.get("validation_size", HORIZON)
    is_last = frame.groupby("unique_id").cumcount(ascending=False) < held_out
    frame = frame.assign(price=np.where(is_last, 1000.0, 0.0))
    forecaster = Forecaster("last_value", CONTEXT, HORIZON, past=["price"])
    column = forecaster.fit(frame, verbose=0, **options).fitted.covariates.past[0]
    assert column.mean == pytest.approx(share * frame["price"].mean())


@pytest.mark.slow
@pytest.mark.parametrize(("scaler", "is_share"), [(None, False), ("mean_abs", True)])
def test_a_covariates_effect_is_in_the_unit_of_the_series_or_a_share_of_its_level(scaler, is_share):
    """By standard deviations an effect of 30 was 28 in the quiet series, and 105 in the noisy."""
    rng = np.random.default_rng(0)
    levels, noises = np.array([100.0, 900.0 if is_share else 100.0]), np.array([1.0, 40.0])
    effects = 0.2 * levels if is_share else np.array([30.0, 30.0])
    rows = []
    for name, level, noise, effect in zip("ab", levels, noises, effects, strict=True):
        promotion = (rng.uniform(size=400) < 0.3).astype(float)
        values = level + effect * promotion + noise * rng.normal(size=400)
        times = pd.date_range("2024-01-01", periods=407)
        rows.append(pd.DataFrame({"unique_id": name, "ds": times}))
        rows[-1]["y"] = np.append(values, np.full(7, np.nan))
        rows[-1]["promotion"] = np.append(promotion, np.zeros(7))
    frame = pd.concat(rows)
    known, future = frame[frame["y"].notna()], frame[frame["y"].isna()]
    options = {"head": "point", "scaler": scaler, "future": ["promotion"]}
    forecaster = Forecaster("rlinear", 28, 7, optimizer=keras.optimizers.Adam(0.03), **options)
    forecaster.fit(known, epochs=15, batch_size=64, verbose=0)
    without, promoted = (
        forecaster.predict(known, future=future.assign(promotion=x))["rlinear"] for x in (0.0, 1.0)
    )
    found = (promoted - without).to_numpy().reshape(2, 7).mean(axis=1)
    np.testing.assert_allclose(found, effects, rtol=0.1)
