"""The energy score and the variogram score, compared with scoringrules and with closed forms."""

import numpy as np
import pandas as pd
import pytest
import scipy.special

from kerastrans.evaluation.scores.path_scores import energy_score, score_paths, variogram_score


def example():
    rng = np.random.default_rng(0)
    return rng.normal(size=(20, 5)).round(3), rng.normal(size=5).round(3)


def test_scores_equal_those_of_scoringrules():
    """Recorded from scoringrules 0.10.0: `es_ensemble` and `vs_ensemble`, "nrg" and "fair"."""
    paths, truth = example()
    assert energy_score(paths, truth) == pytest.approx(1.2022236477561852, rel=1e-12)
    assert energy_score(paths, truth, "fair") == pytest.approx(1.1285965653267942, rel=1e-12)
    assert variogram_score(paths, truth) == pytest.approx(2.934990093362405, rel=1e-12)
    found = variogram_score(paths, truth, estimator="fair")
    assert found == pytest.approx(2.801952344956777, rel=1e-12)


def test_the_energy_score_of_one_value_is_the_crps_of_a_normal_distribution():
    draws = scipy.special.ndtri((np.arange(4000) + 0.5) / 4000)[:, None]
    z = 0.7
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    crps = z * (2 * scipy.special.ndtr(z) - 1) + 2 * density - 1 / np.sqrt(np.pi)
    assert energy_score(draws, [z]) == pytest.approx(crps, abs=1e-3)


def test_fair_scores_do_not_depend_on_the_number_of_paths():
    rng = np.random.default_rng(1)
    few, many = (
        np.mean([energy_score(rng.normal(size=(n, 3)), np.ones(3), "fair") for _ in range(800)])
        for n in (3, 30)
    )
    assert few == pytest.approx(many, rel=0.05)


def test_the_right_dependence_scores_best():
    rng = np.random.default_rng(2)
    covariance = 0.9 + 0.1 * np.eye(4)
    right, independent = [], []
    for _ in range(200):
        truth = rng.multivariate_normal(np.zeros(4), covariance)
        paths = rng.multivariate_normal(np.zeros(4), covariance, 50)
        shuffled = rng.permuted(paths, axis=0)
        right.append((energy_score(paths, truth), variogram_score(paths, truth)))
        independent.append((energy_score(shuffled, truth), variogram_score(shuffled, truth)))
    assert (np.mean(right, axis=0) < np.mean(independent, axis=0)).all()


def frames():
    times = pd.date_range("2024-01-01", periods=3)
    index = pd.MultiIndex.from_product(
        [["a", "b"], range(4), times], names=["unique_id", "path", "ds"]
    )
    rng = np.random.default_rng(3)
    paths = pd.DataFrame({"m": rng.normal(size=24)}, index).reset_index()
    truth = pd.DataFrame({"a": [0.0, 1.0, np.nan], "b": [2.0, 0.0, 1.0]}, times)
    return paths, truth


@pytest.mark.parametrize(("by", "count"), [("unique_id", 2), ("ds", 3), (None, 1)])
def test_frames_are_scored_by_series_by_step_or_at_once(by, count):
    paths, truth = frames()
    table = score_paths(paths.sample(frac=1, random_state=0), truth, by=by)
    assert len(table) == count
    if by == "unique_id":
        values = paths[paths["unique_id"] == "a"]["m"].to_numpy().reshape(4, 3)[:, :2]
        assert table.loc["a", "energy"] == pytest.approx(energy_score(values, [0, 1]))
        assert table.loc["a", "variogram"] == pytest.approx(variogram_score(values, [0, 1]))


def test_invalid_arguments():
    paths, truth = frames()
    with pytest.raises(ValueError, match=r"paths must be \(num_paths, size\).*\(2, 2\) and \(3,\)"):
        energy_score(np.ones((2, 2)), np.ones(3))
    with pytest.raises(ValueError, match=r"fair.*at least two paths"):
        variogram_score(np.ones((1, 2)), np.ones(2), estimator="fair")
    with pytest.raises(ValueError, match="no step of the paths has an outcome"):
        score_paths(paths, truth.shift(freq="9D"))
    with pytest.raises(ValueError, match="by"):
        score_paths(paths, truth, by="step")
    with pytest.raises(ValueError, match="path 0 of 'a' has two values or outcomes at 2024-01-01"):
        score_paths(pd.concat([paths, paths[:1]]), truth)
    with pytest.raises(ValueError, match="not all paths have a value of 'a' at 2024-01-02"):
        score_paths(paths.drop(index=1), truth)
