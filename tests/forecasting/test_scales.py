"""Doors forecast alike, constants are constants, and errors have the size of their series."""

import numpy as np
import pandas as pd
import pytest

import kerastrans
from kerastrans import Forecaster, heads, zoo
from kerastrans.data.panel import read_panel
from kerastrans.data.panel_windows import Windows
from tests.conftest import to_numpy

CONTEXT, HORIZON = 24, 3
DATES = pd.date_range("2020-01-01", periods=400)
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def long(columns):
    parts = [
        pd.DataFrame({"unique_id": name, "ds": DATES[-len(y) :], "y": y})
        for name, y in columns.items()
    ]
    return pd.concat(parts, ignore_index=True)


def wandering():
    rng = np.random.default_rng(0)
    steps = rng.normal(size=(4, len(DATES)))
    growth = np.exp(0.01 * np.arange(len(DATES)) + 0.02 * steps[2])
    return {"walk": 50 + steps[0].cumsum(), "price": np.exp(0.01 * steps[1].cumsum())} | {
        "growth": growth,
        "decay": 1 / growth,
    }


def seasonal(count=6, size=100.0):
    rng, t = np.random.default_rng(1), np.arange(120)
    return {
        f"s{i}": size
        * (i + 1)
        * (1 + 0.2 * np.sin(2 * np.pi * t / 7) + 0.05 * rng.normal(size=120))
        for i in range(count)
    }


def fitted(name, columns, **options):
    forecaster = Forecaster(name, CONTEXT, HORIZON, **options)
    return forecaster.fit(long(columns), epochs=1, steps_per_epoch=5, verbose=0)


@pytest.fixture(scope="module")
def trained():
    return fitted("nlinear", seasonal())


def columns_of(rows):
    return rows.set_index("unique_id").drop(columns="ds")


def test_all_rows_the_last_rows_and_arrays_of_series_that_wander_are_forecast_alike():
    """Intervals of arrays, files and short frames were 1.3 to 3.4 times narrower."""
    forecaster, frame = fitted("nlinear", wandering()), long(wandering())
    rows = columns_of(forecaster.predict(frame))
    tail = columns_of(forecaster.predict(frame.groupby("unique_id").tail(CONTEXT)))
    np.testing.assert_allclose(tail, rows, rtol=1e-12)
    history = np.stack([y[-CONTEXT:, None] for y in wandering().values()])
    points = forecaster.forecast_histories({"history": history})["forecast"]
    np.testing.assert_allclose(points.ravel(), rows["nlinear"], rtol=1e-12)


@pytest.mark.slow
@pytest.mark.tensorflow
@pytest.mark.parametrize("suffix", [".onnx", ".tflite"])
@pytest.mark.parametrize("head", ["quantiles", "point"])
def test_files_have_the_intervals_of_all_rows(head, suffix, tmp_path):
    """Calibrated intervals of files covered 34 % instead of 79 %."""
    from tests.helpers.runtimes import RUNTIMES

    run = dict(RUNTIMES.values())[suffix]
    frame = long({name: y for name, y in wandering().items() if name != "decay"})
    forecaster = fitted("nlinear", wandering(), head=head, scaler="mase")
    forecaster.calibrate(frame, windows=30, step=1, levels=[80])
    path = tmp_path / f"m{suffix}"
    forecaster.export(path)
    history = [
        g["y"].to_numpy()[-CONTEXT:, None] for _, g in frame.groupby("unique_id", sort=False)
    ]
    outputs = run(path, np.stack(history).astype("float32"))
    rows, size = columns_of(forecaster.predict(frame)), np.std(history, axis=1).repeat(HORIZON)
    for name, column in (("lower", "nlinear-lo-80"), ("upper", "nlinear-hi-80")):
        assert (np.abs(outputs[name].ravel() - rows[column]) < 1e-4 * size).all()


@pytest.mark.parametrize(
    "name", ["nlinear", *(pytest.param(x, marks=pytest.mark.slow) for x in ("tide", "deepar"))]
)
@pytest.mark.parametrize("scaler", ["standard", "mean_abs", "mase"])
def test_a_constant_is_forecast_as_the_constant(name, scaler):
    """1,200 was forecast as 1,680, its 80 % interval was 100 to 2,925."""
    forecaster = fitted(name, seasonal(), scaler=scaler)
    fixed = {"fee": np.full(60, 1200.0), "large": np.full(20, 1e6), "none": np.zeros(60)}
    rows = columns_of(forecaster.predict(long(fixed)))
    wanted = np.repeat([1200.0, 1e6, 0.0], HORIZON)
    assert (rows.to_numpy() == wanted[:, None]).all()


