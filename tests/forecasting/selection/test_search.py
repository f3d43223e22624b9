"""`kerastrans.select`: candidates, greedy weights, saving and exports."""

import warnings

import keras
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kerastrans
from kerastrans.forecasting.selection import candidates, combination, search
from kerastrans.forecasting.selection.combination import Selected, greedy_weights
from kerastrans.forecasting.training import loop, time_limit

HORIZON = 6
WIDE = pd.DataFrame({"a": 1.0}, pd.date_range("2024-01-01", periods=40))


def weekly(length=150, names="ab"):
    """Return series with a weekly wave and a covariate that is known ahead."""
    rng = np.random.default_rng(0)
    times = pd.date_range("2024-01-01", periods=length, freq="D")
    parts = []
    for number, name in enumerate(names):
        price = rng.integers(0, 2, length).astype(float)
        wave = np.sin(2 * np.pi * np.arange(length) / 7 + number)
        y = 10 * (number + 1) + 3 * wave + 4 * price + rng.normal(0, 0.3, length)
        parts.append(pd.DataFrame({"unique_id": name, "ds": times, "y": y, "price": price}))
    return pd.concat(parts, ignore_index=True)


@pytest.fixture
def two(monkeypatch):
    """Only two trained candidates, each for a few epochs."""
    monkeypatch.setattr(search, "CANDIDATES", (("nlinear", False, 0), ("nlinear", True, 1)))
    monkeypatch.setattr("kerastrans.forecasting.training.loop.MAX_EPOCHS", 12)


@given(
    st.lists(st.lists(st.floats(-9, 9), min_size=4, max_size=4), min_size=1, max_size=4),
    st.lists(st.floats(-9, 9), min_size=4, max_size=4),
)
def test_the_mean_is_never_worse_than_its_best_member(forecasts, target):
    forecasts = [np.array(forecast) for forecast in forecasts]
    losses = [np.abs(forecast - target).mean() for forecast in forecasts]
    weights, loss = greedy_weights(forecasts, lambda x: np.abs(x - target).mean())
    assert weights.sum() == pytest.approx(1)
    assert (weights >= 0).all()
    assert loss <= min(losses)
    mean = sum(weight * forecast for weight, forecast in zip(weights, forecasts, strict=True))
    assert np.abs(mean - target).mean() == pytest.approx(loss, abs=1e-12)


def test_a_forecast_that_is_not_finite_is_not_chosen():
    forecasts = [np.array([np.nan, 1.0]), np.array([3.0, 3.0])]
    weights, _ = greedy_weights(forecasts, lambda x: np.abs(x).mean())
    assert weights.tolist() == [0, 1]


@pytest.mark.slow
def test_select_returns_a_forecaster_that_predicts_saves_and_reloads(two, tmp_path, capsys):
    frame = weekly()
    known = frame[frame["ds"] < frame["ds"].max() - pd.Timedelta(days=HORIZON - 1)]
    future = frame.drop(columns="y").merge(known[["unique_id", "ds"]], how="left", indicator=True)
    future = future[future.pop("_merge") == "left_only"]
    selected = kerastrans.select(known, HORIZON, future=["price"], time_limit=1e6)
    lines = [line.split(":")[0] for line in capsys.readouterr().out.splitlines()]
    assert set(lines[6:]) == {"nlinear"}  # its extra steps
    assert lines[:6] == [
        "seasonal_naive",
        "nlinear",
        "nlinear",
        "nlinear+calendar (seed 1)",
        "nlinear+calendar (seed 1)",
        "ensemble",
    ]
    table = selected.leaderboard.set_index("model")
    assert table["loss"].idxmin() == "ensemble"
    assert table.loc["seasonal_naive", "skill"] == 0
    assert table["weight"].sum() == pytest.approx(1)
    rows = selected.predict(known, future=future)
    truth = frame.merge(rows, on=["unique_id", "ds"])
    assert len(truth) == 2 * HORIZON
    assert (truth["ensemble"] - truth["y"]).abs().mean() < 2
    selected.save(tmp_path / "saved")
    loaded = Selected.load(tmp_path / "saved")
    pd.testing.assert_frame_equal(loaded.predict(known, future=future), rows)
    pd.testing.assert_frame_equal(loaded.leaderboard, selected.leaderboard)
    backtest = loaded.backtest(frame, windows=1)
    both = backtest.merge(rows, on=["unique_id", "ds"])
    np.testing.assert_allclose(both["ensemble_x"], both["ensemble_y"], rtol=1e-6)


