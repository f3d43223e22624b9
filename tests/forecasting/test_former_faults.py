"""Silent faults that were found by attacking the package, each with what it gave before."""

import types
import warnings

import keras
import numpy as np
import pandas as pd
import pytest

import kerastrans
from kerastrans import Forecaster, heads
from kerastrans.forecasting.selection import search
from kerastrans.forecasting.training import defaults, spread
from kerastrans.forecasting.training.extra_steps import num_extra_steps
from kerastrans.models.pretrained.licences import read_licence
from tests.helpers.weights import FRACAST_0, ZERO_1

SIZE = 14, 7


def weekly(name, length=120, level=0.0, seed=0):
    steps = np.arange(length)
    noise = np.random.default_rng(seed).normal(0, 0.3, length)
    return pd.DataFrame(
        {
            "unique_id": name,
            "ds": pd.date_range("2024-01-01", periods=length, freq="D"),
            "y": level + 10 + 3 * np.sin(2 * np.pi * steps / 7) + noise,
        }
    )


@pytest.fixture(scope="module")
def wide():
    frame = pd.concat([weekly("a"), weekly("b", seed=1, level=50)])
    return frame.pivot(index="ds", columns="unique_id", values="y")


def as_long(wide):
    long = wide.rename_axis(index="ds", columns="unique_id").stack()
    return long.rename("y").reset_index()


def numbers(rows):
    return rows.sort_values(["unique_id", "ds"]).select_dtypes("number").to_numpy()


@pytest.mark.slow
def test_a_wide_model_forecasts_a_long_frame_with_its_own_spread(wide):
    forecaster = Forecaster("nlinear", *SIZE).fit(wide, epochs=1, verbose=0)
    kerastrans.heads.of(forecaster.model).spread.assign(3.0)
    found = numbers(forecaster.predict(as_long(wide)))
    np.testing.assert_allclose(found, numbers(forecaster.predict(wide)), rtol=1e-5)


def test_a_channel_named_as_the_column_of_long_frames_is_not_taken_for_it(wide):
    wide = wide.set_axis(["y", "z"], axis=1)
    forecaster = Forecaster("nlinear", *SIZE).fit(wide, epochs=0)
    found = numbers(forecaster.predict(as_long(wide)))
    np.testing.assert_allclose(found, numbers(forecaster.predict(wide)), rtol=1e-5)


@pytest.mark.slow
def test_a_wide_model_backtests_and_calibrates_on_a_long_frame_as_it_predicts(wide):
    forecaster = Forecaster("nlinear", *SIZE).fit(wide[:80], epochs=1, verbose=0)
    long = as_long(wide)
    np.testing.assert_allclose(
        numbers(forecaster.backtest(long, windows=3)),
        numbers(forecaster.backtest(wide, windows=3)),
        rtol=1e-5,
    )
    calibrated = Forecaster("nlinear", *SIZE).fit(wide[:80], epochs=1, verbose=0)
    calibrated.calibrate(wide, windows=10, levels=[80])
    with pytest.raises(ValueError, match=r"calibrated on the columns \['a', 'b'\]"):
        calibrated.predict(long)
    rows = calibrated.calibrate(long, windows=10, levels=[80]).predict(long)
    assert list(rows.columns[3:]) == ["nlinear-lo-80", "nlinear-hi-80"]


def test_a_model_for_single_series_is_built_once_from_a_wide_one(wide):
    forecaster = Forecaster("nlinear", *SIZE).fit(wide, epochs=0)
    forecaster.predict(as_long(wide))
    before = keras.backend.get_uid("nlinear")
    forecaster.predict(as_long(wide))
    assert keras.backend.get_uid("nlinear") == before + 1


