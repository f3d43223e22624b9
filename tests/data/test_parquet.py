"""Training on Parquet files that are read one at a time."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest

from kerastrans import Forecaster
from kerastrans.data.panel import read_panel
from kerastrans.data.panel_windows import Windows
from kerastrans.data.parquet import list_partitions, read_partition, stream_batches
from tests.helpers.parquet import SIZES, series, write


@pytest.fixture
def folder(tmp_path):
    write(tmp_path, [series(3 * i, 3) for i in range(4)])
    return tmp_path


@pytest.mark.slow
def test_one_epoch_uses_every_window_once(folder):
    whole = pd.concat(map(read_partition, list_partitions(folder)))
    # Without a shuffled last batch filled up: 3 series of 64 windows a file.
    options = {"batch_size": 64, "validation_size": 8, "verbose": 0, "epochs": 1}
    streamed = Forecaster("nlinear", **SIZES, optimizer="sgd").fit(folder, **options)
    assert streamed.history.params["steps"] == 12
    at_once = Forecaster("nlinear", **SIZES, optimizer="sgd").fit(whole, **options)
    losses = [x.history.history["val_loss"][0] for x in (streamed, at_once)]
    np.testing.assert_allclose(*losses, rtol=0.02)  # the same windows in another order
    assert len(streamed.predict(series(100, 2))) == 16


@pytest.mark.slow
def test_loss_decreases_over_epochs(folder):
    forecaster = Forecaster("nlinear", **SIZES).fit(folder, epochs=12, batch_size=16, verbose=0)
    losses = forecaster.history.history["loss"]
    assert losses[-1] < 0.5 * losses[0]


@pytest.mark.slow
def test_peak_memory_is_below_a_tenth_of_the_data(tmp_path):
    """The data take ten times the memory that training on them may take."""
    parts = 80
    for name, count in (("one", 1), ("all", parts)):
        (tmp_path / name).mkdir()
        write(tmp_path / name, [series(20 * i, 20, length=1000) for i in range(count)])
    data = parts * series(0, 20, length=1000).memory_usage(deep=True).sum()
    forecaster = Forecaster("nlinear", **SIZES)
    options = {"batch_size": 256, "stride": 50, "verbose": 0}
    forecaster.fit(tmp_path / "one", epochs=1, **options)  # imports, builds and compiles
    tracemalloc.start()
    forecaster.fit(tmp_path / "all", epochs=1, **options)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < data / 10


def test_invalid_folders_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"holds no \.parquet file"):
        Forecaster("nlinear", **SIZES).fit(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"the file or folder absent\.csv does not exist"):
        Forecaster("nlinear", **SIZES).fit("absent.csv")
    (tmp_path / "a.csv").write_text("date,load\n")
    with pytest.raises(ValueError, match=r"a\.csv is neither .*data\.read_csv returns"):
        Forecaster("nlinear", **SIZES).fit(tmp_path / "a.csv")
    (tmp_path / "a.parquet").write_text("no parquet")
    with pytest.raises(ValueError, match=r"cannot read .*a\.parquet"):
        Forecaster("nlinear", **SIZES).fit(tmp_path)
    write(tmp_path, [series(0, 2, length=9)])
    (tmp_path / "a.parquet").unlink()
    short = Forecaster("nlinear", **SIZES)
    with pytest.raises(ValueError, match="no window to train on: the longest series has 9 steps"):
        short.fit(tmp_path, validation_size=8)
    with pytest.raises(
        ValueError, match=r"validation_size=5 holds no whole forecast of prediction_length=8"
    ):
        short.fit(tmp_path, validation_size=5)


def test_single_file_is_accepted_like_a_folder(folder):
    assert list_partitions(folder / "part-2.parquet") == [folder / "part-2.parquet"]


def test_files_without_windows_raise_an_error_instead_of_looping(folder):
    """It went on reading them for ever."""
    panel = read_panel(series(0, 2))

    def windows(path):
        """None of the first file's; one of the others."""
        count = 0 if "part-0" in path.name else 1
        return Windows(panel, 24, 8, np.zeros(count, int), panel.cuts[:count])

    files = list_partitions(folder)
    with pytest.raises(ValueError, match="the 1 files have no window"):
        next(stream_batches(files[:1], windows, 4, shuffle=False, seed=0))
    stream = stream_batches(files[:2], windows, 4, shuffle=True, seed=0)
    assert [len(next(stream)[0]) for _ in range(5)] == [1] * 5