@pytest.mark.slow
@pytest.mark.tensorflow
def test_an_exported_selection_returns_the_same_forecast(two, tmp_path):
    import tensorflow as tf

    frame = weekly().drop(columns="price")
    selected = kerastrans.select(frame, HORIZON, time_limit=1e6, verbose=False)
    selected.export(tmp_path / "exported")
    context = selected.context_length
    histories = np.stack(
        [part["y"].to_numpy()[-context:] for _, part in frame.groupby("unique_id")]
    )
    inputs = {"history": histories[..., None].astype("float32")}
    for tensor in selected.model.inputs:
        if tensor.name == "future_covariates":
            panel = selected.reader.panel(frame)
            times = panel.numbers(0, panel.cuts[0]) + np.arange(-context, HORIZON)
            waves = panel.clock.calendar(times).astype("float32")
            inputs[tensor.name] = np.stack([waves] * 2)
    outputs = tf.saved_model.load(str(tmp_path / "exported")).signatures["serving_default"](
        **{name: tf.constant(value) for name, value in inputs.items()}
    )
    rows = selected.predict(frame)
    found = outputs["forecast"].numpy()[..., 0].ravel()
    np.testing.assert_allclose(found, rows["ensemble"], rtol=1e-4)


def test_a_candidate_that_requires_longer_series_is_left_out(monkeypatch, capsys):
    monkeypatch.setattr(search, "CANDIDATES", (("patchtst", False, 0),))
    frame = weekly(30).drop(columns="price")
    with pytest.warns(UserWarning, match="only the seasonal naive .*: patchtst: left out, patch_"):
        selected = kerastrans.select(frame, HORIZON, time_limit=1e6)
    assert "patchtst: left out, patch_length must be at most" in capsys.readouterr().out
    assert set(selected.leaderboard["model"]) == {"seasonal_naive", "ensemble"}


def test_if_the_time_limit_is_too_short_the_seasonal_naive_forecast_is_returned(capsys):
    frame = weekly().drop(columns="price")
    with pytest.warns(time_limit.TimeLimitWarning, match="time_limit=1e-06 was exceeded"):
        selected = kerastrans.select(frame, HORIZON, time_limit=1e-6)
    assert "the seasonal naive forecast is used" in capsys.readouterr().out
    assert set(selected.leaderboard["model"]) == {"seasonal_naive", "ensemble"}
    rows = selected.predict(frame)
    week_before = frame.groupby("unique_id")["y"].apply(lambda y: y.iloc[-7:-1]).to_numpy()
    np.testing.assert_allclose(rows["ensemble"], week_before, atol=1)
    assert (rows["ensemble-hi-80"] - rows["ensemble-lo-80"]).between(0.1, 20).all()


