"""Forecasts of counts: every head of counts in a forecaster, and probabilities above thresholds."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from kerastrans import Forecaster
from tests.heads.conftest import COUNTS

SIZE = 14, 7


def demand(num_series=3, length=80, seed=0, positive=False):
    rng = np.random.default_rng(seed)
    times = pd.date_range("2024-01-01", periods=length, freq="D")
    rows = []
    for i in range(num_series):
        y = np.where(rng.random(length) < 0.4, rng.poisson(5, length), 0) + float(positive)
        rows.append(pd.DataFrame({"unique_id": f"s{i}", "ds": times, "y": y.astype(float)}))
    return pd.concat(rows, ignore_index=True)


def tier(i, j):
    """Marks of an architecture and a head: one head each, `make contract` has the others."""
    return [pytest.mark.slow, *([] if i == j else [pytest.mark.exhaustive])]


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("nlinear", COUNTS[1]),
        *(pytest.param("nlinear", head, marks=pytest.mark.slow) for head in COUNTS[2:]),
        *(
            pytest.param(name, head, marks=tier(i, j))
            for i, name in enumerate(("deepar", "decoder_transformer", "tide"))
            for j, head in enumerate(COUNTS[1:])
        ),
    ],
)
def test_forecasts_of_counts_are_not_negative_and_reload(name, head, tmp_path):
    frame = demand()
    options = {"units": 4} if name == "deepar" else {}
    forecaster = Forecaster(name, *SIZE, head=head, scaler=None, **options)
    forecaster.fit(frame, epochs=1)
    rows = forecaster.predict(frame, levels=[80], exceeds=[0, 3])
    values = rows.drop(columns=["unique_id", "ds"]).to_numpy()
    assert np.isfinite(values).all()
    assert (values >= 0).all()
    above = rows[[f"{name}-exceeds-0", f"{name}-exceeds-3"]].to_numpy()
    assert (above <= 1).all()
    assert (above[:, 0] >= above[:, 1]).all()
    # The quantile of a probability is not above a threshold that is exceeded with the rest.
    assert (rows[f"{name}-hi-80"][above[:, 1] < 0.099] <= 3).all()
    forecaster.save(tmp_path / "saved")
    again = Forecaster.load(tmp_path / "saved").predict(frame, levels=[80], exceeds=[0, 3])
    pd.testing.assert_frame_equal(again, rows, rtol=1e-5, atol=1e-5)


def test_exceedance_of_a_known_distribution():
    forecaster = Forecaster("nlinear", *SIZE, head="normal")
    frame = demand()
    forecaster.fit(frame, epochs=1)
    rows = forecaster.predict(frame, levels=[80], exceeds=2.5)
    spread = (rows["nlinear-hi-80"] - rows["nlinear-lo-80"]) / (2 * stats.norm.ppf(0.9))
    known = stats.norm.sf(2.5, rows["nlinear"], spread)
    np.testing.assert_allclose(rows["nlinear-exceeds-2.5"], known, atol=1e-5)


def test_exceedance_of_conformal_intervals_agrees_with_their_bounds():
    frame = demand(length=160)
    forecaster = Forecaster("last_value", *SIZE).fit(frame)
    with pytest.raises(ValueError, match="exceeds requires a distribution, got a point forecast"):
        forecaster.predict(frame, exceeds=3)
    with pytest.raises(ValueError, match="thresholds are finite numbers, got inf"):
        forecaster.predict(frame, exceeds=float("inf"))
    forecaster.calibrate(frame, windows=10, levels=[80])
    rows = forecaster.predict(frame)
    threshold = float(rows["last_value-hi-80"].iloc[0]) + 1e-9
    above = forecaster.predict(frame, exceeds=threshold).iloc[0, -1]
    assert above == pytest.approx(0.1, abs=1e-4)


def test_a_hurdle_requires_zeros():
    forecaster = Forecaster("nlinear", *SIZE, head="hurdle_negative_binomial", scaler=None)
    with pytest.raises(ValueError, match="requires series with zeros, got 0 zeros"):
        forecaster.fit(demand(positive=True), epochs=1)


@pytest.mark.parametrize(("head", "value"), [("poisson", 0.5), ("tweedie", -1.0)])
def test_values_that_are_not_counts_are_refused(head, value):
    frame = demand()
    frame.loc[3, "y"] = value
    forecaster = Forecaster("nlinear", *SIZE, head=head, scaler=None)
    with pytest.raises(ValueError, match=f"requires .*: 's0' has {value}"):
        forecaster.fit(frame, epochs=1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "head"),
    [
        ("nhits", "negative_binomial"),
        ("deepar", "negative_binomial"),
        ("deepar", "hurdle_negative_binomial"),
    ],
)
def test_the_mean_of_rare_bursts_is_not_a_multiple_of_theirs(model, head):
    random = np.random.default_rng(0)
    values = random.poisson(900, (6, 400)) * (random.random((6, 400)) < 0.1)
    dates = pd.date_range("2022-01-01", periods=400)
    rows = [pd.DataFrame({"unique_id": str(i), "ds": dates, "y": y}) for i, y in enumerate(values)]
    frame = pd.concat(rows, ignore_index=True)
    forecaster = Forecaster(model, prediction_length=7, head=head, scaler=None)
    with warnings.catch_warnings(action="ignore"):
        forecaster.fit(frame, epochs=6, verbose=0)
    assert 0.3 < forecaster.predict(frame)[model].mean() / values.mean() < 3