def test_a_few_equal_values_are_as_sure_as_a_few_others(trained):
    """[1200, 1200] was -2372 to 4827, and [1200, 1210] was 1192 to 1221."""
    few = {"one": [1200.0], "equal": [1200.0] * 2, "other": [1200.0, 1210.0], "ten": [1200.0] * 10}
    rows = columns_of(trained.predict(long(few), levels=[80]))
    widths = (rows["nlinear-hi-80"] - rows["nlinear-lo-80"]).groupby(level=0).mean()
    assert widths["one"] > widths["equal"] > widths["ten"] > 0
    assert widths["equal"] == pytest.approx(widths["other"], rel=0.05)
    assert widths["one"] < 2400


def test_intervals_of_constants_are_what_constants_did_next(trained):
    rng = np.random.default_rng(0)
    jumps = {f"j{i}": np.repeat(rng.uniform(50, 90, 4), 30) for i in range(8)}
    moving = fitted("nlinear", jumps | {"fixed": np.full(120, 5.0)})
    new = long({"new": np.full(40, 70.0)})
    for forecaster, is_wide in ((moving, True), (trained, False)):
        rows = forecaster.predict(new, levels=[95])
        assert ((rows["nlinear-hi-95"] > rows["nlinear-lo-95"]) == is_wide).all()


def calibrated(columns, **options):
    forecaster = Forecaster("last_value", CONTEXT, HORIZON, scaler=None).fit(long(columns))
    return forecaster.calibrate(long(columns), windows=40, step=1, levels=[80], **options)


@pytest.mark.parametrize("scale", ["window", "residuals"])
def test_a_series_has_intervals_of_its_size_whatever_the_scaler(scale):
    """Offsets of a model without a scaler were in the units of the calibration series."""
    forecaster = calibrated(seasonal(4, 1e4), scale=scale)
    small = {name: 1e-3 * y for name, y in seasonal(4, 1e4).items()}
    large = columns_of(forecaster.predict(long(seasonal(4, 1e4))))
    with pytest.warns(UserWarning, match=r"4 windows have scales far .*, 's0' is the first"):
        rows = columns_of(forecaster.predict(long(small)))
    np.testing.assert_allclose(1e3 * rows, large, rtol=1e-6)


def test_series_of_the_calibration_are_not_named(recwarn):
    forecaster = calibrated(seasonal())
    forecaster.predict(long(seasonal()))
    assert not [x for x in recwarn if "far from" in str(x.message)]


@pytest.mark.slow
def test_importances_do_not_move_with_the_size_of_a_series():
    """One large series in ten had all of the increase."""
    rng = np.random.default_rng(0)
    f, g, noise = rng.normal(size=(3, 10, 120))
    y = 10 + 3 * np.where(np.arange(10)[:, None] < 9, f, g) + 0.5 * noise
    y[9] *= 1e5
    frame = long({f"s{i}": row for i, row in enumerate(y)}).assign(f=f.ravel(), g=g.ravel())
    forecaster = kerastrans.from_pretrained("kerastrans_zero_2", HORIZON, future=["f", "g"])
    found = forecaster.covariate_importances(frame, windows=4).set_index("variable")["increase"]
    assert found["f"] > 5 * found["g"]


@pytest.mark.parametrize("relative", ["affine", "scale"])
def test_published_weights_train_on_large_and_small_series_alike(relative):
    """One series in five, 100,000 times as large, had all of the loss."""
    columns = {name: y + 1e3 for name, y in seasonal(2).items()}
    batches = []
    for factor in (1.0, 2.0**17):
        panel = read_panel(long(columns | {"s1": factor * columns["s1"]}))
        windows = Windows(panel, 8, 2, np.array([0, 1]), panel.cuts - 2, relative=relative)
        batches.append([to_numpy(x) for x in next(iter(windows.batches(2)))])
    for first, second in zip(*batches, strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-6)
    x = batches[0][0]
    np.testing.assert_allclose(np.std(x, axis=1), 1.0, rtol=1e-5)
    assert (np.abs(x.mean()) < 1e-6) == (relative == "affine")


def test_the_loss_of_published_weights_is_relative_and_that_of_counts_is_not():
    from kerastrans.forecasting.training.data import TrainingData
    from kerastrans.forecasting.training.windows import TrainingWindows

    for head, wanted in ((heads.PointHead(equivariance="affine"), "affine"), ("poisson", "")):
        model = zoo.build("nlinear", 8, 2, 1, head=head)
        config = Forecaster(model, scaler=None).config
        rounded = {name: y.round() for name, y in seasonal(2).items()}
        data = TrainingData.read(config, long(rounded), epochs=1)
        assert TrainingWindows(model, data, config.training).windows(0)[0].relative == wanted