@pytest.mark.slow
def test_a_selection_ends_in_time_with_its_ensemble(monkeypatch, capsys):
    now = [0.0]  # seconds; a training step takes 1, a backtest of the held-out rows 3

    class Tick(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            now[0] += 1

    def ticking(function, seconds):
        def run(*args, **kwargs):
            now[0] += seconds
            return function(*args, **kwargs)

        return run

    fit_model = loop.fit_model
    for module in ("fit", "extra_steps"):
        monkeypatch.setattr(
            f"kerastrans.forecasting.training.{module}.fit_model",
            lambda *args, **kwargs: fit_model(*args, **kwargs | {"callbacks": [Tick()]}),
        )
    monkeypatch.setattr(time_limit, "monotonic", lambda: now[0])
    monkeypatch.setattr(search.HoldoutScorer, "__call__", ticking(search.HoldoutScorer.__call__, 3))
    monkeypatch.setattr(combination, "forecast_windows", ticking(combination.forecast_windows, 6))
    names = (("nlinear", False, 0), ("nlinear", True, 1), ("nlinear", True, 2))
    monkeypatch.setattr(search, "CANDIDATES", names)
    selected = kerastrans.select(weekly(400), HORIZON, time_limit=100)
    assert 60 < now[0] <= 110
    assert {"nlinear", "nlinear+calendar (seed 1)"} <= set(selected.leaderboard["model"])
    assert "extra steps on all rows, for at most" in capsys.readouterr().out


def test_the_intervals_of_the_naive_candidate_have_their_coverage(capsys):
    frame = weekly(400, "abcdef").drop(columns="price")
    train = frame[frame["ds"] < "2024-12-01"]
    rows = candidates.fit_naive(train, HORIZON, "D").backtest(frame, windows=10)
    inside = rows["y"].between(rows["seasonal_naive-lo-80"], rows["seasonal_naive-hi-80"])
    assert inside.mean() == pytest.approx(0.8, abs=0.06)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_an_interrupted_selection_resumes(two, tmp_path, monkeypatch):
    frame = weekly().drop(columns="price")
    whole = kerastrans.select(frame, HORIZON, time_limit=1e6, verbose=False)
    train, tried = candidates.train_candidate, []

    def interrupted(*args, **kwargs):
        tried.append(args[0][0])
        if len(tried) == 3:
            raise KeyboardInterrupt
        return train(*args, **kwargs)

    monkeypatch.setattr(search, "train_candidate", interrupted)
    options = {"time_limit": 1e6, "verbose": False, "folder": tmp_path / "candidates"}
    with pytest.raises(KeyboardInterrupt):
        kerastrans.select(frame, HORIZON, **options)
    resumed = kerastrans.select(frame, HORIZON, **options)
    assert tried == ["seasonal_naive", "nlinear", "nlinear", "nlinear"]
    pd.testing.assert_frame_equal(
        resumed.leaderboard.drop(columns="seconds"), whole.leaderboard.drop(columns="seconds")
    )
    pd.testing.assert_frame_equal(resumed.predict(frame), whole.predict(frame), rtol=1e-5)
    with pytest.raises(ValueError, match="holds a selection with other prediction_length, seed"):
        kerastrans.select(frame, HORIZON + 1, **options, seed=4)
    with pytest.raises(ValueError, match="holds a selection with other frame, freq: give"):
        kerastrans.select(frame[frame["ds"].dt.dayofweek < 5], HORIZON, **options)


KINDS = pd.DataFrame({"unique_id": ["a", "b"], "kind": ["x", "y"]})


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"static": KINDS.assign(kind=["y", "x"])}, "static"),
        ({"static": None}, "static"),
        ({"frame": weekly().rename(columns={"y": "price", "price": "y"})}, "frame"),
        ({"frame": weekly().assign(y=lambda x: x["y"] * 1000)}, "frame"),
        ({"future": ["price"], "past": ()}, "future, past"),
        ({"time_limit": 3600}, "time_limit"),
    ],
)
def test_a_folder_of_another_selection_is_refused(change, names, tmp_path, monkeypatch):
    def interrupted(*args):
        raise RuntimeError("interrupted")

    monkeypatch.setattr(search, "_run_candidates", interrupted)
    options = {"frame": weekly(), "prediction_length": HORIZON, "past": ["price"], "static": KINDS}
    options |= {"time_limit": 20, "folder": tmp_path / "store"}
    for limit in (20, 20.0):
        with pytest.raises(RuntimeError, match="interrupted"):
            kerastrans.select(**options | {"time_limit": limit})
    message = f"holds a selection with other {names}: give another folder, or delete this one"
    with pytest.raises(ValueError, match=message):
        kerastrans.select(**options | change)


def test_two_processes_share_the_candidates_of_a_folder(tmp_path, monkeypatch):
    make, new_file = candidates.CandidateStore, candidates.new_file
    frame = weekly(20).drop(columns="price")
    mine, theirs = (
        kerastrans.Forecaster("last_value", 1, HORIZON, alias=alias).fit(frame)
        for alias in ("mine", "theirs")
    )

    def train():  # and the other process is faster
        make(tmp_path / "store", {"seed": 0}).get(0, lambda: theirs)
        return mine

    store = make(tmp_path / "store", {"seed": 0})
    assert store.get(0, train).alias == "theirs"
    assert store.get(1, lambda: mine) is mine
    assert sorted(x.name for x in (tmp_path / "store").iterdir()) == ["0", "1", "selection.json"]

    def late(path):  # both begin at once
        monkeypatch.setattr(candidates, "new_file", new_file)
        make(tmp_path / "late", {"seed": 0})
        return new_file(path)

    for seed in (0, 1):
        monkeypatch.setattr(candidates, "new_file", late)
        if seed:
            (tmp_path / "late" / "selection.json").unlink()
            with pytest.raises(ValueError, match="holds a selection with other seed"):
                make(tmp_path / "late", {"seed": seed})
        else:
            assert not make(tmp_path / "late", {"seed": seed}).has(0)


