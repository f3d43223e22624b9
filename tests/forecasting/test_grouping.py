import numpy as np
import pandas as pd
import pytest

from kerastrans.forecasting.grouping import groups_of, residual_sizes, sizes_of

NAMES = np.array(["a", "b", "c"], object)


def statics(values):
    return pd.DataFrame({"unique_id": ["a", "b"], "kind": values})


@pytest.mark.parametrize(
    ("values", "groups"),
    [
        (["x", "y"], ["x", "y", None]),
        ([1, 2], ["1", "2", None]),
        ([1.0, np.nan], ["1", None, None]),  # whole numbers beside a gap are the same groups
        ([1.5, 2.0], ["1.5", "2", None]),
        ([True, False], ["True", "False", None]),
        (pd.Categorical(["x", None]), ["x", None, None]),
    ],
)
def test_a_static_column_makes_groups_whatever_its_type(values, groups):
    assert groups_of("kind", NAMES, statics(values)).tolist() == groups


def test_no_groups_and_each_series_its_own():
    assert groups_of(None, NAMES).tolist() == [None] * 3
    assert groups_of("unique_id", NAMES).tolist() == ["a", "b", "c"]
    numbers = pd.DataFrame({"unique_id": [7, 8], "kind": ["x", "y"]})
    assert groups_of("kind", np.array(["8", "7"]), numbers).tolist() == ["y", "x"]


def test_series_of_other_groups_are_named():
    with pytest.warns(UserWarning, match=r"1 of 3 series have no intervals by 'unique_id', 'c'"):
        groups_of("unique_id", NAMES[[0, 1, 2, 2]], calibrated={"a": 1, "b": 1})


def test_a_column_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match=r"by='kind' needs static with the columns .* got \[\]"):
        groups_of("kind", NAMES)
    with pytest.raises(ValueError, match=r"by='zone' needs static .* got \['unique_id', 'kind'\]"):
        groups_of("zone", NAMES, statics(["x", "y"]))
    twice = pd.concat([statics(["x", "y"])] * 2)
    with pytest.raises(ValueError, match="one row a series, 'a' has several"):
        groups_of("kind", NAMES, twice)


def test_residuals_by_series_and_channel_and_none_of_them_zero():
    names = np.array(["a", "a", "b", "none"], object)
    residuals = np.array(
        [
            [[1.0, 0.0], [3.0, 0.0]],
            [[np.nan, 0.0], [5.0, 0.0]],
            [[0.0, 0.0]] * 2,
            [[np.nan] * 2] * 2,
        ]
    )
    sizes = residual_sizes(names, residuals)
    assert list(sizes) == ["a", "b"]
    np.testing.assert_allclose(sizes["a"], [3.0, 1.0])  # no residual at all: any unit will do
    np.testing.assert_allclose(sizes["b"], [1.5e-3, 1.0])
    with pytest.warns(UserWarning, match="1 of 2 series have no residuals, 'new' is the first"):
        found = sizes_of(np.array(["a", "new"], object), {"a": np.ones(2), "b": 3 * np.ones(2)})
    np.testing.assert_allclose(found, [[[1.0, 1.0]], [[2.0, 2.0]]])
    with pytest.raises(ValueError, match="no true value is known"):
        residual_sizes(names, np.full((4, 2, 2), np.nan))