@pytest.mark.slow
def test_what_fit_resolved_does_not_replace_what_was_given(tmp_path):
    frame = kerastrans.datasets.load("air_passengers")[:56]
    forecaster = Forecaster("nlinear", prediction_length=4)
    given = forecaster.get_config()
    forecaster.fit(frame, epochs=1, verbose=0).save(tmp_path / "saved")
    loaded = Forecaster.load(tmp_path / "saved")
    for one in (forecaster, loaded):
        assert one.get_config() == given
        assert one.config.context_length is None
        assert one.clone().context_length is None
        assert one.context_length == forecaster.fitted.config.context_length
    options = {"windows": 2, "refit": True, "epochs": 1, "verbose": 0}
    expected = forecaster.backtest(frame, **options)
    pd.testing.assert_frame_equal(loaded.backtest(frame, **options), expected)


@pytest.mark.slow
def test_auto_stays_auto_after_a_round_trip(tmp_path):
    forecaster = Forecaster(prediction_length=4)
    frame = weekly("a")
    forecaster.fit(frame, epochs=1, verbose=0).save(tmp_path / "saved")
    loaded = Forecaster.load(tmp_path / "saved")
    assert loaded.alias == forecaster.alias == "tide"
    assert loaded.get_config() == forecaster.get_config()
    assert loaded.clone().config.model == "auto"


@pytest.fixture
def quick_selection(monkeypatch):
    monkeypatch.setattr(search, "CANDIDATES", (("nlinear", False, 0),))
    monkeypatch.setattr("kerastrans.forecasting.training.loop.MAX_EPOCHS", 2)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["constant", "zeros", "seasonal"])
def test_select_takes_series_that_the_naive_forecasts_exactly(kind, quick_selection):
    frame = weekly("a")
    frame["y"] = {"constant": 5.0, "zeros": 0.0, "seasonal": np.arange(120) % 7.0}[kind]
    selected = kerastrans.select(frame, 7, time_limit=1e6, verbose=False)
    assert np.isfinite(selected.predict(frame).select_dtypes("number")).all(axis=None)
    assert selected.leaderboard["skill"].max() == 0


@pytest.mark.slow
def test_select_judges_all_candidates_by_the_same_rows(quick_selection):
    frame = pd.concat([weekly("a", 300), weekly("sparse", 84, seed=3)[::3]])
    inside = frame["ds"].between("2024-10-05", "2024-10-18") & (frame["unique_id"] == "a")
    frame.loc[inside, "y"] = np.nan  # the naive forecast has no value at an origin
    selected = kerastrans.select(frame, 7, time_limit=1e6, verbose=False)
    assert np.isfinite(selected.leaderboard["loss"]).all()


@pytest.mark.slow
def test_select_refuses_an_end_without_values(quick_selection):
    frame = weekly("a")
    frame.loc[frame.index[-20:], "y"] = np.nan
    with pytest.raises(ValueError, match="value"):
        kerastrans.select(frame, 7, time_limit=1e6, verbose=False)


@pytest.mark.slow
def test_a_selected_forecaster_is_not_trained_again_as_one_model(quick_selection, tmp_path):
    frame = weekly("a")
    selected = kerastrans.select(frame, 7, time_limit=1e6, verbose=False)
    selected.save(tmp_path / "saved")
    for forecaster in (selected, Forecaster.load(tmp_path / "saved")):
        with pytest.raises(ValueError, match=r"made by kerastrans\.select, whose members"):
            forecaster.clone()
        with pytest.raises(ValueError, match=r"made by kerastrans\.select, whose members"):
            forecaster.backtest(frame, windows=2, refit=True)


@pytest.mark.slow
def test_validation_rows_have_their_context_in_the_training_data():
    frame, few = weekly("a"), weekly("b", 40, seed=1)
    forecaster = Forecaster("nlinear", 28, 7, short="refuse")
    rows = pd.concat([frame[100:], few[30:]])
    train = pd.concat([frame[:100], few[:30]])
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        forecaster.fit(train, validation=rows, epochs=1, verbose=0)
    assert set(forecaster.fitted.chosen_by) <= {"a", "b"}
    assert "val_loss" in forecaster.history.history


