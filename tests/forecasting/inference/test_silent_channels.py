import numpy as np
import pandas as pd
import pytest

import kerastrans


def test_a_channel_without_a_value_has_no_forecast_and_a_warning():
    times = pd.date_range("2024-01-01", periods=60)
    values = 10 + np.random.default_rng(0).normal(size=(60, 2))
    wide = pd.DataFrame(values, times, ["a", "b"])
    forecaster = kerastrans.Forecaster("nlinear", 14, 3, bounds=(0, None))
    forecaster.fit(wide, epochs=1, verbose=0)
    wanted = forecaster.predict(wide).set_index(["unique_id", "ds"])
    wide.loc[times[-14:], "a"] = np.nan
    with pytest.warns(UserWarning, match="1 channels have no value in their last 14 steps.*'a'"):
        rows = forecaster.predict(wide).set_index(["unique_id", "ds"])
    assert rows.loc["a"].isna().all(axis=None)
    pd.testing.assert_frame_equal(rows.loc["b"], wanted.loc["b"])
    arrays = forecaster.forecast_histories({"history": wide.to_numpy()[None, -14:]})
    assert np.isnan(arrays["forecast"][0, :, 0]).all()
    assert np.isfinite(arrays["forecast"][0, :, 1]).all()
