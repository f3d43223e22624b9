"""What is forecast within bounds stays there, whatever makes it and however it leaves."""

import numpy as np
import pandas as pd
import pytest

import kerastrans
from kerastrans import Forecaster
from tests.helpers.runtimes import RUNTIMES
from tests.helpers.weights import ZERO_1

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
        pytest.param("normal", "nlinear", marks=pytest.mark.slow),
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


@pytest.mark.slow
def test_published_weights_and_ensembles_stay_within_bounds():
    zero = kerastrans.from_pretrained(ZERO_1, 7, bounds=(LOW, HIGH), verbose=False)
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


def capacities(steps=120 + SIZE[1]):
    """A frame with a capacity that changes over time, and that of the steps to forecast."""
    frame = frame_of(steps).assign(capacity=lambda x: 2.0 + np.arange(steps) % 5 / 2)
    frame["y"] = np.minimum(frame["y"], frame["capacity"])
    return frame[: -SIZE[1]], frame[-SIZE[1] :].drop(columns="y")


def stretched(*args, **kwargs):
    forecaster = Forecaster(*args, **kwargs).fit(capacities()[0], epochs=1, verbose=0)
    forecaster.model.set_weights([3 * x for x in forecaster.model.get_weights()])
    return forecaster


@pytest.mark.slow
@pytest.mark.parametrize(
    ("head", "name"),
    [
        ("quantiles", "nlinear"),
        pytest.param("normal", "nlinear", marks=pytest.mark.slow),
        pytest.param("normal", "deepar", marks=pytest.mark.slow),
    ],
)
@pytest.mark.filterwarnings("ignore:80 % requires 4 calibration origins")
def test_a_column_bounds_each_step(head, name, tmp_path):
    options = {"head": head, "units": 4} if name == "deepar" else {"head": head}
    frame, future = capacities()
    forecaster = stretched(name, *SIZE, bounds=(0, "capacity"), **options)
    rows = forecaster.predict(frame, future=future)
    values = rows.iloc[:, 2:].to_numpy()
    highest = future["capacity"].to_numpy()[:, None]
    assert values.min() >= 0
    assert (values <= highest).all()
    assert (values == highest).any(axis=0).any()  # the bound binds
    scored = forecaster.backtest(frame, windows=3).merge(frame, on=["unique_id", "ds"])
    bounded = scored.filter(like=f"{name}").to_numpy()
    assert (bounded <= scored["capacity"].to_numpy()[:, None]).all()
    forecaster.save(tmp_path / "saved")
    loaded = Forecaster.load(tmp_path / "saved")
    pd.testing.assert_frame_equal(loaded.predict(frame, future=future), rows)
    assert loaded.get_config() == forecaster.get_config()
    history = frame["y"].to_numpy()[None, -14:, None]
    inputs = {"history": history, "upper_bound": highest[None]}
    assert (forecaster.forecast_histories(inputs)["forecast"] <= highest).all()
    with pytest.raises(ValueError, match=r"the inputs \['upper_bound'\] are missing"):
        forecaster.forecast_histories({"history": history})
    forecaster.calibrate(frame, windows=15, levels=[80])
    assert (forecaster.predict(frame, future=future).iloc[:, 2:] <= highest).all(axis=None)
    unknown = frame.assign(capacity=frame["capacity"].where(frame.index != frame.index[-2]))
    assert forecaster.backtest(unknown, windows=1).notna().all(axis=None)


@pytest.mark.slow
def test_a_column_bounds_all_channels_of_a_wide_frame_and_univariate_forecasts():
    long, future = capacities()
    wide = pd.DataFrame({"a": long["y"], "b": long["y"] / 2, "capacity": long["capacity"]})
    wide.index, future = pd.DatetimeIndex(long["ds"]), future.set_index("ds")[["capacity"]]
    for train in (wide, wide.rename(columns={"a": "c", "b": "d"})):
        forecaster = Forecaster("nlinear", *SIZE, bounds=(None, "capacity"))
        forecaster.fit(train, epochs=1, verbose=0)
        assert set(forecaster.fitted.channels) == set(train.columns[:2])
        rows = forecaster.predict(wide, future=future)
        assert set(rows["unique_id"]) == {"a", "b"}
        highest = np.tile(future["capacity"].to_numpy(), 2)
        assert (rows["nlinear-hi-95"].to_numpy() <= highest).all()


def test_a_capacity_that_is_missing_or_broken_is_refused_before_any_work():
    frame, future = capacities()
    forecaster = Forecaster("nlinear", *SIZE, bounds=(0, "capacity"))
    with pytest.raises(ValueError, match=r"bounds \['capacity'\] are not columns of the frame"):
        forecaster.fit(frame.drop(columns="capacity"))
    with pytest.raises(ValueError, match="column 'capacity' must be numeric"):
        forecaster.fit(frame.assign(capacity="high"))
    low = frame.assign(capacity=frame["y"] - 1)
    with pytest.raises(ValueError, match=r"has the value .* at 2024-01-01 00:00:00, outside of"):
        Forecaster("nlinear", *SIZE, bounds=(None, "capacity")).fit(low)
    crossed = frame.assign(least=frame["capacity"] + 1)
    with pytest.raises(ValueError, match="are not in order at 2024-01-01"):
        Forecaster("nlinear", *SIZE, bounds=("least", "capacity")).fit(crossed)
    forecaster.fit(frame, epochs=0)
    with pytest.raises(ValueError, match=r"no future covariates for 2024-04-30.*give capacity in"):
        forecaster.predict(frame)
    with pytest.raises(ValueError, match="no future covariates for 2024-05-02"):
        forecaster.predict(frame, future=future[:2])
    with pytest.raises(ValueError, match="cannot be covariates or bounds"):
        Forecaster("nlinear", *SIZE, bounds=(0, "y"))


@pytest.mark.slow
@pytest.mark.tensorflow
@pytest.mark.parametrize("suffix", ["", ".onnx", ".tflite"])
def test_a_file_takes_the_column_that_bounds_a_forecast(suffix, tmp_path):
    forecaster = stretched("nlinear", *SIZE, bounds=(0, "capacity"))
    run = dict(RUNTIMES.values())[suffix]
    forecaster.export(tmp_path / f"exported{suffix}")
    frame, future = capacities()
    history = frame["y"].to_numpy("float32")[None, -14:, None]
    inputs = {
        "history": history,
        "upper_bound": future["capacity"].to_numpy("float32")[None, :, None],
    }
    found = run(tmp_path / f"exported{suffix}", **inputs)
    expected = forecaster.forecast_histories(inputs)
    for name in ("forecast", "quantiles"):
        np.testing.assert_allclose(np.asarray(found[name]), expected[name], atol=1e-4)