def test_early_stopping_monitors_every_epoch():
    with pytest.raises(ValueError, match="validation_freq=2 and epochs=None cannot be combined"):
        Forecaster("nlinear", *SIZE).fit(weekly("a"), validation_freq=2, verbose=0)


def test_a_finished_checkpoint_is_not_taken_for_another_training(tmp_path):
    frame, options = weekly("a"), {"epochs": 2, "verbose": 0, "checkpoint": tmp_path / "kept"}
    forecaster = Forecaster("nlinear", *SIZE).fit(frame, **options)
    weights = [x.copy() for x in forecaster.model.get_weights()]
    with pytest.raises(ValueError, match="weights at the start differs from the interrupted one's"):
        forecaster.fit(frame, **options)
    for before, after in zip(weights, forecaster.model.get_weights(), strict=True):
        np.testing.assert_array_equal(before, after)
    again = Forecaster("nlinear", *SIZE).fit(frame, **options)  # the same training is resumed
    for before, after in zip(weights, again.model.get_weights(), strict=True):
        np.testing.assert_array_equal(before, after)
    assert num_extra_steps(-300) == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "other", [int, float, lambda x: x.astype(str), lambda x: x.astype(str).str.lower()]
)
def test_booleans_are_read_as_files_and_databases_have_them(other):
    frame = weekly("a").assign(promo=np.arange(120) % 3 == 0)
    forecaster = Forecaster("dlinear", *SIZE, future=["promo"], head="point")
    forecaster.fit(frame[:113], epochs=2, verbose=0)
    future = frame[113:][["unique_id", "ds", "promo"]]
    expected = forecaster.predict(frame[:113], future=future)
    convert = {"promo": other} if isinstance(other, type) else None

    def changed(frame):
        if convert:
            return frame.astype(convert)
        return frame.assign(promo=other(frame["promo"]))

    found = forecaster.predict(changed(frame[:113]), future=changed(future))
    pd.testing.assert_frame_equal(found, expected)


def test_numbers_in_place_of_the_known_categories_are_refused():
    frame = weekly("a").assign(sky=np.where(np.arange(120) % 2, "sun", "rain"))
    forecaster = Forecaster("dlinear", *SIZE, past=["sky"], head="point")
    forecaster.fit(frame, epochs=0)
    with pytest.raises(ValueError, match=r"'sky' has no value that was seen in .*, got 3"):
        forecaster.predict(frame.assign(sky=3))


def test_columns_have_names_of_their_own(wide):
    twice = wide.set_axis(["a", "a"], axis=1)
    with pytest.raises(ValueError, match="several columns named 'a'"):
        Forecaster("nlinear", *SIZE).fit(twice, epochs=1, verbose=0)


@pytest.mark.parametrize(
    "head",
    [
        "license: cc-by-nc-4.0",
        "license: 'cc-by-nc-4.0'",
        "license:\n- cc-by-nc-4.0",
        "license: [apache-2.0, cc-by-nc-4.0]",
        "license: >-\n  cc-by-nc-4.0",
        "x: &licence cc-by-nc-4.0\nlicense: *licence",
        "license_name: mine\nlicense: cc-by-nc-4.0",
    ],
)
def test_a_licence_that_forbids_use_is_found_however_it_is_written(head, tmp_path):
    (tmp_path / "README.md").write_text(f"---\n{head}\n---\ntext")
    with pytest.raises(ValueError, match=r"states the licence .*which forbids commercial use"):
        read_licence(tmp_path, "someone/model")


@pytest.mark.parametrize("head", ["license: [apache", "- a\n- b", "license: {: :"])
def test_metadata_that_cannot_be_read_are_refused(head, tmp_path):
    (tmp_path / "README.md").write_text(f"---\n{head}\n---\ntext")
    with pytest.raises(ValueError, match="its licence is not known"):
        read_licence(tmp_path, "someone/model")


