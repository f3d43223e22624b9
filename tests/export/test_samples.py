"""Exported files draw samples: those of Keras for the same random numbers."""

import numpy as np
import pytest

import kerastrans
from kerastrans import zoo
from kerastrans.data import StandardScaler
from kerastrans.decoding.contract import patch_dependence_of
from kerastrans.export import export
from kerastrans.forecasting.dependence import Dependence
from kerastrans.testing.training_checks import samples_of_file
from tests.export.test_artefact import CONTEXT as DAYS
from tests.export.test_artefact import HORIZON as STEPS
from tests.export.test_artefact import long_frame, stacked
from tests.helpers.architectures import SMALL
from tests.helpers.runtimes import RUNTIMES

pytestmark = pytest.mark.tensorflow
CONTEXT, HORIZON, CHANNELS, SAMPLES, SEED = 24, 12, 2, 20, 3
SCALER = StandardScaler(np.array([5.0, -2.0]), np.array([2.0, 0.5]))
SLOW = pytest.mark.slow
EXHAUSTIVE = [SLOW, pytest.mark.exhaustive]  # by `make contract`
FUTURE = {"covariates": {"future": (0,)}}
CASES = [
    ("decoder_transformer", "quantiles", {}),
    pytest.param(
        *("time_series_transformer", "mixture", {**FUTURE, "patch_length": HORIZON}),
        marks=EXHAUSTIVE,
    ),
    ("deepar", "student_t", FUTURE),
    ("deepar", "negative_binomial", {}),
]


@SLOW
@pytest.mark.parametrize(
    "runtime", ["ONNX", *(pytest.param(x, marks=EXHAUSTIVE) for x in ("SavedModel", "LiteRT"))]
)
@pytest.mark.parametrize(("name", "head", "options"), CASES)
def test_samples_are_those_of_keras(name, head, options, runtime, tmp_path):
    suffix, run = RUNTIMES[runtime]
    model = zoo.build(name, CONTEXT, HORIZON, CHANNELS, head=head, **{**SMALL[name], **options})
    if (weight := patch_dependence_of(model)) is not None:
        weight.assign(Dependence.default(weight.shape[0]).root)
    random = np.random.default_rng(0)
    scaler, history = SCALER, 5 + random.normal(size=(3, CONTEXT, CHANNELS))
    if head == "negative_binomial":
        scaler, history = None, random.poisson(4.0, history.shape)
    inputs = {"history": history.astype("float32")}
    if "covariates" in options:
        columns = random.normal(size=(3, CONTEXT + HORIZON, 1)).astype("float32")
        inputs["future_covariates"] = columns
    fixed = {"batch_size": 3} if (runtime, name) == ("LiteRT", "deepar") else {}
    path = export(
        model,
        tmp_path / f"model{suffix}",
        scaler=scaler,
        prediction_length=HORIZON,
        num_samples=SAMPLES,
        seed=SEED,
        **fixed,
    )
    found = run(path, **inputs)
    raw, *others = inputs.values()
    mean, std = (scaler.mean, scaler.std) if scaler else (np.zeros(CHANNELS), np.ones(CHANNELS))
    arrays = [(raw - mean) / std, *others]
    expected = samples_of_file(model, arrays, HORIZON, SAMPLES, SEED)
    expected = expected * std[:, None] + mean[:, None]
    assert np.ptp(expected, axis=-1).min() > 0.1  # they are drawn
    np.testing.assert_allclose(found["samples"], expected, rtol=2e-5, atol=2e-5)
    np.testing.assert_allclose(found["forecast"], expected.mean(axis=-1), rtol=2e-5, atol=2e-5)


@SLOW
@pytest.mark.parametrize(
    "runtime", ["ONNX", *(pytest.param(x, marks=EXHAUSTIVE) for x in ("SavedModel", "LiteRT"))]
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_bounds_and_conformal_intervals_of_samples(runtime, tmp_path):
    suffix, run = RUNTIMES[runtime]
    frame = long_frame(series=("a", "b", "c"))
    frame["y"] = frame["y"].clip(12.5, 31)
    sizes = {"d_model": 8, "num_heads": 2, "ff_dim": 8, "patch_length": 2, "num_blocks": 1}
    forecaster = kerastrans.Forecaster(
        "decoder_transformer", DAYS, STEPS, bounds=(12.5, 31), num_samples=30, **sizes
    )
    forecaster.fit(frame, epochs=1, verbose=0).calibrate(frame, windows=20, levels=(50, 80))
    path = forecaster.export(tmp_path / f"file{suffix}")
    found = run(path, stacked(frame, ["y"], DAYS).astype("float32"))
    samples = found["samples"]
    assert samples.shape == (3, STEPS, 1, 30)
    assert samples.min() >= 12.5
    assert samples.max() == 31  # one was beyond
    np.testing.assert_allclose(found["forecast"], samples.mean(axis=-1), rtol=1e-5)
    assert found["lower"].min() >= 12.5
    assert found["upper"].max() <= 31

    # The intervals of Python are as wide, up to the draws of 30 samples.
    rows = forecaster.predict(frame).sort_values(["unique_id", "ds"])
    for i, level in enumerate((50, 80)):
        ends = rows[[f"decoder_transformer-{x}-{level}" for x in ("lo", "hi")]].to_numpy()
        inside = [found[x][..., 0, i].ravel() for x in ("lower", "upper")]
        np.testing.assert_allclose(np.stack(inside, axis=-1), ends, atol=6)
        assert abs(np.mean(ends[:, 1] - ends[:, 0] - (inside[1] - inside[0]))) < 2


def test_the_number_of_samples_is_checked_before_work(tmp_path):
    model = zoo.build("nlinear", 24, 12, 1)
    with pytest.raises(ValueError, match="num_samples must be an integer of at least 1, got 0"):
        export(model, tmp_path / "model.onnx", num_samples=0)
