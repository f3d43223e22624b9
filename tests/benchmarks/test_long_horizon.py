"""The benchmark that the published figures are compared with: its protocol, on real data."""

import os

import pytest

from benchmarks.accuracy import long_horizon
from benchmarks.accuracy import long_horizon_report as report
from kerastrans import zoo

needs_data = pytest.mark.skipif(
    "KERASTRANS_DATA_DIR" not in os.environ, reason="KERASTRANS_DATA_DIR names no folder"
)


@needs_data
@pytest.mark.parametrize(
    ("dataset", "horizon", "mse", "mae"),
    # Zeng et al. (2023), table 2, "Repeat"
    [("etth1", 96, 1.295, 0.713), ("etth2", 96, 0.432, 0.422), ("exchange_rate", 96, 0.081, 0.196)],
)
def test_the_last_value_has_its_published_error(dataset, horizon, mse, mae):
    settings = zoo.info("last_value").settings(dataset, horizon)
    row = long_horizon.run("last_value", dataset, horizon, 96, 0, settings)
    assert float(row["mse"]) == pytest.approx(mse, rel=0.005)
    assert float(row["mae"]) == pytest.approx(mae, rel=0.005)


@needs_data
def test_windows_of_the_three_parts_follow_each_other():
    settings = zoo.info("cyclenet").settings("etth1", 96)
    parts = long_horizon.load_parts("cyclenet", "etth1", 96, 96, settings, seed=0)
    firsts, counts = [], []
    for part in parts[1:]:  # the training windows are shuffled
        positions = [int(p) for inputs, _ in part for p in inputs["position"]]
        firsts.append(positions[0])
        counts.append(len(positions))
        assert positions == list(range(positions[0], positions[0] + len(positions)))
    assert firsts == [8640 - 96, 8640 + 2880 - 96]
    assert counts == [2880 - 96 + 1] * 2  # none is dropped


def test_finished_runs_are_known_again(tmp_path):
    path = tmp_path / "results" / "table.csv"
    assert long_horizon.done(path) == set()
    row = dict.fromkeys(long_horizon.COLUMNS, "0")
    for horizon in (96, 192):
        long_horizon.append(path, {**row, "model": "dlinear", "horizon": horizon})
    assert long_horizon.done(path) == {
        ("dlinear", "0", "96", "0", "0"),
        ("dlinear", "0", "192", "0", "0"),
    }


def test_report_averages_seeds_and_counts_published_horizons_alone():
    import pandas as pd

    key = {"model": "m", "dataset": "d", "context_length": 96}
    ours = pd.DataFrame(
        [
            {**key, "seed": 0, "horizon": 96, "mse": 0.3, "mae": 0.4},
            {**key, "seed": 1, "horizon": 96, "mse": 0.5, "mae": 0.4},
            {**key, "seed": 0, "horizon": 192, "mse": 9.0, "mae": 9.0},
        ]
    )
    published = pd.DataFrame([{**key, "horizon": 96, "mse": 0.5, "mae": 0.5, "source": "paper"}])
    means = report.summarise(report.compare(ours, published), ours).iloc[0]
    assert (means.horizons, means.mse, means.ratio) == (1, pytest.approx(0.4), pytest.approx(0.8))
    assert (means.seeds, means.sd) == (2, pytest.approx(0.02**0.5))