@pytest.mark.slow
@pytest.mark.parametrize("name", [ZERO_1, FRACAST_0, "kerastrans_zero_2"])
def test_published_weights_forecast_every_level_and_size_alike(name):
    forecaster = kerastrans.from_pretrained(name, 7, verbose=False)
    frame = weekly("a", 200)
    expected = numbers(forecaster.predict(frame)) - 10
    for level, size in ((1e8, 1), (0, 1e-8), (0, 1e20)):
        y = level + size * (frame["y"] - 10)
        found = (numbers(forecaster.predict(frame.assign(y=y))) - level) / size
        np.testing.assert_allclose(found, expected, atol=1e-5 * 3)


def in_orders(*series):
    """The same rows in two orders of the series."""
    return pd.concat(series), pd.concat([*series[1:], series[0]])


@pytest.mark.slow
def test_series_shorter_than_the_hold_out_may_come_first():
    # Their validation windows had the scale of the last series, or fit failed.
    found = []
    for frame in in_orders(weekly("x", 2), weekly("y", 8, seed=1), weekly("b", 300, level=1e6)):
        options = {"validation_size": 30, "epochs": 1, "steps_per_epoch": 1, "verbose": 0}
        forecaster = Forecaster("nlinear", 12, 2).fit(frame, **options)
        found.append(forecaster.history.history["val_loss"])
    np.testing.assert_allclose(*found, rtol=1e-5)
    series = weekly("new", 10), weekly("b", 300, seed=1), weekly("c", 301, seed=2)
    Forecaster("last_value", 12, 2).fit(pd.concat(series), epochs=0)


def test_the_default_context_depends_on_training_rows_alone():
    # With a series shorter than the hold-out first, the held-out rows of others counted.
    rng = np.random.default_rng(0)
    noise = [weekly(name, 60).assign(y=rng.normal(size=60)) for name in "bc"]
    noise[0].loc[40:, "y"] = 10 * np.sin(2 * np.pi * np.arange(20) / 7)
    found = [
        Forecaster("nlinear", prediction_length=2).fit(frame, validation_size=20, epochs=0)
        for frame in in_orders(weekly("a", 2), *noise)
    ]
    assert found[0].context_length == found[1].context_length


def test_a_whole_context_is_not_too_short_for_a_backtest():
    forecaster = Forecaster("last_value", 6, 2, short="refuse").fit(weekly("b"), epochs=0)
    assert len(forecaster.backtest(weekly("z", 8), windows=1)) == 2
    with pytest.raises(ValueError, match="'z' has 7 steps, too few for 1 origin"):
        forecaster.backtest(weekly("z", 7), windows=1)


@pytest.mark.parametrize("refit", [False, 2])
def test_a_short_series_keeps_the_origins_that_it_has(refit):
    """Of five origins, 2 steps apart, "c" has the last two, and "d" none."""
    frame = pd.concat([weekly("b", 40), weekly("c", 5), weekly("d", 2)], ignore_index=True)
    forecaster = Forecaster("last_value", 1, 2)
    if not refit:
        forecaster.fit(frame)
    with (
        pytest.warns(UserWarning, match="1 of 2 series have rows for fewer than 5 origins, 'c'"),
        pytest.warns(UserWarning, match="1 series left out.*'d' has 2 steps"),
    ):
        rows = forecaster.backtest(frame, windows=5, refit=refit)
    assert rows.groupby("unique_id")["cutoff"].nunique().to_dict() == {"b": 5, "c": 2}
    joined = rows.merge(frame, on=["unique_id", "ds"], suffixes=("", "_known"))
    assert (joined["y"] == joined["y_known"]).all()
    before = rows.merge(frame, left_on=["unique_id", "cutoff"], right_on=["unique_id", "ds"])
    np.testing.assert_allclose(before["last_value"], before["y_y"])


@pytest.mark.filterwarnings("ignore:1 series left out")
def test_refitting_with_a_default_context_leaves_out_what_is_shorter():
    frame = pd.concat([weekly("a", 10), weekly("b", 200)])
    forecaster = Forecaster("last_value", None, 4, short="refuse")
    rows = forecaster.backtest(frame, windows=2, refit=True, epochs=0)
    assert rows["unique_id"].unique().tolist() == ["b"]
    assert list(forecaster.faults) == ["a"]


