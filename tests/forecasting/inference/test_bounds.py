"""What is forecast within bounds stays there, whatever makes it and however it leaves."""

import numpy as np
import pandas as pd
import pytest

import kerastrans
from kerastrans import Forecaster
from tests.helpers.runtimes import RUNTIMES

SIZE = 14, 7
LOW, HIGH = 0.0, 4.0


def frame_of(length=120):
    steps = np.arange(length)
    y = np.clip(2 + 3 * np.sin(2 * np.pi * steps / 7), LOW, HIGH)
    dates = pd.date_range("2024-01-01", periods=length)
    return pd.DataFrame({"unique_id": "a", "ds": dates, "y": y})


FRAME = frame_of()


def assert_inside(values):
    values = np.asarray(values, "float64")
    assert values.min() >= LOW
    assert values.max() <= HIGH


@pytest.mark.parametrize(
    ("head", "name"),
    [
        ("quantiles", "nlinear"),
        pytest.param("point", "nlinear", marks=pytest.mark.slow),
        ("normal", "nlinear"),
        pytest.param("student_t", "nlinear", marks=pytest.mark.slow),
        pytest.param("normal", "deepar", marks=pytest.mark.slow),
    ],
)
def test_no_forecast_leaves_its_bounds(head, name, tmp_path):
    options = {"head": head, "units": 4} if name == "deepar" else {"head": head}
    plain = Forecaster(name, *SIZE, **options).fit(FRAME[:80], epochs=1, verbose=0)
    bounded = Forecaster(name, *SIZE, bounds=(LOW, HIGH), **options)
    bounded.fit(FRAME[:80], epochs=1, verbose=0)
    for one in (plain, bounded):
        one.model.set_weights([3 * x for x in one.model.get_weights()])
    rows, others = bounded.predict(FRAME), plain.predict(FRAME)
    values = others.iloc[:, 2:].to_numpy()
    assert values.min() < LOW or values.max() > HIGH  # there is something to bound
    assert_inside(rows.iloc[:, 2:])
    columns = [x for x in rows.columns[2:] if "lo" in x or "hi" in x]
    np.testing.assert_allclose(rows[columns], others[columns].clip(LOW, HIGH), rtol=1e-5, atol=1e-5)
    assert_inside(bounded.backtest(FRAME, windows=2).iloc[:, 4:])
    history = FRAME["y"].to_numpy()[None, -14:, None]
    outputs = bounded.forecast_histories({"history": history})
    for part in {"forecast", "quantiles", "samples"} & set(outputs):
        assert_inside(outputs[part])
    bounded.save(tmp_path / "saved")
    loaded = Forecaster.load(tmp_path / "saved")
    pd.testing.assert_frame_equal(loaded.predict(FRAME), rows)
    assert loaded.clone().config.bounds == (LOW, HIGH)
    for method in ("split", "adaptive"):
        bounded.calibrate(FRAME, windows=15, levels=[80], method=method)
        assert_inside(bounded.predict(FRAME).iloc[:, 2:])


def test_published_weights_and_ensembles_stay_within_bounds():
    zero = kerastrans.from_pretrained("kerastrans_zero", 7, bounds=(LOW, HIGH), verbose=False)
    assert_inside(zero.predict(FRAME).iloc[:, 2:])
    members = [
        Forecaster(x, *SIZE, bounds=(LOW, HIGH)).fit(FRAME, epochs=0)
        for x in ("nlinear", "rlinear")
    ]
    assert_inside(kerastrans.combine(members).predict(FRAME).iloc[:, 2:])
    other = Forecaster("nlinear", *SIZE).fit(FRAME, epochs=0)
    with pytest.raises(ValueError, match=r"has bounds None, the first one has \(0.0, 4.0\)"):
        kerastrans.combine([members[0], other])


def test_a_history_that_breaks_the_bounds_is_refused_before_any_work():
    forecaster = Forecaster("nlinear", *SIZE, bounds=(1, None))
    with pytest.raises(ValueError, match=r"series .* has the value .*, outside of bounds=\(1.0, "):
        forecaster.fit(FRAME)
    assert forecaster.fitted is None


@pytest.mark.slow
@pytest.mark.tensorflow
@pytest.mark.parametrize("suffix", ["", ".onnx", ".tflite"])
def test_exported_forecasts_stay_within_bounds(suffix, tmp_path):
    forecaster = Forecaster("nlinear", *SIZE, bounds=(LOW, HIGH)).fit(FRAME, epochs=0)
    run = dict(RUNTIMES.values())[suffix]
    forecaster.export(tmp_path / f"exported{suffix}")
    history = FRAME["y"].to_numpy("float32")[None, -14:, None]
    found = run(tmp_path / f"exported{suffix}", history)
    assert_inside(found["quantiles"])
    expected = forecaster.forecast_histories({"history": history})["quantiles"]
    np.testing.assert_allclose(np.asarray(found["quantiles"]), expected, atol=1e-4)
    normal = Forecaster("nlinear", *SIZE, head="normal", bounds=(0, None)).fit(FRAME, epochs=0)
    with pytest.raises(ValueError, match="bounds and a NormalHead cannot be exported together"):
        normal.export(tmp_path / f"normal{suffix}")
