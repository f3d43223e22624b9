"""kerastrans-zero 2 chooses its season by the clock, and every door makes its one forecast."""

import io
import json
import warnings

import numpy as np
import pandas as pd
import pytest

import kerastrans
from kerastrans import Forecaster
from kerastrans.cli import main as cli
from kerastrans.forecasting.inference.adaptation import adapt_to_clock
from kerastrans.forecasting.selection.candidates import load_pretrained
from kerastrans.models.pretrained.zero.port import pretrained_of

NAME, STEPS = "kerastrans_zero_2", 6
SEASONS = {"h": 24, "D": None, "MS": 12}


def frame(freq, rows=150, seed=0):
    rng, steps = np.random.default_rng(seed), np.arange(rows)
    times = pd.date_range("2019-01-01", periods=rows, freq=freq)
    y = 100 + 20 * np.sin(2 * np.pi * steps / (SEASONS[freq] or 7)) + rng.normal(size=rows)
    return pd.DataFrame({"unique_id": "a", "ds": times, "y": y.round(3)})


def zero(**options):
    return kerastrans.from_pretrained(NAME, STEPS, **{"verbose": False, **options})


def by_command_line(data, folder):
    data.to_csv(folder / "data.csv", index=False)
    command = ["forecast", NAME, str(folder / "data.csv"), f"--prediction-length={STEPS}"]
    assert cli.main([*command, f"--output={folder / 'rows.csv'}"]) == 0
    return pd.read_csv(folder / "rows.csv")


def by_service(data, folder):
    pytest.importorskip("fastapi")
    from fastapi.testclient import TestClient

    from kerastrans.serving import create_app

    headers = {"content-type": "text/csv"}
    with TestClient(create_app(zero(), "zero", warm_up=False, hosts=["testserver"])) as client:
        answer = client.post("/v1/forecast", content=data.to_csv(index=False), headers=headers)
    assert answer.status_code == 200, answer.text
    return pd.read_json(io.StringIO(json.dumps(answer.json()["forecast"])))


def by_arrays(data, freq):
    forecaster = zero(freq=freq)
    history = np.full((1, forecaster.context_length, 1), np.nan)
    history[0, -len(data) :, 0] = data["y"]
    found = forecaster.forecast_histories({"history": history})["forecast"]
    return pd.DataFrame({NAME: found.ravel()})


@pytest.mark.slow
@pytest.mark.parametrize("freq", SEASONS)
def test_six_doors_make_one_forecast(freq, tmp_path):
    data, season = frame(freq), SEASONS[freq]
    expected = zero(model_options={"season": season}).predict(data)[NAME].to_numpy()
    doors = {
        "from_pretrained": zero().predict(data),
        "auto": Forecaster(prediction_length=STEPS).fit(data, verbose=0).predict(data),
        "select": load_pretrained(data, STEPS, freq, 0).predict(data),
        "command line": by_command_line(data, tmp_path),
        "service": by_service(data, tmp_path),
        "arrays, as an export": by_arrays(data, freq),
    }
    for name, rows in doors.items():
        found = rows[NAME].to_numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-6, err_msg=name)
    if season:
        plain = zero(model_options={"season": None}).predict(data)[NAME].to_numpy()
        assert np.abs(plain - expected).max() > 0.02


def season_of_state(state):
    return pretrained_of(state.model).season


@pytest.mark.slow
def test_each_frame_has_the_season_of_its_clock_unless_one_is_given(tmp_path):
    forecaster = zero()
    for freq in ("h", "MS", "D", "h"):
        state = adapt_to_clock(forecaster.fitted, frame(freq))
        assert season_of_state(state) == SEASONS[freq]
        assert state.config.context_length == (6144 if freq == "h" else 1024)
    assert season_of_state(forecaster.fitted) is None
    data = frame("h")
    for given in (1, None, 12):
        fixed = zero(model_options={"season": given})
        assert season_of_state(adapt_to_clock(fixed.fitted, data)) == given
    short = adapt_to_clock(zero(context_length=48).fitted, data)
    assert (season_of_state(short), short.config.context_length) == (24, 48)
    expected = forecaster.predict(data)
    forecaster.save(tmp_path / "saved")
    for same in (Forecaster.load(tmp_path / "saved"), forecaster.clone()):
        pd.testing.assert_frame_equal(same.predict(data), expected)
        assert same.fitted.card.get("options") is None