@pytest.mark.slow
@pytest.mark.parametrize("is_wide", [False, True])
def test_future_covariates_may_be_in_another_time_zone(is_wide):
    frame = weekly("a", 60).assign(x=np.arange(60.0))
    frame["ds"] = pd.date_range("2024-03-20", periods=60, freq="h", tz="Europe/Berlin")
    if is_wide:
        frame = frame.drop(columns="unique_id").set_index("ds")
    known, ahead = frame[:50], frame[50:52].drop(columns="y")
    forecaster = Forecaster("nlinear", 12, 2, future=["x"]).fit(known, epochs=1, verbose=0)
    expected = forecaster.predict(known, future=ahead)
    in_utc = ahead.tz_convert("UTC") if is_wide else ahead.assign(ds=ahead.ds.dt.tz_convert("UTC"))
    pd.testing.assert_frame_equal(forecaster.predict(known, future=in_utc), expected)


def test_a_clone_of_a_keras_model_has_no_spread_of_former_weights():
    model = kerastrans.zoo.build("nlinear", *SIZE, 1, head="quantiles")
    forecaster = Forecaster(model)
    heads.of(forecaster.config.model).spread.assign(5.0)
    heads.of(forecaster.config.model).spread_growth.assign(0.1)
    head = heads.of(forecaster.clone().config.model)
    assert (head.spread, head.spread_growth) == (1.0, 0.0)


@pytest.fixture
def attention(monkeypatch):
    """What "auto" chooses for long series with future covariates, for these short ones."""
    monkeypatch.setattr(defaults, "WITH_FUTURE", {"d_model": 8, "ff_dim": 12, "num_heads": 2})
    monkeypatch.setattr(defaults, "MIN_ROWS_FOR_ATTENTION", 100)
    frame = weekly("a", 140)
    return frame.assign(x=np.random.default_rng(3).normal(size=len(frame)))


OPTIONS = {"epochs": 1, "verbose": 0, "steps_per_epoch": 1, "restore_published": False}


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_file_has_the_hyperparameters_that_auto_chose(attention, tmp_path):
    forecaster = Forecaster("auto", prediction_length=4, future=["x"]).fit(
        attention[:-4], **OPTIONS
    )
    forecaster.save(tmp_path / "a")
    loaded = Forecaster.load(tmp_path / "a")
    assert loaded.fitted.config.hyperparameters == forecaster.fitted.config.hyperparameters
    future = attention[["unique_id", "ds", "x"]][-4:]
    found = [
        x.predict(attention[:-4], future=future, prediction_length=2) for x in (loaded, forecaster)
    ]
    np.testing.assert_allclose(*map(numbers, found), rtol=1e-5)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_auto_is_one_architecture_in_a_backtest_that_refits(attention):
    forecaster = Forecaster("auto", prediction_length=4, future=["x"])
    origins = [forecaster.clone().fit(attention[:x], **OPTIONS).alias for x in (96, 100)]
    assert origins == ["tide", "decoder_transformer"]
    rows = forecaster.backtest(attention[:104], windows=2, step=4, refit=True, **OPTIONS)
    assert np.isfinite(rows["auto-hi-80"]).sum() == 8


def test_a_silent_channel_does_not_hide_how_a_training_narrows_the_spread():
    head = heads.get("quantiles")
    values = np.sort(np.random.default_rng(0).normal(size=(5, 4, 2, len(head.levels))))
    forecasts = types.SimpleNamespace(parameters=values, units=np.ones((5, 1, 2)))
    expected = spread.mean_distance(head, forecasts)
    silent = types.SimpleNamespace(parameters=values.copy(), units=np.ones((5, 1, 2)))
    silent.parameters[2, :, 1] = np.nan
    assert spread.mean_distance(head, silent) == pytest.approx(expected, rel=0.3)


