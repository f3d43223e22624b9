"""Intervals and tests of the comparison under one protocol, on simulated errors."""

import numpy as np
import pandas as pd
import pytest

from benchmarks.accuracy import fair_report as report


@pytest.mark.slow
def test_an_interval_has_the_width_of_its_standard_error():
    errors = np.random.default_rng(1).normal(size=(1, 4000))
    low, high = report.interval(errors, horizon=24)
    assert high - low == pytest.approx(2 * 1.96 / 4000**0.5, rel=0.15)
    assert low < errors.mean() < high


def test_an_interval_contains_the_spread_of_the_seeds():
    seeds = np.array([0.3, 0.4, 0.5])[:, None] * np.ones((3, 200))
    assert report.interval(seeds, horizon=96) == pytest.approx([0.3, 0.5])


def test_only_a_difference_that_is_there_is_significant():
    random = np.random.default_rng(0)
    reference = random.normal(1.0, 0.1, size=(2, 120))
    errors = {"dlinear": reference, "worse": reference + 0.2, "same": reference[::-1]}
    errors["worse"] = errors["worse"] + random.normal(0, 0.01, size=(2, 120))
    found = report.differences_from(errors, "dlinear", 96)
    mean, low, high, p = found["worse"]
    assert mean == pytest.approx(0.2, abs=0.01)
    assert 0 < low < mean < high
    assert p < 0.001
    mean, low, high, p = found["same"]
    assert low < 0 < high
    assert p == 1


def test_the_rate_is_chosen_on_validation_and_unfinished_choices_are_left_out():
    columns = ["model", "seed", "learning_rate", "validation_mse", "mse", "epochs"]
    rows = pd.DataFrame(
        [
            ("a", 0, 0.001, 0.5, 0.1, 3),
            ("a", 0, 0.01, 0.4, 0.9, 3),
            ("a", 1, 0.01, 0.6, 0.8, 3),
            ("unfinished", 0, 0.001, 0.1, 0.1, 3),
            ("naive", 0, 0.0, np.nan, 1.0, 0),
        ],
        columns=columns,
    ).assign(dataset="etth1", horizon=96)
    chosen = report.chosen_runs(rows, "etth1", 96)
    assert chosen.model.tolist() == ["a", "a", "naive"]
    assert set(chosen[chosen.model == "a"].learning_rate) == {0.01}


@pytest.fixture
def simulated(tmp_path, monkeypatch):
    """Runs of DLinear, one better, one worse, one alike and one with a horizon missing."""
    random = np.random.default_rng(0)
    rows = []
    for horizon in report.HORIZONS:
        for dataset, forecasts in (("etth1", 12), ("etth2", 6)):
            chunks = forecasts * horizon // report.CHUNK
            base = random.uniform(0.4, 0.6, chunks)
            shares = {"dlinear": 1, "nlinear": 0.9, "rlinear": 1.2, "fits": 1, "cyclenet": 0.5}
            for model, share in shares.items():
                if model == "cyclenet" and horizon == 720:
                    continue
                for seed, rate in ((0, 0.001), (0, 0.01), (1, 0.01)):
                    errors = share * base + random.normal(0, 0.005, chunks)
                    row = (model, dataset, horizon, seed, rate, errors.mean(), 1 - rate, 3)
                    rows.append((*row, " ".join(f"{x:.4g}" for x in errors)))
    columns = ["model", "dataset", "horizon", "seed", "learning_rate", "mse", "validation_mse"]
    path = tmp_path / "fair.csv"
    table = pd.DataFrame(rows, columns=[*columns, "epochs", "squared_errors"])
    table.to_csv(path, index=False)
    monkeypatch.setattr(report, "PATH", path)


def test_architectures_with_all_horizons_are_shown_and_what_is_established_is_marked(simulated):
    table = report.horizons("etth1").set_index("architecture")
    assert table.index[0] == "NLinear"
    assert table.index[-1] == "RLinear"
    assert "CycleNet" not in table.index
    better, worse = table.loc["NLinear", "96 steps"], table.loc["RLinear", "96 steps"]
    assert float(better.split("**")[1].split()[0]) == pytest.approx(-10, abs=0.5)
    assert float(worse.split("**")[1].split()[0]) == pytest.approx(20, abs=0.5)
    assert "**" not in table.loc["FITS", "96 steps"]
    assert "%" not in table.loc["DLinear", "96 steps"]
    assert report.horizons("weather").empty


def test_p_values_are_adjusted_for_the_architectures_that_are_shown(simulated):
    cells = report.differences_by_horizon(report.PATH, "etth1")
    runs = report.chosen_runs(pd.read_csv(report.PATH), "etth1", 96)
    errors = report.errors_by_model(runs[runs.model != "cyclenet"])  # it lacks a horizon
    for model, found in report.differences_from(errors, "dlinear", 96).items():
        assert cells[model][0][-1] == pytest.approx(found[-1], nan_ok=True)


def test_differences_are_counted_by_what_is_known_of_them(simulated):
    table = report.established().set_index("architecture")
    # Six forecasts one after another, the test period of etth2, are too few for a test.
    assert table.loc["NLinear"].tolist()[:4] == [4, 0, 0, 4]
    assert table.loc["RLinear"].tolist()[:4] == [0, 0, 4, 4]
    assert table.loc["FITS"].tolist()[:4] == [0, 4, 0, 4]
    assert table.loc["NLinear", "mean difference"] == "-10.0 %"


def test_runs_that_are_left_out_are_counted_with_their_hours(tmp_path, monkeypatch):
    columns = ["model", "dataset", "horizon", "seed", "learning_rate", "seconds", "backend"]
    rows = [
        ("dlinear", "etth1", 96, 0, 0.001, 30.0, "jax"),
        ("dlinear", "etth1", 96, 0, 0.01, 50.0, "jax"),
        ("dlinear", "etth1", 96, 1, 0.01, 2.0, "jax (NVIDIA H100)"),  # not the time of a core
        (
            "patchtst",
            "etth2",
            720,
            1,
            0.01,
            9.0,
            "jax",
        ),  # no run on ETTh1: not a measure of seconds
        ("last_value", "etth1", 96, 0, 0.0, 0.0, "jax"),
    ]
    path = tmp_path / "fair.csv"
    pd.DataFrame(rows, columns=columns).to_csv(path, index=False)
    monkeypatch.setattr(report, "PATH", path)
    monkeypatch.setattr(
        report.zoo, "names", lambda: ["last_value", "dlinear", "nlinear", "rlinear"]
    )
    table = report.left_out().set_index("data set")
    assert table["runs"].to_dict() == {**dict.fromkeys(report.DATASETS, 0), "etth1": 3, "all": 3}
    # Three models, four horizons, two rates and four more seeds: 72 runs of 40 s.
    assert table["left out"].etth1 == 69
    assert table["left out"].etth2 == 72
    assert table["hours, one core"].ettm1 == int(72 * 40 * 4 / 3600)
    assert table["hours, two cores"].ettm1 == int(72 * 40 * 4 / 7200)
