"""An exported forecaster takes what a user has, and forecasts as `predict` does."""

import json
import zipfile

import numpy as np
import pandas as pd
import pytest

import kerastrans
from tests.helpers.browser import needs_browser, run_browser
from tests.helpers.runtimes import RUNTIMES

pytestmark = pytest.mark.tensorflow
CONTEXT, HORIZON = 14, 3
SLOW = pytest.mark.slow
RUN = {**RUNTIMES, "browser": (".onnx", run_browser)}
EACH = [*RUNTIMES, pytest.param("browser", marks=needs_browser)]
EACH_RUNTIME = pytest.mark.parametrize("runtime", EACH)


def seconds(times):
    """Seconds since 1970 of time stamps, as an exported file takes them."""
    return times.as_unit("s").asi8


def long_frame(tz=None, start="2024-10-01", freq="D", count=80, series=("a", "b")):
    random = np.random.default_rng(1)
    times = pd.date_range(start, periods=count, freq=freq, tz=tz)
    parts = []
    for number, name in enumerate(series):
        values = 10 * (number + 1) + 3 * (times.day_of_week < 5) + random.normal(size=count)
        parts.append(pd.DataFrame({"unique_id": name, "ds": times, "y": values}))
    frame = pd.concat(parts, ignore_index=True)
    frame["price"] = 100 + random.normal(size=len(frame)).cumsum()
    frame["kind"] = np.where(frame["ds"].dt.day % 3 == 0, "sale", "none")
    frame["open"] = frame["ds"].dt.day % 2 == 0
    return frame


def split(frame):
    """Rows of the past, and rows of the future without values."""
    last = frame.groupby("unique_id")["ds"].transform("max")
    number = frame.groupby("unique_id").cumcount(ascending=False)
    assert (last == frame["ds"].max()).all()
    return frame[number >= HORIZON], frame[number < HORIZON].drop(columns="y")


def stacked(frame, columns, last):
    """Arrays `(series, last steps, columns)` of a long frame."""
    return np.stack([rows[columns].to_numpy()[-last:] for _, rows in frame.groupby("unique_id")])


def export_and_run(forecaster, runtime, folder, **inputs):
    suffix, run = RUN[runtime]
    path = forecaster.export(folder / f"file{suffix}")
    if runtime == "LiteRT":
        for name, texts in read_metadata(path).get("codes", {}).items():
            codes = {text: number for number, text in enumerate(texts, 1)}
            inputs[name] = np.vectorize(lambda x, c=codes: c.get(x, 0), ["int32"])(inputs[name])
    return run(path, **inputs)


def read_metadata(path):
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("metadata.json"))


def assert_equals_predict(found, rows, alias="nlinear", levels=()):
    rows = rows.sort_values(["unique_id", "ds"], kind="stable")
    wanted = rows[alias].to_numpy().reshape(-1, HORIZON)
    np.testing.assert_allclose(found["forecast"][..., 0], wanted, rtol=1e-4, atol=1e-4)
    for i, level in enumerate(levels):
        for side, name in (("lo", "lower"), ("hi", "upper")):
            wanted = rows[f"{alias}-{side}-{level}"].to_numpy().reshape(-1, HORIZON)
            np.testing.assert_allclose(found[name][..., 0, i], wanted, rtol=1e-4, atol=1e-4)


@pytest.fixture(scope="module")
def calendar_forecaster():
    forecaster = kerastrans.Forecaster(
        "tide", CONTEXT, HORIZON, calendar=True, hidden_dim=8, temporal_hidden_dim=4
    )
    return forecaster.fit(long_frame(tz="Europe/Berlin"), epochs=1, verbose=0)


@SLOW
@EACH_RUNTIME
def test_a_calendar_is_computed_from_the_last_time(runtime, calendar_forecaster, tmp_path):
    frame = long_frame(tz="Europe/Berlin").groupby("unique_id").head(40)  # the clock has changed
    history = stacked(frame, ["y"], 20).astype("float32")
    last = pd.DatetimeIndex(frame.groupby("unique_id")["ds"].max())
    given = {"history": history, "last_time": seconds(last)}
    found = export_and_run(calendar_forecaster, runtime, tmp_path, **given)
    assert_equals_predict(found, calendar_forecaster.predict(frame), "tide")
    _, run = RUN[runtime]
    path = next(tmp_path.glob("file*"))
    given["last_time"] = given["last_time"] + np.array([3600, 0])  # not at midnight
    off = run(path, **given)
    assert np.isnan(off["quantiles"][0]).all()
    np.testing.assert_array_equal(off["quantiles"][1], found["quantiles"][1])


