"""The training of kerastrans-zero 2: series, pool, schedule, and validation before the tests."""

from argparse import Namespace

import keras
import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from benchmarks.accuracy import zero_validation
from benchmarks.accuracy.task_list import Task
from kerastrans.models.pretrained.zero.network import build_network
from tests.conftest import to_numpy
from tools.presets.zero import CONFIG
from tools.presets.zero2 import families, pool, train
from tools.presets.zero2.families import FAMILIES, NEW, draw_series
from tools.presets.zero2.schedule import WarmUpStayFall
from tools.presets.zero2.strata import draw_strata


def strata(count, length, seed=0):
    return draw_strata(np.random.default_rng(seed), np.full(count, length))


@pytest.mark.parametrize("name", NEW)
@pytest.mark.parametrize("length", [12, 300])
def test_series_of_a_family_are_finite_and_differ(name, length):
    series = NEW[name](np.random.default_rng(0), strata(27, length), length)
    assert series.shape == (27, length)
    assert np.isfinite(series).all()
    assert len(np.unique(series.round(6), axis=0)) >= 20


def test_each_combination_of_strata_is_as_frequent():
    drawn = strata(54, 100)
    levels = [np.digitize(x[:, 0], (0.15, 1)) for x in (drawn.season, drawn.trend)]
    counts = np.histogram2d(*levels, bins=3)[0]
    np.testing.assert_array_equal(counts, 6)


def test_families_have_equal_shares(monkeypatch):
    seen = []
    for name in FAMILIES:
        fake = lambda rng, rows, length, name=name: (  # noqa: E731
            seen.append((name, len(rows))) or np.zeros((len(rows), length))
        )
        monkeypatch.setitem(FAMILIES, name, fake)
    count = 2 * len(FAMILIES)
    draw_series(count, 5, np.random.default_rng(0), np.full(count, 5))
    assert sorted(seen) == sorted((name, 2) for name in FAMILIES)


def test_noise_depends_on_the_phase(monkeypatch):
    monkeypatch.setattr(families, "periods", lambda rng, count, spans: np.full(count, 12))
    series = NEW["phase_noise"](np.random.default_rng(1), strata(27, 480), 4800)
    sizes = np.abs(series[:, 12:] - series[:, :-12]).reshape(27, -1, 12).mean(axis=1)
    assert np.median(sizes.max(axis=1) / sizes.min(axis=1)) > 1.5


def test_a_piece_of_the_pool_is_drawn_again_from_its_seed(tmp_path):
    first, again = (pool.draw_piece(tmp_path / name, "families", 3, 1, rounds=1) for name in "ab")
    other = pool.draw_piece(tmp_path / "a", "families", 3, 2, rounds=1)
    for length in pool.LENGTHS:
        assert first[length].read_bytes() == again[length].read_bytes()
        assert first[length].name != other[length].name
    batches = list(pool.read_batches([first], 8, np.random.default_rng(0)))
    assert len(batches) > 10
    for length, (values, observed, steps), targets in batches:
        assert values.shape == observed.shape == (8, length)
        assert targets.shape == (*steps.shape, 2)
        assert (values[observed == 0] == 0).all()
        assert np.isfinite(values).all()


def test_the_rate_rises_stays_and_falls():
    rate = WarmUpStayFall(2.0, 100)
    found = [float(rate(step)) for step in (0, 2.5, 5, 40, 65, 82.5, 100)]
    np.testing.assert_allclose(found, [0, 1, 2, 2, 2, 1.01, 0.02], atol=1e-5)


@pytest.mark.parametrize("windows", [1, 3])
def test_validation_reads_nothing_of_the_test(monkeypatch, windows):
    values = np.arange(60.0) ** 1.1
    frame = pd.DataFrame({"unique_id": "a", "ds": range(60), "y": values})
    monkeypatch.setattr(Task, "load", lambda self: frame)
    found = zero_validation.windows_of(Task("x", "x", 4, windows, 1, "x"))
    newest = max(future[-1] for _, future, _ in found)
    assert newest == values[60 - 4 * windows - 1]
    for past, future, times in found:
        np.testing.assert_array_equal(np.append(past, future), values[: len(past) + 4])
        assert len(times) == len(past) + 4


def test_scores_of_known_quantiles():
    past, future = np.array([0.0, 2.0, 0.0, 2.0]), np.array([1.0, 3.0])
    windows = [zero_validation.Window(past, future, None)]
    levels = (*zero_validation.LEVELS, *zero_validation.OUTER)
    quantiles = np.broadcast_to(1 + norm.ppf(levels), (1, 2, len(levels)))
    found = zero_validation.scores(quantiles, levels, windows, season=1)
    assert found["mase"] == pytest.approx((0 + 2) / 2 / 2)  # in units of the naive error, 2
    assert found["coverage-80"] == found["coverage-95"] == 50
    assert found["width-80"] == pytest.approx(2 * 1.2816 / 2, abs=1e-3)


def test_sets_held_back_are_not_among_the_others():
    assert len(zero_validation.SETS) >= 12
    assert len(zero_validation.HELD) == 4
    assert not set(zero_validation.SETS) & set(zero_validation.HELD)


@pytest.mark.skipif(keras.backend.backend() != "jax", reason="JAX compiles the training")
def test_a_training_goes_on_where_it_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(train, "draw_piece", lambda *x: pool.draw_piece(*x, rounds=1))
    options = Namespace(windows=32, rate=1e-3, seed=0, pieces=1, source="families", pool=tmp_path)
    options.batch = 16

    def train_for(minutes, state):
        options.minutes, options.state = minutes, tmp_path / state
        keras.utils.set_random_seed(0)
        training = train.Training(build_network({**CONFIG, "width": 8, "hidden": 8}), options)
        training.run()
        return training

    whole = train_for(5, "whole")
    assert (whole.done, whole.count) == (32, 2)
    assert train_for(0, "parts").done == 16  # a run without time trains one batch
    resumed = train_for(0, "parts")
    assert resumed.done == 32
    for one, other in zip(whole.variables, resumed.variables, strict=True):
        np.testing.assert_allclose(to_numpy(one), to_numpy(other), rtol=1e-4, atol=1e-6)
    for one, other in zip(whole.sums, resumed.sums, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)
    assert len((tmp_path / "parts" / "log.csv").read_text().splitlines()) == 3
