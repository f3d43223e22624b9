"""Covariates of a published model in the Forecaster."""

import numpy as np
import pandas as pd
import pytest

import kerastrans
from kerastrans import Forecaster
from kerastrans.models import pretrained
from kerastrans.models.pretrained.chronos import bolt_port as chronos_bolt
from kerastrans.models.pretrained.chronos import v2_network as chronos_2_network
from tests.helpers.checkpoints import (
    CHRONOS_2,
    CHRONOS_BOLT,
    changed,
    random_tensors,
    write,
)

STEPS, LENGTHS = 7, {"a": 30, "b": 6}  # b is shorter than the context
ROLLOUT = 11  # longer than the native horizon of 8
CONTEXT = {"past": ["wind"], "future": ["price"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    config = changed(CHRONOS_2, num_layers=1)
    own, core = chronos_2_network.read_own(config), chronos_2_network.read_core(config)
    path = tmp_path_factory.mktemp("checkpoints") / "second"
    path.mkdir()
    layout = chronos_2_network.build_network(core, own)[1]
    return write(path, config, random_tensors(layout, scale=0.4))


@pytest.fixture(scope="module")
def forecaster(folder):
    return kerastrans.from_pretrained(folder, STEPS, 16, **CONTEXT, verbose=False)


def frames(steps_ahead=STEPS):
    """Return a frame with covariates and a missing price, and their future values."""
    past, ahead = [], []
    for name, length in LENGTHS.items():
        steps = np.arange(length + steps_ahead)
        times = pd.date_range("2024-01-01", periods=len(steps), freq="h")
        columns = {"ds": times, "y": 10 + np.sin(steps), "wind": 7 * np.cos(steps)}
        rows = pd.DataFrame({"unique_id": name, **columns, "price": 100.0 + steps % 5})
        rows.loc[length // 2, "price"] = np.nan
        past.append(rows[:length])
        ahead.append(rows[length:][["unique_id", "ds", "price"]])
    return pd.concat(past, ignore_index=True), pd.concat(ahead, ignore_index=True)


@pytest.mark.parametrize("steps", [STEPS, pytest.param(ROLLOUT, marks=pytest.mark.slow)])
def test_forecasts_with_covariates_equal_those_of_the_array_interface(folder, steps):
    frame, ahead = frames(steps)
    groups = [rows[-16:] for _, rows in frame.groupby("unique_id")]
    expected = pretrained.load(folder).forecast(
        [rows["y"] for rows in groups],
        steps,
        [0.5],
        [{name: rows[name] for name in ("wind", "price")} for rows in groups],
        [{"price": rows["price"]} for _, rows in ahead.groupby("unique_id")],
    )
    expected = np.concatenate([x["mean"][0] for x in expected])
    forecaster = kerastrans.from_pretrained(folder, steps, 16, **CONTEXT)
    found = forecaster.predict(frame, future=ahead)["second"]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_missing_covariates_are_not_read_as_zero(forecaster):
    frame, ahead = frames()
    found = forecaster.predict(frame, future=ahead)["second"]
    zero = forecaster.predict(frame.fillna({"price": 0.0}), future=ahead)["second"]
    assert np.abs(found - zero).max() > 1e-2


def test_future_covariates_change_the_forecast_but_their_unit_does_not(forecaster):
    frame, ahead = frames()
    found = forecaster.predict(frame, future=ahead)["second"]
    other = forecaster.predict(frame, future=ahead.assign(price=ahead["price"] + 5))["second"]
    assert np.abs(found - other).max() > 1e-2
    scaled = [x.assign(price=1000 * x["price"]) for x in (frame, ahead)]
    found_scaled = forecaster.predict(scaled[0], future=scaled[1])["second"]
    np.testing.assert_allclose(found_scaled, found, rtol=1e-3, atol=1e-3)


@pytest.mark.slow
def test_backtest_save_load_and_clone_forecast_the_same(forecaster, tmp_path):
    frame, ahead = frames()
    frame = frame[frame["unique_id"] == "a"]
    ahead = ahead[ahead["unique_id"] == "a"]
    expected = forecaster.predict(frame, future=ahead)
    forecaster.save(tmp_path / "saved")
    for each in (Forecaster.load(tmp_path / "saved"), forecaster.clone()):
        pd.testing.assert_frame_equal(each.predict(frame, future=ahead), expected)
    ends = frame[:-STEPS], frame[-STEPS:].drop(columns=["y", "wind"])
    at_origin = forecaster.predict(ends[0], future=ends[1])["second"]
    rows = forecaster.backtest(frame, windows=1)
    np.testing.assert_allclose(rows["second"], at_origin, rtol=1e-4, atol=1e-4)


def test_wide_frames_share_their_covariates(forecaster):
    times = pd.date_range("2024-01-01", periods=40, freq="D")
    steps = np.arange(40)
    columns = {"y": 10 + np.sin(steps), "z": steps % 7, "wind": np.cos(steps), "price": steps % 5}
    frame, ahead = pd.DataFrame(columns, times)[:29], pd.DataFrame(columns, times)[29:]
    found = forecaster.predict(frame, future=ahead[["price"]])
    separate = forecaster.predict(frame[["z", "wind", "price"]], future=ahead[["price"]])
    assert found["unique_id"].unique().tolist() == ["y", "z"]
    np.testing.assert_allclose(found["second"][STEPS:], separate["second"], rtol=1e-4)


@pytest.mark.slow
def test_fine_tuning_uses_covariates(folder, tmp_path):
    forecaster = kerastrans.from_pretrained(folder, STEPS, 16, **CONTEXT, trainable="lora")
    frame, ahead = frames()
    before = forecaster.predict(frame, future=ahead)["second"]
    forecaster.fit(frame, epochs=1, verbose=0, restore_published=False)
    after = forecaster.predict(frame, future=ahead)
    assert np.isfinite(after["second"]).all()
    assert np.abs(after["second"] - before).max() > 1e-6
    forecaster.save(tmp_path / "tuned")
    loaded = Forecaster.load(tmp_path / "tuned")
    pd.testing.assert_frame_equal(loaded.predict(frame, future=ahead), after)


@pytest.mark.slow
def test_a_backtest_with_refit_uses_covariates(folder):
    forecaster = kerastrans.from_pretrained(folder, STEPS, 16, **CONTEXT)
    frame = frames()[0]
    frame = frame[frame["unique_id"] == "a"]
    rows = forecaster.backtest(frame, windows=1, refit=True, epochs=1, verbose=0)
    assert np.isfinite(rows["second"]).all()


@pytest.mark.slow
@pytest.mark.tensorflow
def test_exports_and_the_service_accept_covariates(forecaster, tmp_path):
    from starlette.testclient import TestClient

    from kerastrans.serving import create_app

    rng = np.random.default_rng(0)
    lengths = {"history": 16, "past_covariates": 16, "future_covariates": 16 + STEPS}
    arrays = {name: rng.normal(5, 2, (2, n, 1)).astype("float32") for name, n in lengths.items()}
    arrays["past_covariates"][0, :3] = np.nan
    expected = forecaster.forecast_histories(arrays)["forecast"]
    instances = [
        {
            name: [[None if np.isnan(v) else float(v)] for v in x[i, :, 0]]
            for name, x in arrays.items()
        }
        for i in range(2)
    ]
    with TestClient(create_app(forecaster, "second", hosts=["testserver"])) as client:
        answer = client.post("/v1/models/second:predict", json={"instances": instances}).json()
    found = [row["forecast"] for row in answer["predictions"]]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)

    import tensorflow as tf

    forecaster.export(tmp_path / "model")
    serve = tf.saved_model.load(tmp_path / "model").signatures["serving_default"]
    found = serve(**{name: tf.constant(x) for name, x in arrays.items()})["forecast"]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_a_model_without_covariates_refuses_them(tmp_path):
    config = changed(CHRONOS_BOLT, num_layers=1)
    folder = write(tmp_path, config, random_tensors(chronos_bolt.build_network(config)[1]))
    for kind in ("past", "future"):
        with pytest.raises(ValueError, match=f"chronos_bolt takes no {kind} covariates"):
            kerastrans.from_pretrained(folder, STEPS, **{kind: ["price"]})


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"past": "wind"}, "past must be a list of column names, got 'wind'"),
        ({"past": ["wind", "wind"]}, "past names the column 'wind' twice"),
        ({"past": ["a"], "future": ["a"]}, r"\['a'\] cannot be both past and future"),
        ({"past": ["y"]}, r"\['y'\] cannot be covariates"),
    ],
)
def test_invalid_covariate_columns_are_refused(folder, columns, message):
    with pytest.raises(ValueError, match=message):
        kerastrans.from_pretrained(folder, STEPS, **columns)


def test_missing_and_text_covariates_of_a_frame_are_refused(forecaster):
    frame, ahead = frames()
    with pytest.raises(ValueError, match="wind"):
        forecaster.predict(frame.drop(columns="wind"), future=ahead)
    with pytest.raises(ValueError, match=r"covariate 'wind' must be numeric, got .*'strong'"):
        forecaster.predict(frame.assign(wind="strong"), future=ahead)
    with pytest.raises(ValueError, match="no future covariates for 2024-01-02"):
        forecaster.predict(frame[frame["unique_id"] == "a"])
