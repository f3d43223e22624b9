"""kerastrans_zero with covariates: forecasts, files, exports, the service and refusals."""

import asyncio

import keras
import numpy as np
import pandas as pd
import pytest

import kerastrans
from kerastrans import heads
from kerastrans.models.pretrained import load
from tests.helpers.weights import ZERO_1

STEPS, LENGTH = 4, 90
RNG = np.random.default_rng(0)
DATES = pd.date_range("2024-01-01", periods=LENGTH + STEPS)


def rows(name, length=LENGTH):
    total = length + STEPS
    wind, day = RNG.normal(size=total), RNG.choice(["work", "feast"], total, p=[0.8, 0.2])
    load = 10 + 3 * wind + 4 * (day == "feast") + 0.2 * RNG.normal(size=total)
    columns = {"unique_id": name, "ds": pd.date_range("2024-01-01", periods=total)}
    return pd.DataFrame({**columns, "y": load, "wind": wind, "day": day})


SERIES = {"a": rows("a"), "b": rows("b", 500)}
BOTH = pd.concat(SERIES.values(), ignore_index=True)
BACK = BOTH.groupby("unique_id").cumcount(ascending=False)
PAST, AHEAD = BOTH[BACK >= STEPS], BOTH[BACK < STEPS].drop(columns="y")
ACTUAL = BOTH[BACK < STEPS]["y"].to_numpy()
OPTIONS = {"future": ["wind", "day"], "categories": {"day": ["work", "feast"]}, "verbose": False}
NAME = "kerastrans_zero"


def make(source=ZERO_1, **options):
    return kerastrans.from_pretrained(source, STEPS, **{**OPTIONS, **options})


@pytest.fixture(scope="module")
def forecaster():
    return make()


@pytest.fixture(scope="module")
def forecast(forecaster):
    return forecaster.predict(PAST, future=AHEAD)


@pytest.mark.slow
def test_effects_are_forecast_and_intervals_follow(forecast):
    error = np.abs(forecast[NAME] - ACTUAL)
    assert error.mean() < 0.4  # 2.7 without covariates
    width = forecast[f"{NAME}-hi-80"] - forecast[f"{NAME}-lo-80"]
    assert 0.4 < width.mean() < 0.9  # 0.51 of the noise


@pytest.mark.slow
def test_a_series_is_independent_of_its_batch(forecaster, forecast):
    alone = forecaster.predict(PAST[PAST["unique_id"] == "a"], future=AHEAD[:STEPS])
    columns = [column for column in alone if column.startswith(NAME)]
    np.testing.assert_allclose(alone[columns], forecast[columns][:STEPS], atol=1e-4)
    assert forecaster.fitted.graph_lengths == [256, 512, 1024]  # both calls used another one


@pytest.mark.slow
def test_the_explanation_sums_to_the_forecast(forecaster, forecast):
    parts = forecaster.explain(PAST, future=AHEAD)
    total = parts.groupby(["unique_id", "ds"])["contribution"].sum()
    np.testing.assert_allclose(total, forecast[NAME], atol=1e-4)
    wind = parts[parts["part"] == "covariate wind"]["contribution"].to_numpy()[:STEPS]
    np.testing.assert_allclose(np.diff(wind), 3 * np.diff(AHEAD["wind"][:STEPS]), atol=0.4)


@pytest.mark.slow
def test_files_and_clones_forecast_the_same(forecaster, forecast, tmp_path):
    forecaster.save(tmp_path / "zero")
    for other in (kerastrans.Forecaster.load(tmp_path / "zero"), forecaster.clone()):
        again = other.predict(PAST, future=AHEAD)
        np.testing.assert_allclose(again[NAME], forecast[NAME], atol=1e-5)
    assert forecaster.metadata["covariates"]["future"][1]["categories"] == ("feast", "work")


@pytest.mark.slow
def test_other_methods_take_covariates(forecaster):
    assert len(forecaster.backtest(BOTH, windows=2)) == 2 * 2 * STEPS
    assert len(forecaster.simulate(PAST, future=AHEAD, num_paths=2)) == 2 * 2 * STEPS
    table = forecaster.covariate_importances(BOTH, windows=4, repeats=1)
    assert (table["increase"] > 0.5).all()


