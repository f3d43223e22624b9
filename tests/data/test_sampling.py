"""Which series the windows of a training come from."""

import numpy as np
import pytest

from kerastrans import Forecaster, Training, zoo
from kerastrans.data.panel import read_panel
from kerastrans.data.sampling import window_weights
from kerastrans.forecasting.inference.reader import Reader
from kerastrans.forecasting.training.data import TrainingData
from kerastrans.forecasting.training.defaults import HeldOut
from kerastrans.forecasting.training.windows import TrainingWindows
from tests.conftest import to_numpy
from tests.helpers.frames import long_frame


def windows_of(panel, sampling):
    """Training windows of 6 steps and forecasts of 3, with 3 steps held out."""
    config = Forecaster("nlinear", 6, 3, head="point", scaler=None).config
    reader = Reader(config, panel.clock, panel.covariates, None, 1)
    data = TrainingData(reader, [panel], HeldOut(3))
    return TrainingWindows(zoo.build("nlinear", 6, 3, 1), data, sampling)


def drawn(sampling, frame, steps=300):
    """The share of each series, told by its level, in the windows of a training."""
    batches = iter(windows_of(read_panel(frame), Training(sampling=sampling)).batches(0, 32))
    levels = np.concatenate(
        [to_numpy(next(batches)[1]).mean(axis=(1, 2)).round(-2) for _ in range(steps)]
    )
    return np.bincount((levels / 100).astype(int), minlength=4) / len(levels)


@pytest.mark.slow
def test_series_are_drawn_with_the_frequency_of_the_sampling():
    frame = long_frame([150, 30, 12, 30])  # 144, 24, 6 and 24 windows, at levels 0, 100, 200, 300
    counts = np.array([144, 24, 6, 24])
    np.testing.assert_allclose(drawn("windows", frame), counts / counts.sum(), atol=0.02)
    np.testing.assert_allclose(drawn("series", frame), 0.25, atol=0.02)
    sizes = counts * [0.8, 100.0, 200.0, 300.0]
    np.testing.assert_allclose(drawn("scale", frame), sizes / sizes.sum(), atol=0.02)


def test_limit_restricts_training_to_the_end_of_each_series():
    panel = read_panel(long_frame([60, 40]))
    training, validating = windows_of(panel, Training(window_sampling_limit=2)).windows(0)
    np.testing.assert_array_equal(training.series, [0, 0, 1, 1])
    np.testing.assert_array_equal(panel.cuts[training.series] - training.cuts, [5, 4, 5, 4])
    _, targets = next(iter(training.batches(4)))
    np.testing.assert_array_equal(np.isnan(to_numpy(targets)).sum(axis=(1, 2)), [1, 2, 1, 2])
    assert np.isfinite(to_numpy(next(iter(validating.batches(2)))[1])).all()


def weights_of(sizes, sampling="scale", held_out=0):
    frame = long_frame([8] * len(sizes)).assign(y=np.repeat(np.asarray(sizes, float), 8))
    frame.loc[frame.groupby("unique_id").tail(2).index, "y"] = 7.0
    panel = read_panel(frame)
    series = np.arange(len(panel)).repeat(2)
    weights = window_weights(sampling, panel, series, panel.cuts[series] - held_out)
    return weights[::2] / weights.max()


def test_scale_uses_only_training_rows_and_works_in_any_unit():
    np.testing.assert_allclose(weights_of([1, -3, 4], held_out=2), [0.25, 0.75, 1.0])
    np.testing.assert_allclose(weights_of([1e-9, 3e-9, 4e-9], held_out=2), [0.25, 0.75, 1.0])
    assert (np.diff(weights_of([1, 3, 4])) > 0).all()
    assert weights_of([1, 3, 4])[0] > 0.25  # what is held out would count


@pytest.mark.parametrize("sizes", [[0, 0], [0, 2, 4]])
def test_series_of_zeros_is_drawn_too(sizes):
    expected = [1.0, 1.0] if sizes == [0, 0] else [0.5, 0.5, 1.0]
    np.testing.assert_allclose(weights_of(sizes, held_out=2), expected)


def test_invalid_samplings_are_refused(tmp_path):
    pytest.importorskip("pyarrow")
    forecaster = Forecaster("nlinear", 6, 3)
    with pytest.raises(ValueError, match="window_sampling_limit must be an integer of at least 1"):
        forecaster.fit(long_frame([30]), window_sampling_limit=0)
    with pytest.raises(ValueError, match=r"sampling must be one of .*, got 'length'"):
        forecaster.fit(long_frame([30]), sampling="length")
    for number in range(2):
        frame = long_frame([30], seed=number)
        frame.to_parquet(tmp_path / f"{number}.parquet")
    with pytest.raises(ValueError, match="sampling='series' and a folder of 2 files cannot"):
        forecaster.fit(tmp_path, sampling="series", verbose=0)
    assert forecaster.fitted is None
