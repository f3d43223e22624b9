"""The benchmark that the published figures are compared with: its protocol, on real data."""

import numpy as np
import pytest

from benchmarks.accuracy import long_horizon
from benchmarks.accuracy import long_horizon_report as report
from kerastrans import zoo
from kerastrans.data import window_dataset


@pytest.mark.data
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


@pytest.mark.data
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
    assert long_horizon.training_rows("etth1").shape == (8640, 7)


def test_absolute_errors_of_later_steps_weigh_less():
    targets = np.zeros((2, 3, 1), "float32")
    losses = [
        float(long_horizon.falling_mae(targets, np.eye(3, dtype="float32")[None, :, [i]] - targets))
        for i in range(3)
    ]
    # arctan(1) = pi / 4; arctan(2) + arctan(3) = 3 pi / 4, a known identity
    assert losses[0] == pytest.approx(1 / 3)
    assert losses[1] + losses[2] == pytest.approx((2 - np.pi / 4) / 3)
    assert losses[0] > losses[1] > losses[2] > 0


def test_absolute_errors_are_divided_by_the_square_root_of_the_step():
    targets = np.zeros((2, 4, 1), "float32")
    losses = [
        float(long_horizon.decaying_mae(targets, np.eye(4, dtype="float32")[None, :, [i]]))
        for i in range(4)
    ]
    np.testing.assert_allclose(losses, [1 / 4, 0.5**0.5 / 4, (1 / 3) ** 0.5 / 4, 1 / 8], rtol=1e-6)


def test_one_cycle_rises_and_falls():
    rates = [float(long_horizon.OneCycle(0.5, 100, 0.2)(step)) for step in range(100)]
    assert rates[0] == pytest.approx(0.02)
    assert np.argmax(rates) == 19
    assert rates[19] == pytest.approx(0.5)
    assert rates[59] == pytest.approx(0.25, rel=1e-4)  # halfway down
    assert rates[99] == pytest.approx(2e-6)
    assert (np.diff(rates[:20]) > 0).all()
    assert (np.diff(rates[19:]) < 0).all()


@pytest.mark.parametrize(
    ("more", "rates"),
    [
        ({"schedule": "decay", "decay": 0.5, "first_rate": 0.04}, [0.08, 2, 2, 2, 1]),
        ({"schedule": "halve"}, [2, 2, 1, 0.5, 0.25]),
    ],
)
def test_schedules_by_epoch(more, rates):
    settings = {"learning_rate": 2, **more}
    assert [long_horizon.rate_of(epoch, settings) for epoch in range(5)] == rates


@pytest.mark.parametrize("schedule", ["decay", "one_cycle"])
def test_training_follows_the_settings(schedule):
    settings = {"learning_rate": 0.1, "epochs": 2, "patience": 2, "schedule": schedule}
    settings |= {"decay": 0.5, "first_rate": 0.04, "rise": 0.3, "beta_1": 0.95}
    settings["loss"] = "falling_mae"
    data = window_dataset(np.arange(24.0)[:, None], 4, 2, batch_size=8)
    model = zoo.build("linear_regression", 4, 2, 1)
    assert len(long_horizon.fit(model, data, data, settings)) == 2
    assert model.optimizer.beta_1 == 0.95
    assert model.loss is long_horizon.falling_mae
    steps = 2 * len(data)
    cycle = float(long_horizon.OneCycle(0.1, steps, 0.3)(steps))
    last = {"decay": 0.1, "one_cycle": cycle}[schedule]
    assert float(model.optimizer.learning_rate) == pytest.approx(last)


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


def test_report_joins_horizons_that_have_contexts_of_their_own():
    import pandas as pd

    key = {"model": "m", "dataset": "d", "seed": 0, "mae": 0.4}
    cells = [(96, 512, 0.2), (192, 336, 0.4)]
    ours = pd.DataFrame([{**key, "horizon": h, "context_length": c, "mse": x} for h, c, x in cells])
    published = ours.assign(mse=0.25, source="paper").drop(columns="seed")
    means = report.summarise(report.compare(ours, published), ours)
    assert means["context_length"].tolist() == ["336 or 512"]
    assert means["ratio"].tolist() == [pytest.approx(1.2)]
    both = pd.concat([ours, ours[:1].assign(context_length=336)])  # one horizon by two contexts
    means = report.summarise(report.compare(both, published), both)
    assert means["context_length"].tolist() == ["512", "336"]


def test_report_counts_architectures_near_their_published_means_and_says_what_is_missing():
    import pandas as pd

    def rows(model, errors, **more):
        key = {"model": model, "dataset": "etth1", "context_length": 96, "mae": 0.4, **more}
        return [{**key, "horizon": h, "mse": x} for h, x in errors.items()]

    all_horizons = dict.fromkeys((96, 192, 336, 720), 1.0)
    ours = pd.DataFrame(
        rows("dlinear", {**all_horizons, 96: 1.07}, seed=0)
        + rows("nlinear", {**all_horizons, 96: 1.09}, seed=0)
        + rows("softs", {96: 1.3}, seed=0)
        + rows("last_value", all_horizons, seed=0)
    )
    known = ("dlinear", "nlinear", "softs", "nbeats", "last_value")
    published = pd.concat(
        pd.DataFrame(rows(model, all_horizons, source="paper")) for model in known
    )
    table = report.standing(ours, published).set_index("name")
    groups = table["group"].to_dict()
    assert groups["dlinear"] == "within 2 %"
    assert table.loc["dlinear", "ratio"] == pytest.approx(4.07 / 4)
    assert groups["nlinear"] == "not within 2 %"
    assert groups["softs"] == "not all horizons"
    assert groups["nbeats"] == "not run"
    assert groups["frets"] == "no published figures"
    assert "last_value" not in groups
    missing = report.missing(ours, published).set_index("architecture")["missing"]
    assert missing["SOFTS"] == "runs at 192, 336, 720 steps"
    assert missing["N-BEATS"] == "settings of a script; runs at 96, 192, 336, 720 steps"
    assert missing["FreTS"] == "settings of a script; published figures"
    assert not {"DLinear", "NLinear"} & set(missing.index)


def test_report_compares_with_a_published_mean_if_all_horizons_were_run():
    import pandas as pd

    key = {"model": "softs", "dataset": "etth1", "context_length": 96, "mae": 0.4}
    published = pd.DataFrame([{**key, "horizon": report.MEAN, "mse": 0.5, "source": "picture"}])
    ours = pd.DataFrame([{**key, "seed": 0, "horizon": h, "mse": 0.6} for h in (96, 192, 336, 720)])
    table = report.compare(ours, published)
    assert table["source"].tolist() == ["picture"] * 4
    assert report.summarise(table, ours)["ratio"].tolist() == [pytest.approx(1.2)]
    found = report.standing(ours, published).set_index("name").loc["softs"]
    assert (found["group"], found["ratio"]) == ("not within 2 %", pytest.approx(1.2))
    assert report.summarise(table[:3], ours[:3])["ratio"].isna().all()
    found = report.standing(ours[:3], published).set_index("name").loc["softs"]
    assert found["group"] == "not all horizons"
    assert pd.isna(found["ratio"])
