import numpy as np
import pandas as pd
import pytest

from kerastrans.data import read_table
from tests.data.tables.corpus import cases

CASES = cases()


def test_the_corpus_has_both_readings_and_refusals():
    assert len(CASES) >= 150
    assert sum(case.refusal is not None for case in CASES) >= 30


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_table_is_read_as_it_is_meant_or_refused(case, tmp_path, recwarn):
    path = case.write(tmp_path)
    if case.refusal is not None:
        with pytest.raises(ValueError, match=case.refusal) as error:
            read_table(path, **case.options)
        assert str(path) in str(error.value) or "timezone" in case.options
        assert len(str(error.value).splitlines()) == 1
        return
    frame = read_table(path, **case.options)
    if "unique_id" in frame.columns:
        assert frame.columns.tolist() == ["unique_id", "ds", "y"]
        times, values = pd.DatetimeIndex(frame["ds"]), frame["y"]
    else:
        times, values = frame.index, frame.iloc[:, 0]
    assert str(times.tz) == str(case.times.tz)
    assert times.tolist() == case.times.tolist()
    np.testing.assert_allclose(values.to_numpy("float64"), case.values, rtol=1e-12)
    assert [str(warning.message) for warning in recwarn.list] == []