@pytest.mark.slow
@pytest.mark.filterwarnings("error::UserWarning")
def test_yearly_series_have_no_calendar_and_no_duplicate_candidates(two, monkeypatch):
    monkeypatch.setattr(search, "CANDIDATES", (("nlinear", True, 0), ("nlinear", False, 0)))
    times = pd.date_range("1980-01-01", periods=40, freq="YS")
    frame = pd.DataFrame({"ds": times, "y": 5.0 + np.arange(40) % 7}).assign(unique_id="a")
    selected = kerastrans.select(frame, HORIZON, time_limit=1e6, verbose=False)
    names = sorted(selected.leaderboard["model"])
    assert names == ["ensemble", "nlinear", "seasonal_naive"]
    assert not selected.fitted.config.calendar
    assert np.isfinite(selected.predict(frame, levels=[80]).filter(like="ensemble")).all(axis=None)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_select_treats_channels_of_a_wide_frame_as_series(two):
    long = weekly().drop(columns="price")
    wide = long.pivot(index="ds", columns="unique_id", values="y")
    selected = kerastrans.select(wide, HORIZON, time_limit=1e6, verbose=False)
    again = kerastrans.select(long, HORIZON, time_limit=1e6, verbose=False)
    pd.testing.assert_frame_equal(selected.predict(long), again.predict(long))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"time_limit": 0}, "time_limit must be seconds above 0, got 0"),
        ({"prediction_length": 0}, "prediction_length must be an integer of at least 1"),
        ({"prediction_length": 200}, "the longest series has 150 steps, too few to hold out 200"),
        ({"past": ["wind"]}, r"covariates \['wind'\] are not columns of the frame"),
        ({"frame": WIDE, "future": ["wind"]}, r"covariates \['wind'\]"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        kerastrans.select(**{"frame": weekly(), "prediction_length": HORIZON, **arguments})


@pytest.mark.slow
def test_the_pretrained_candidate_has_the_quantiles_of_the_other_candidates(monkeypatch, tmp_path):
    monkeypatch.setattr(search, "CANDIDATES", candidates.CANDIDATES[:1])
    frame = weekly().drop(columns="price")
    selected = kerastrans.select(frame, HORIZON, time_limit=1e6, verbose=False)
    table = selected.leaderboard.set_index("model")
    assert table.loc["kerastrans_zero_2", "loss"] < table.loc["seasonal_naive", "loss"]
    member = candidates.load_pretrained(frame, HORIZON, "D", 0).predict(frame, levels=[80, 50])
    published = kerastrans.from_pretrained("kerastrans_zero_2", HORIZON, verbose=False)
    expected = published.predict(frame, levels=[80, 50])
    for column in ("kerastrans_zero_2", "kerastrans_zero_2-lo-80"):
        np.testing.assert_allclose(member[column], expected[column], rtol=1e-4)
    between = expected[["kerastrans_zero_2-lo-80", "kerastrans_zero_2"]].to_numpy()
    quartile = member["kerastrans_zero_2-lo-50"]
    assert ((between[:, 0] < quartile) & (quartile < between[:, 1])).all()
    selected.save(tmp_path / "s")
    rows = Selected.load(tmp_path / "s").predict(frame)
    np.testing.assert_allclose(rows["ensemble"], selected.predict(frame)["ensemble"], rtol=1e-5)


@pytest.mark.slow
def test_the_pretrained_candidate_has_the_season_of_the_frequency_and_reads_no_more_than_it_needs():
    times = pd.date_range("2024-01-01", periods=200, freq="h")
    wave = np.sin(np.arange(200) * np.pi / 12) + np.random.default_rng(0).normal(0, 0.1, 200)
    frame = pd.DataFrame({"unique_id": "a", "ds": times, "y": wave})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # Keras reads arrays of JAX by an old rule
        member = candidates.load_pretrained(frame, HORIZON, "h", 0)
    assert member.context_length == 800
    options = {"model_options": {"season": 24}, "verbose": False}
    expected = kerastrans.from_pretrained("kerastrans_zero_2", HORIZON, **options).predict(frame)
    column = "kerastrans_zero_2"
    np.testing.assert_allclose(member.predict(frame)[column], expected[column], rtol=1e-4)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_the_pretrained_candidate_takes_the_effect_of_covariates(monkeypatch, tmp_path):
    monkeypatch.setattr(search, "CANDIDATES", candidates.CANDIDATES[:1])
    rng = np.random.default_rng(0)
    frame = weekly().assign(price=lambda x: rng.normal(size=len(x)))
    frame["y"] += 5 * frame["price"]
    options = {"time_limit": 1e6, "verbose": False}
    selected = kerastrans.select(frame, HORIZON, future=["price"], **options)
    without = kerastrans.select(frame.drop(columns="price"), HORIZON, **options)
    losses = [x.leaderboard.set_index("model").loc["ensemble", "loss"] for x in (selected, without)]
    assert losses[0] < 0.5 * losses[1]
    selected.save(tmp_path / "s")
    known = frame[frame["ds"] <= frame["ds"].max() - pd.Timedelta(days=HORIZON)]
    future = frame[~frame["ds"].isin(known["ds"])].drop(columns="y")
    loaded = Selected.load(tmp_path / "s")
    rows = [x.predict(known, future=future) for x in (selected, loaded)]
    pd.testing.assert_frame_equal(*rows)


def test_the_skill_is_the_relative_reduction_of_the_naive_loss():
    assert search._skill(0.5, 2.0) == 0.75
    assert search._skill(3.0, 2.0) == -0.5
    assert search._skill(0.0, 0.0) == 0.0