def test_a_wide_model_that_forecasts_series_knows_what_it_was_trained_on(wide):
    forecaster = Forecaster("nlinear", *SIZE).fit(wide, epochs=1, verbose=0)
    (last,) = forecaster.fitted.trained.values()
    other = pd.concat([weekly("c", seed=3), weekly("d", seed=4)])
    forecaster.calibrate(other, windows=8, levels=[80])
    assert forecaster.fitted.trained == {"a": last, "b": last}
    with pytest.warns(UserWarning, match="trained on"):
        forecaster.backtest(as_long(wide), windows=1)


@pytest.mark.slow
def test_calibration_takes_whole_contexts_if_shorter_ones_are_refused():
    frame = pd.concat([weekly("a", 40), weekly("b", 31, seed=1)])
    forecaster = Forecaster("nlinear", 24, 6, short="refuse").fit(frame, epochs=1, verbose=0)
    with pytest.raises(ValueError, match="windows"):  # 3 of 20 have a whole context
        forecaster.calibrate(frame, windows=10, step=6, levels=[80])
    padded = Forecaster("nlinear", 24, 6).fit(frame, epochs=1, verbose=0)
    assert padded.calibrate(frame, windows=10, step=6, levels=[80]).fitted.intervals is not None


@pytest.mark.filterwarnings("ignore:1 series left out")
def test_a_combination_refuses_what_its_members_refuse():
    frame = pd.concat([weekly("a", 5), weekly("b", 60)])
    members = [
        Forecaster("nlinear", length, 4, short="refuse").fit(frame, epochs=0) for length in (12, 14)
    ]
    found = kerastrans.combine(members).predict(frame)
    assert found["unique_id"].unique().tolist() == ["b"]


def test_one_callback_is_a_list_of_one_and_initial_epoch_is_told():
    frame, calls = weekly("a"), []
    counting = keras.callbacks.LambdaCallback(on_epoch_end=lambda *_: calls.append(1))
    Forecaster("nlinear", *SIZE).fit(frame, epochs=2, verbose=0, callbacks=counting)
    assert len(calls) == 2
    with pytest.raises(ValueError, match="fit takes no 'initial_epoch': use checkpoint"):
        Forecaster("nlinear", *SIZE).fit(frame, epochs=2, initial_epoch=1)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:80 % requires 4 calibration origins")
def test_a_clone_of_published_weights_is_not_calibrated():
    frame = weekly("a")
    forecaster = kerastrans.from_pretrained(ZERO_1, 7, verbose=False)
    forecaster.calibrate(frame, windows=6, levels=[80])
    clone = forecaster.clone().fitted
    assert clone.intervals is None
    assert clone.dependence is None


def test_a_failed_fit_leaves_spread_and_compilation_as_they_were():
    def fail(*_):
        raise KeyboardInterrupt

    model = kerastrans.zoo.build("nlinear", *SIZE, 1, head="quantiles")
    model.compile("adam", heads.of(model).loss(), jit_compile=False)
    forecaster = Forecaster(model)
    heads.of(model).spread.assign(2.0)
    failing = keras.callbacks.LambdaCallback(on_epoch_end=fail)
    with pytest.raises(KeyboardInterrupt):
        forecaster.fit(weekly("a"), epochs=2, verbose=0, callbacks=[failing])
    assert heads.of(model).spread == 2.0
    assert not model.jit_compile
    assert not model.optimizer.built
    assert "loss" in forecaster.fit(weekly("a"), epochs=1, verbose=0).history.history


@pytest.mark.slow
def test_a_warning_that_is_an_error_finds_a_trained_forecaster():
    frame = pd.concat([weekly("a"), weekly("b", 30).assign(y=np.inf)])
    forecaster = Forecaster("nlinear", *SIZE).fit(weekly("a"), epochs=1, verbose=0)
    before = forecaster.fitted
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        with pytest.raises(UserWarning, match="left out"):
            forecaster.fit(frame, epochs=1, verbose=0, validation_size=14)
    assert forecaster.fitted is not before
    assert forecaster.fitted.history is not before.history