@SLOW
@EACH_RUNTIME
@pytest.mark.filterwarnings("ignore:.*missing values")
def test_a_history_ends_at_its_last_known_value(runtime, calendar_forecaster, tmp_path):
    frame = long_frame(tz="Europe/Berlin").groupby("unique_id").head(40)
    missing = (frame["unique_id"] == "b") & (frame["ds"] > frame["ds"].unique()[-3])
    frame = frame.assign(y=frame["y"].mask(missing))
    history = stacked(frame, ["y"], 30).astype("float32")
    last = pd.DatetimeIndex(frame.groupby("unique_id")["ds"].max())
    given = {"history": history, "last_time": seconds(last)}
    found = export_and_run(calendar_forecaster, runtime, tmp_path, **given)
    rows = calendar_forecaster.predict(frame)
    assert np.isnan(found["forecast"][..., 0]).tolist() == [[False] * 3, [False, True, True]]
    found["forecast"] = np.where(np.isnan(found["forecast"]), 0, found["forecast"])
    known = ~np.isnan(found["quantiles"][..., 0, 0]).ravel()
    assert_equals_predict(found, rows.assign(tide=rows["tide"].where(known, 0)), "tide")


@SLOW
@EACH_RUNTIME
def test_covariates_are_taken_as_they_are(runtime, tmp_path):
    frame = long_frame()
    frame.loc[50, "price"] = np.nan
    static = pd.DataFrame({"unique_id": ["a", "b"], "size": [3.0, 9.0], "town": ["Ulm", "Rom"]})
    past, future = split(frame)
    forecaster = kerastrans.Forecaster(
        "tide", CONTEXT, HORIZON, hidden_dim=8, temporal_hidden_dim=4, calendar=True,
        past=["kind"], future=["open", "price"],
    )  # fmt: skip
    forecaster.fit(past, static=static, epochs=1, verbose=0)
    rows = forecaster.predict(past, future=future, static=static)
    both = pd.concat([past, future]).sort_values(["unique_id", "ds"])
    found = export_and_run(
        forecaster,
        runtime,
        tmp_path,
        history=stacked(past, ["y"], 30).astype("float32"),
        past_categories=stacked(past, ["kind"], 30).astype(str),
        future_covariates=stacked(both, ["price"], 33).astype("float32"),
        future_categories=stacked(both, ["open"], 33).astype(str),
        static_covariates=np.array([[3.0], [9.0]], "float32"),
        static_categories=np.array([["Ulm"], ["Rom"]]),
        last_time=seconds(pd.DatetimeIndex(past.groupby("unique_id")["ds"].max())),
    )
    assert_equals_predict(found, rows, "tide")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("runtime", "by", "scale", "head"),
    [
        ("ONNX", "region", "window", "quantiles"),
        pytest.param("browser", "region", "window", "quantiles", marks=[SLOW, needs_browser]),
        *(
            pytest.param(
                runtime, *options, marks=[SLOW, *([needs_browser] if runtime == "browser" else [])]
            )
            for runtime in RUNTIMES
            for options in (
                (None, "window", "point"),
                ("region", "window", "quantiles"),
                ("unique_id", "residuals", "quantiles"),
                (None, "residuals", "quantiles"),
            )
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_conformal_intervals_are_inside(runtime, by, scale, head, tmp_path):
    frame = long_frame(series=("a", "b", "c"))
    static = pd.DataFrame({"unique_id": ["a", "b", "c"], "region": ["x", "y", None]})
    forecaster = kerastrans.Forecaster("nlinear", CONTEXT, HORIZON, head=head, bounds=(5, 36))
    forecaster.fit(frame, epochs=1, verbose=0)
    forecaster.calibrate(frame, windows=20, levels=(50, 80), by=by, static=static, scale=scale)
    keys = {}
    if by == "region":
        keys["group"] = np.array(["x", "y", ""])
    if by == "unique_id" or scale == "residuals":
        keys["unique_id"] = np.array(["a", "b", "c"])
    history = stacked(frame, ["y"], CONTEXT).astype("float32")
    found = export_and_run(forecaster, runtime, tmp_path, history=history, **keys)
    rows = forecaster.predict(frame, static=static)
    assert_equals_predict(found, rows, levels=(50, 80))
    assert found["lower"].min() >= 5
    assert found["upper"].max() <= 36


@SLOW
@EACH_RUNTIME
def test_a_point_moves_with_its_bounds(runtime, tmp_path):
    """The model is trained on a level that the calibration rows have left."""
    frame = long_frame()
    forecaster = kerastrans.Forecaster("nlinear", CONTEXT, HORIZON, head="point")
    forecaster.fit(frame, epochs=1, verbose=0)
    plain = forecaster.predict(frame)["nlinear"]
    late = frame.assign(y=frame["y"] + 3 * frame.groupby("unique_id").cumcount())
    forecaster.calibrate(late, windows=20, levels=(50, 80), symmetric=False)
    rows = forecaster.predict(frame)
    assert (rows["nlinear"] > plain).any()
    assert rows["nlinear"].between(rows["nlinear-lo-50"], rows["nlinear-hi-50"]).all()
    history = stacked(frame, ["y"], CONTEXT).astype("float32")
    found = export_and_run(forecaster, runtime, tmp_path, history=history)
    assert_equals_predict(found, rows, levels=(50, 80))
