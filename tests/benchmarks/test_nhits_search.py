"""The choice of N-HiTS's settings: the space, the windows, and which trial counts."""

import numpy as np
import pytest

from benchmarks.accuracy import long_horizon, nhits_search
from benchmarks.common import read_rows


def test_settings_are_ten_different_ones_that_a_seed_repeats():
    settings = nhits_search.draw_settings(5)
    assert len({(pools, rates) for pools, rates, _ in settings}) == 10
    assert settings == nhits_search.draw_settings(5) != nhits_search.draw_settings(6)


@pytest.mark.data
def test_windows_cover_the_rows_of_their_part():
    train, validation, test = nhits_search.load_parts("illness", 24)
    assert train.shape == (676 - 120 - 24 + 1, 7, 144)
    assert (len(validation), len(test)) == (97 - 24 + 1, 193 - 24 + 1)
    np.testing.assert_array_equal(validation[0][:, :120], train[-1][:, 24:])


def test_errors_are_means_over_windows_steps_and_channels():
    windows = np.random.default_rng(0).normal(size=(300, 2, 7))  # more than one batch

    class LastValue:
        def predict_on_batch(self, history):
            return np.repeat(history[:, -1:], 3, axis=1)

    expected = windows[:, :, 4:] - windows[:, :, 3:4]
    found = nhits_search.errors(LastValue(), windows, 3)
    assert found == pytest.approx((np.square(expected).mean(), np.abs(expected).mean()))


def test_batches_have_one_channel_and_the_channels_take_turns(monkeypatch):
    monkeypatch.setattr(nhits_search, "STEPS", 6)
    windows = np.stack([np.full((9, 5), channel) for channel in range(3)], axis=1)
    channels = []

    class Recorder:
        def train_on_batch(self, history, future):
            assert history.shape == (256, 3, 1)
            assert future.shape == (256, 2, 1)
            channels.append(int(np.unique(np.concatenate([history, future], axis=1)).item()))

    nhits_search.train(Recorder(), windows, 2, np.random.default_rng(0))
    assert sorted(channels[:3]) == sorted(channels[3:]) == [0, 1, 2]


def test_the_trial_with_the_least_validation_error_counts_and_none_runs_twice(
    monkeypatch, tmp_path
):
    trials, output = tmp_path / "trials.csv", tmp_path / "long_horizon.csv"
    calls = []

    def run(parts, horizon, pool_sizes, downsampling, seed):
        calls.append((pool_sizes, downsampling, seed))
        if len(calls) == 5:
            raise KeyboardInterrupt
        row = dict.fromkeys(nhits_search.COLUMNS[len(nhits_search.KEY) :], 0)
        mae = abs(len(calls) - 8)  # least at the eighth call, which is the seventh trial
        return row | {"validation_mae": mae, "mse": len(calls), "mae": 10 - len(calls)}

    monkeypatch.setattr(nhits_search, "load_parts", lambda dataset, horizon: None)
    monkeypatch.setattr(nhits_search, "run", run)
    with pytest.raises(KeyboardInterrupt):
        nhits_search.search("illness", 24, 3, trials, output)
    assert not output.exists()
    nhits_search.search("illness", 24, 3, trials, output)
    nhits_search.search("illness", 24, 3, trials, output)
    assert len(calls) == 11
    assert len(read_rows(trials)) == 10
    [row] = read_rows(output)
    assert (row["model"], row["context_length"], row["mse"], row["mae"]) == (
        "nhits",
        "120",
        "8",
        "2",
    )
    assert long_horizon.done(output) == {("nhits", "illness", "24", "120", "3")}
