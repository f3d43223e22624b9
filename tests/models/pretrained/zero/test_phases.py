"""kerastrans-zero with a season: the series of each phase, and files, covariates and channels."""

import keras
import numpy as np
import pandas as pd
import pytest

import kerastrans
from kerastrans.models.pretrained import load
from kerastrans.models.pretrained.shipped import FOLDER
from kerastrans.models.pretrained.zero import port as zero
from kerastrans.models.pretrained.zero.moves import move_of
from kerastrans.utils.compilation import compile_inference

SEASON, STEPS = 24, 26
RNG = np.random.default_rng(0)
LENGTH = 480
WAVE = 3 * np.sin(np.arange(LENGTH) * 2 * np.pi / SEASON)
LEVEL = np.repeat(RNG.normal(size=LENGTH // 16).cumsum(), 16)
SERIES = 50 + WAVE + LEVEL + RNG.normal(size=LENGTH) / 3
DATES = pd.date_range("2024-01-01", periods=LENGTH, freq="h")
FRAME = pd.DataFrame({"unique_id": "a", "ds": DATES, "y": SERIES})


@pytest.fixture(scope="module")
def model():
    return load(FOLDER / "kerastrans_zero_2")


@pytest.fixture(scope="module")
def seasonal(model):
    return model.with_options(season=SEASON)


def quantiles(model, series, steps=STEPS):
    return [x["quantiles"][0] for x in model.forecast(series, steps)]


@pytest.mark.slow
def test_a_quarter_is_the_forecast_of_each_phase(model, seasonal):
    whole = quantiles(model, [SERIES])[0]
    phases = [SERIES[(len(SERIES) + i) % SEASON :: SEASON] for i in range(SEASON)]
    phases = np.stack(quantiles(model, phases, steps=2))  # (phases, cycles, levels)
    phases = phases.transpose(1, 0, 2).reshape(-1, whole.shape[1])[:STEPS]
    assert np.abs(whole - phases).max() > 0.3
    built = seasonal.build(LENGTH, STEPS)
    history = SERIES[None].astype("float32")
    found = keras.ops.convert_to_numpy(zero.phases_of(built)(history))[0]
    levels = [float(level) for level in model.levels]
    at = [levels.index(k / 10) for k in range(1, 10)]
    np.testing.assert_allclose(found[:, at], 0.75 * whole + 0.25 * phases, rtol=1e-5)
    # What the regression on earlier cycles changes.
    expected = keras.ops.convert_to_numpy(move_of(built)(history, found[None]))[0]
    assert np.abs(expected - found).max() > 0.05
    np.testing.assert_allclose(quantiles(seasonal, [SERIES])[0], expected[:, at], rtol=1e-5)


@pytest.mark.slow
def test_a_forecast_depends_on_its_series_alone(seasonal):
    gaps = SERIES.copy()
    gaps[100:140] = np.nan
    one = quantiles(seasonal, [gaps])[0]
    longer = np.tile(SERIES, 2)  # for which the window is twice as long
    many = quantiles(seasonal, [longer, 1000 * gaps - 500])[1]
    np.testing.assert_allclose(many, 1000 * one - 500, rtol=1e-3)


@pytest.mark.slow
def test_a_phase_with_few_values_has_the_forecast_of_the_window(model, seasonal):
    night = SERIES[-10 * SEASON :].copy()
    night[SEASON::SEASON] = np.nan  # one value is left of the next step's phase
    known, whole = quantiles(seasonal, [night])[0], quantiles(model, [night])[0]
    changed = np.abs(known - whole).max(axis=1)
    np.testing.assert_array_equal(changed > 0.01, [False, *[True] * 23, False, True])
    short = SERIES[-2 * SEASON :]
    np.testing.assert_allclose(quantiles(seasonal, [short])[0], quantiles(model, [short])[0])


@pytest.mark.slow
def test_a_forecaster_forecasts_the_same(seasonal):
    gaps = SERIES.copy()
    gaps[100:140] = np.nan
    series = {"whole": SERIES, "gaps": gaps, "short": SERIES[-5 * SEASON :]}
    frame = pd.concat(FRAME.tail(len(y)).assign(unique_id=name, y=y) for name, y in series.items())
    options = {"model_options": {"season": SEASON}, "verbose": False}
    forecaster = kerastrans.from_pretrained("kerastrans_zero_2", STEPS, **options)
    rows = forecaster.predict(frame, levels=[60]).groupby("unique_id", sort=False)
    expected = [x["mean"][0] for x in seasonal.forecast(list(series.values()), STEPS)]
    found = [rows.get_group(name)[forecaster.alias] for name in series]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.slow
def test_files_share_the_dense_layers_and_read_the_season(tmp_path):
    options = {"model_options": {"season": SEASON}, "verbose": False}
    forecaster = kerastrans.from_pretrained("kerastrans_zero_2", STEPS, **options)
    assert forecaster.context_length == 6144
    assert forecaster.card["parameters"] == 88_732
    rows = forecaster.predict(FRAME)
    forecaster.save(tmp_path / "f")
    loaded = kerastrans.Forecaster.load(tmp_path / "f")
    name = forecaster.alias
    np.testing.assert_allclose(loaded.predict(FRAME)[name], rows[name], rtol=1e-6)
    layer = zero.phases_of(loaded.model)
    assert layer.season == SEASON
    assert layer.of_phases.get_layer("mixed") is layer.network.get_layer("mixed")
    pd.testing.assert_frame_equal(loaded.explain(FRAME), forecaster.explain(FRAME))
    options["model_options"] = {"season": None}
    plain = kerastrans.from_pretrained("kerastrans_zero_2", STEPS, **options)
    assert np.abs(plain.predict(FRAME)[name] - rows[name]).max() > 0.05


@pytest.mark.slow
def test_covariates_and_channels_are_read_with_a_season(seasonal):
    wind = RNG.normal(size=LENGTH + STEPS)
    inputs = {
        "history": np.stack([SERIES + 5 * wind[:LENGTH], SERIES], axis=1)[None],
        "future_covariates": wind[None, :, None],
    }
    built = seasonal.build(LENGTH, STEPS, 2, {"future": (0,)})
    assert sum(isinstance(x, zero.PhaseForecasts) for x in built.layers) == 1
    run = compile_inference(built)
    median = run(*(inputs[x.name] for x in built.inputs))[0, :, :, 6]
    np.testing.assert_allclose(median[:, 0], median[:, 1] + 5 * wind[LENGTH:], atol=0.7)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_the_explanation_with_covariates_sums_to_the_forecast(tmp_path):
    wind = np.random.default_rng(1).normal(size=LENGTH + STEPS)
    frame = FRAME.assign(y=SERIES + 5 * wind[:LENGTH], wind=wind[:LENGTH])
    dates = pd.date_range(DATES[-1], periods=STEPS + 1, freq="h")[1:]
    future = pd.DataFrame({"unique_id": "a", "ds": dates, "wind": wind[LENGTH:]})
    options = {"model_options": {"season": SEASON}, "verbose": False, "context_length": LENGTH}
    forecaster = kerastrans.from_pretrained("kerastrans_zero_2", STEPS, future=["wind"], **options)
    rows = forecaster.predict(frame, future=future)
    forecaster.save(tmp_path / "f")
    loaded = kerastrans.Forecaster.load(tmp_path / "f")
    pd.testing.assert_frame_equal(loaded.predict(frame, future=future), rows)
    parts = loaded.explain(frame, future=future)
    sums = parts.groupby("ds")["contribution"].sum()
    np.testing.assert_allclose(sums, rows[forecaster.alias], rtol=1e-5)
    moves = parts.loc[parts["part"] == "regression", "contribution"]
    assert len(moves) == STEPS
    assert moves.abs().max() > 0.05


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.tensorflow
def test_an_onnx_file_forecasts_the_same(tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    options = {"model_options": {"season": SEASON}, "verbose": False, "context_length": LENGTH}
    forecaster = kerastrans.from_pretrained("kerastrans_zero_2", STEPS, **options)
    session = runtime.InferenceSession(forecaster.export(tmp_path / "zero.onnx"))
    found = session.run(["forecast"], {"history": SERIES[None, :, None].astype("float32")})[0]
    expected = forecaster.predict(FRAME)[forecaster.alias]
    np.testing.assert_allclose(found[0, :, 0], expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("season", "message"),
    [
        (0, "season must be an integer of at least 1, or None, got 0"),
        (24.0, "season must be an integer of at least 1, or None, got 24.0"),
        (5000, "the longest season=2048, got 5000"),
    ],
)
def test_an_impossible_season_is_refused(model, season, message):
    with pytest.raises(ValueError, match=message):
        model.with_options(season=season)