@pytest.mark.slow
def test_a_fit_and_a_calibration_keep_the_season(tmp_path):
    data = frame("h")
    forecaster = zero().calibrate(data, windows=8, step=6, levels=[80])
    rows = forecaster.predict(data)
    plain = zero(freq="h").calibrate(data, windows=8, step=6, levels=[80]).predict(data)
    pd.testing.assert_frame_equal(rows, plain)
    fitted = zero().fit(data, epochs=0, verbose=0)
    assert season_of_state(fitted.fitted) == 24
    assert fitted.card["options"] == {"season": 24}
    fitted.save(tmp_path / "saved")
    expected = zero(freq="h").predict(data)
    for same in (fitted, Forecaster.load(tmp_path / "saved"), fitted.clone()):
        pd.testing.assert_frame_equal(same.predict(data), expected)


@pytest.mark.slow
def test_an_export_without_a_frequency_says_that_it_has_no_season(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr("kerastrans.export.export", lambda model, *_, **__: seen.append(model))
    with pytest.warns(UserWarning, match=r"chooses its season by the frequency .* --freq h"):
        zero().export(tmp_path / "plain.onnx")
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        zero(freq="D").export(tmp_path / "day.onnx")
        zero(model_options={"season": None}).export(tmp_path / "none.onnx")
        command = ["export", NAME, str(tmp_path / "h.onnx"), "--prediction-length=6", "--freq=h"]
        assert cli.main(command) == 0
    assert [pretrained_of(model).season for model in seen] == [None, None, None, 24]


@pytest.mark.slow
def test_a_frequency_that_cannot_be_inferred_is_given_to_predict():
    two = frame("h", 2)
    with pytest.raises(ValueError, match=r"frequency of 2 time stamps.*give freq"):
        zero().predict(two)
    rows = zero().predict(two, freq="h")
    pd.testing.assert_frame_equal(rows, zero(freq="h").predict(two))
    with pytest.raises(ValueError, match="kerastrans_zero_2 forecasts the frequency 'D', got 'h'"):
        zero(freq="D").predict(two, freq="h")
    assert len(zero().simulate(two, freq="h", num_paths=2)) == 2 * STEPS


def test_every_method_takes_the_frequency_that_stamps_do_not_show():
    days = pd.to_timedelta(np.cumsum(np.resize([1, 3, 1, 4, 2], 60)), unit="D")
    times = pd.Timestamp("2024-01-01") + days
    frame = pd.DataFrame({"unique_id": "a", "ds": times, "y": np.arange(60.0) % 7})
    knows = kerastrans.from_pretrained("kerastrans_zero_2", 3, freq="D", verbose=False)
    asks = kerastrans.from_pretrained("kerastrans_zero_2", 3, verbose=False)
    methods = {"predict": {}, "backtest": {"windows": 2}, "explain": {}}
    for method, options in methods.items():
        with pytest.raises(ValueError, match=r"cannot infer the frequency of 60 .*give freq"):
            getattr(asks, method)(frame, **options)
        found = getattr(asks, method)(frame, freq="D", **options)
        pd.testing.assert_frame_equal(found, getattr(knows, method)(frame, **options))
    calibrated = {"windows": 20, "step": 1, "levels": [50]}
    rows = asks.calibrate(frame, freq="D", **calibrated).predict(frame, freq="D")
    pd.testing.assert_frame_equal(rows, knows.calibrate(frame, **calibrated).predict(frame))


@pytest.mark.parametrize(("growth", "rows"), [(0, 400), (0.06, 400), (0.13, 120)])
def test_series_that_grow_are_named_until_they_are_calibrated(growth, rows):
    def warnings_of(forecaster):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            forecaster.predict(series)
        return [str(x.message) for x in told if " grow, such as 'a'" in str(x.message)]

    series, years = frame("MS", rows), np.arange(rows) / 12
    noise = np.random.default_rng(1).normal(size=rows)
    series["y"] *= np.exp(growth * years + 0.08 * noise)
    forecaster = zero()
    assert len(warnings_of(forecaster)) == (growth > 0)
    if growth and rows == 120:
        assert warnings_of(forecaster.calibrate(series, windows=20)) == []
