"""`check_forecaster` finds the fault in forecasters that have one more than ours."""

import contextlib
import random
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from kerastrans import Forecaster, heads
from kerastrans.testing import check_forecaster
from kerastrans.testing.forecasters import CHECKS


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    parts = [
        pd.DataFrame(
            {
                "unique_id": name,
                "ds": pd.date_range("2024-01-01", periods=length, freq="D"),
                "y": level * (2 + np.sin(np.arange(length)) + 0.1 * rng.normal(size=length)),
            }
        )
        for name, length, level in (("a", 60, 1.0), ("b", 40, 50.0))
    ]
    return pd.concat(parts, ignore_index=True)


def moved(rows, offset):
    """The rows with another forecast."""
    numbers = rows.columns.difference(["unique_id", "ds", "cutoff", "y"])
    rows[numbers] += offset
    return rows


class KnowsNeighbours(Forecaster):
    def predict(self, frame, *args, **kwargs):
        return moved(super().predict(frame, *args, **kwargs), frame["unique_id"].nunique())


class KnowsTheFirstRow(Forecaster):
    def predict(self, frame, *args, **kwargs):
        return moved(super().predict(frame, *args, **kwargs), frame["y"].iloc[0])


class KnowsTheLastRow(Forecaster):
    def backtest(self, frame, *args, **kwargs):
        return moved(super().backtest(frame, *args, **kwargs), frame["y"].iloc[-1])


class UsesAGlobalGenerator(Forecaster):
    def fit(self, *args, **kwargs):
        random.random()
        return super().fit(*args, **kwargs)


class IsNotSeeded(Forecaster):
    def fit(self, *args, **kwargs):
        super().fit(*args, **kwargs)
        noise = np.random.default_rng().normal
        self.model.set_weights([x + noise(size=x.shape) for x in self.model.get_weights()])
        return self


class ForgetsItsWeights(Forecaster):
    def save(self, path, **kwargs):
        weights = self.model.get_weights()
        self.model.set_weights([0 * x for x in weights])
        super().save(path, **kwargs)
        self.model.set_weights(weights)


class WritesIntoTheFrame(Forecaster):
    def predict(self, frame, *args, **kwargs):
        frame.loc[frame.index[0], "y"] += 1e-9
        return super().predict(frame, *args, **kwargs)


class ClonesItsModel(Forecaster):
    def clone(self):
        clone = super().clone()
        clone.fitted = self.fitted
        return clone


class RoundsToFloat32(Forecaster):
    def predict(self, frame, *args, **kwargs):
        return super().predict(frame.astype({"y": "float32"}), *args, **kwargs)


class AddsWhatIsSmall(Forecaster):
    def predict(self, frame, *args, **kwargs):
        return moved(super().predict(frame, *args, **kwargs), 1e-7)


class DividesByTheRange(Forecaster):
    def predict(self, frame, *args, **kwargs):
        with np.errstate(invalid="ignore"):
            return moved(super().predict(frame, *args, **kwargs), 0 / np.ptp(frame["y"]))


class DividesByTheMean(Forecaster):
    def fit(self, frame, *args, **kwargs):
        with np.errstate(invalid="ignore"):
            self.offset = 0 / frame["y"].mean()
        return super().fit(frame, *args, **kwargs)

    def predict(self, *args, **kwargs):
        return moved(super().predict(*args, **kwargs), self.offset)


class KnowsTheForm(Forecaster):
    def predict(self, frame, *args, **kwargs):
        return moved(super().predict(frame, *args, **kwargs), 1.0 * ("unique_id" in frame))


class ReplacesItsArguments(Forecaster):
    def fit(self, *args, **kwargs):
        super().fit(*args, **kwargs)
        self.config = self.fitted.config
        return self


class LoadsAnotherSeed(Forecaster):
    @classmethod
    def load(cls, path):
        loaded = super().load(path)
        loaded.config = replace(loaded.config, seed=1)
        return loaded


class ForgetsItsSpread(Forecaster):
    def save(self, path, **kwargs):
        head = heads.of(self.model)
        spread = float(head.spread)
        head.spread.assign(1.0)
        super().save(path, **kwargs)
        head.spread.assign(spread)


class ResumesEveryCheckpoint(Forecaster):
    def fit(self, *args, **kwargs):
        with contextlib.suppress(ValueError):
            super().fit(*args, **kwargs)
        return self