@pytest.mark.slow
@pytest.mark.tensorflow
@pytest.mark.parametrize(
    "name",
    [
        "model",
        pytest.param("model.onnx", marks=pytest.mark.exhaustive),
        pytest.param("model.tflite", marks=pytest.mark.exhaustive),
    ],
)
@pytest.mark.exhaustive
def test_an_export_forecasts_the_same(name, tmp_path):
    forecaster = make(context_length=LENGTH, past=["wind"], future=["day"])
    part = SERIES["a"]
    raw = {
        "history": part["y"][:LENGTH].to_numpy("float32"),
        "past_covariates": part["wind"][:LENGTH].to_numpy("float32"),
    }
    raw = {key: x[None, :, None] for key, x in raw.items()}
    codes = part["day"].map({"feast": 1, "work": 2}).to_numpy("int32")[None, :, None]
    expected = forecaster.forecast_histories({**raw, "future_covariates": codes.astype("float32")})
    path = forecaster.export(tmp_path / name)
    texts = part["day"].to_numpy(object)[None, :, None]
    if name.endswith(".onnx"):
        runtime = pytest.importorskip("onnxruntime").InferenceSession(path)
        found = runtime.run(["forecast"], {**raw, "future_categories": texts})[0]
    elif name.endswith(".tflite"):
        runtime = pytest.importorskip("ai_edge_litert.interpreter")
        runner = runtime.Interpreter(model_path=str(path)).get_signature_runner()
        found = runner(**raw, future_categories=codes)["forecast"]
    else:
        import tensorflow as tf

        serve = tf.saved_model.load(str(path)).signatures["serving_default"]
        tensors = {key: tf.constant(x) for key, x in raw.items()}
        found = serve(**tensors, future_categories=tf.constant(texts.astype(str)))["forecast"]
    np.testing.assert_allclose(found, expected["forecast"], rtol=1e-5, atol=1e-5)


@pytest.mark.slow
def test_the_service_reads_texts_and_codes():
    httpx = pytest.importorskip("httpx")
    serving = pytest.importorskip("kerastrans.serving")
    forecaster = make(context_length=LENGTH, alias=NAME, source="kerastrans_zero_2")
    app = serving.create_app(forecaster, "zero", warm_up=False, csv_processes=1)
    known = PAST[:LENGTH], AHEAD[:STEPS]
    both = pd.concat(known)
    codes = both["day"].map({"feast": 1, "work": 2})
    future = np.stack([both["wind"], codes], axis=1).tolist()
    instance = {"history": known[0]["y"].to_numpy()[:, None].tolist(), "future_covariates": future}

    async def ask():
        transport = httpx.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://localhost") as client,
        ):
            text = {"content": both.to_csv(index=False), "headers": {"content-type": "text/csv"}}
            rows = await client.post("/v1/forecast", **text)
            outputs = await client.post("/v1/models/zero:predict", json={"instances": [instance]})
            return rows.json()["forecast"], outputs.json()["predictions"][0]

    rows, outputs = asyncio.run(ask())
    expected = forecaster.predict(known[0], future=known[1])[NAME]
    assert np.ptp(expected) > 5  # it depends on the covariates
    np.testing.assert_allclose(rows[NAME], expected, rtol=1e-5)
    np.testing.assert_allclose(np.ravel(outputs["forecast"]), expected, rtol=1e-5)


@pytest.mark.slow
def test_the_regression_stays_in_float32():
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        mixed = make().predict(PAST, future=AHEAD)
    finally:
        keras.config.set_dtype_policy("float32")
    assert np.abs(mixed[NAME] - ACTUAL).mean() < 0.5


def test_what_cannot_be_read_is_refused():
    with pytest.raises(ValueError, match="no static covariates: published weights learn"):
        make(static=["place"])
    with pytest.raises(ValueError, match="neither past nor future covariates"):
        make(categories={"month": ["may"]})
    with pytest.raises(ValueError, match="'day' must be a list of texts, got 'work'"):
        make(categories={"day": "work"})
    with pytest.raises(ValueError, match="must be a list of texts"):
        make(categories={"day": ["work", ""]})
    with pytest.raises(ValueError, match=r"must be a dict of lists of texts, got \['day'\]"):
        make(categories=["day"])
    make(categories={"day": np.array(["work", "feast"])})
    with pytest.raises(ValueError, match="no static covariates: it learns from each series"):
        load(ZERO_1).build(90, STEPS, covariates={"static": (0,)})


@pytest.mark.slow
def test_missing_steps_ahead_are_named_and_a_short_series_has_honest_intervals(forecaster):
    with pytest.raises(ValueError, match=r"no future covariates for 2024-03-31.*give wind, day"):
        forecaster.predict(PAST[:LENGTH], future=AHEAD[1:STEPS])
    with pytest.raises(
        ValueError, match=r"'wind' must be numeric.*'calm'. Give its texts as categ"
    ):
        forecaster.predict(PAST[:LENGTH].assign(wind="calm"), future=AHEAD[:STEPS])
    ahead = AHEAD[:STEPS].assign(ds=DATES[6 : 6 + STEPS])
    short = forecaster.predict(PAST[:6], future=ahead)  # fewer rows than parts, no effects
    plain = kerastrans.from_pretrained(ZERO_1, STEPS, verbose=False).predict(
        PAST[["unique_id", "ds", "y"]][:6]
    )
    np.testing.assert_allclose(short[NAME], plain[NAME], rtol=1e-5)
    assert heads.of(forecaster.model).size == 13