FAULTS = {
    KnowsNeighbours: ("neighbours", "the forecast of a single series differs by"),
    KnowsTheFirstRow: ("order of rows", "the forecast of shuffled rows differs by"),
    KnowsTheLastRow: ("later rows", "a forecast from before the change differs by"),
    UsesAGlobalGenerator: ("generators", "fit reseeds or uses a global generator"),
    IsNotSeeded: ("seed", "the forecast of a second training differs by"),
    ForgetsItsWeights: ("save and load", "the loaded forecast differs by"),
    WritesIntoTheFrame: ("inputs", "a given frame has changed"),
    ClonesItsModel: ("clone", "a clone forecasts before it is trained"),
    RoundsToFloat32: (
        "equivariance",
        "the forecast of data times 1 plus 1e+08 standard deviations",
    ),
    AddsWhatIsSmall: (
        "equivariance",
        "the forecast of data times 1e-08 plus 0 standard deviations",
    ),
    DividesByTheRange: ("plain values", "100% of the forecast of constant series is not finite"),
    DividesByTheMean: ("training on zeros", "100% of the forecast after training on zeros is not"),
    KnowsTheForm: ("other form", "the forecast of the other form of frame differs by"),
    ReplacesItsArguments: ("arguments", "after fit, get_config has another context_length"),
    LoadsAnotherSeed: ("refit after load", "the loaded and refitted backtest differs by"),
    ForgetsItsSpread: ("spread", "the forecast of twice the spread after loading differs by"),
    ResumesEveryCheckpoint: ("checkpoint", "a training that begins with other weights resumes"),
}


QUICK = (KnowsNeighbours, IsNotSeeded, ForgetsItsWeights)


@pytest.mark.parametrize(
    "kind",
    [pytest.param(x, marks=() if x in QUICK else pytest.mark.slow) for x in FAULTS],
    ids=lambda kind: kind.__name__,
)
def test_a_fault_is_found_by_the_check_that_looks_for_it(kind, frame):
    name, message = FAULTS[kind]
    others = set(CHECKS) - {"predict", name}
    if kind is WritesIntoTheFrame:  # by another check
        others.remove("clone")
    context_length = None if name == "arguments" else 14
    report = check_forecaster(
        kind("nlinear", context_length, 7), frame.copy(), skip=others, raise_failures=False
    )
    assert report[name].status == "failed"
    assert report[name].reason.startswith(message)


class KnowsNeighboursOfTheMiddle(Forecaster):
    def predict(self, frame, *args, **kwargs):
        rows = super().predict(frame, *args, **kwargs)
        rows.loc[rows["unique_id"] == "b", "nlinear"] += frame["unique_id"].nunique()
        return rows


class ExchangesIntervals(Forecaster):
    def predict(self, *args, **kwargs):
        rows = super().predict(*args, **kwargs)
        wide, narrow = ([f"nlinear-{x}-{level}" for x in ("lo", "hi")] for level in (95, 80))
        return rows.rename(columns=dict(zip(wide + narrow, narrow + wide, strict=True)))


@pytest.mark.slow
def test_neighbours_of_any_series_and_intervals_that_are_not_nested_are_found(frame):
    three = pd.concat([frame, frame[frame["unique_id"] == "a"].assign(unique_id="c")])
    kind = KnowsNeighboursOfTheMiddle("nlinear", 14, 7)
    report = check_forecaster(kind, three, skip=set(CHECKS) - {"neighbours"}, raise_failures=False)
    assert report["neighbours"].status == "failed"
    kind = ExchangesIntervals("nlinear", 14, 7, head="normal")
    with pytest.raises(
        AssertionError, match="forecaster fails 1 checks:\npredict: nlinear-lo-95 is"
    ):
        check_forecaster(kind, frame, skip=set(CHECKS) - {"predict"})


@pytest.mark.slow
def test_the_forecaster_that_is_given_stays_untrained(frame):
    forecaster = Forecaster("nlinear", 14, 7)
    report = check_forecaster(forecaster, frame, skip=set(CHECKS) - {"predict"})
    assert report["predict"].status == "passed"
    assert str(report).startswith("forecaster: 1 passed, 0 failed")
    with pytest.raises(RuntimeError, match="not trained"):
        forecaster.predict(frame)


def test_what_is_no_forecaster_is_refused(frame):
    with pytest.raises(TypeError, match=r"must be a kerastrans\.Forecaster, got str"):
        check_forecaster("nlinear", frame)
    with pytest.raises(ValueError, match=r"skip must name checks of .*, got \['leak'\]"):
        check_forecaster(Forecaster("nlinear", 14, 7), frame, skip=["leak"])
