"""Losses by their names: what goes with which scaler, and what a forecaster keeps of them."""

import numpy as np
import pandas as pd
import pytest

from kerastrans import Forecaster, heads, zoo
from kerastrans.data import WindowScaler
from tests.helpers.frames import long_frame

SIZES = {"context_length": 12, "prediction_length": 3, "head": "point"}
OF_SEVEN = WindowScaler("mase", 7)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "smape"}, "loss 'smape' and scaler='standard' cannot be combined: the loss is"),
        ({"loss": "mape", "scaler": OF_SEVEN}, "loss 'mape' and scaler='mase' cannot be combined"),
        ({"loss": heads.PointError("mape")}, "loss 'mape' and scaler='standard' cannot"),
        ({"head": heads.PointHead("smape")}, "loss 'smape' and scaler='standard' cannot"),
        ({"loss": "mase"}, "loss 'mase' and scaler='standard' cannot be combined: the loss is"),
        ({"loss": "mase", "scaler": None}, "loss 'mase' and scaler=None cannot be combined"),
        (
            {"loss": "smape", "head": "quantiles", "scaler": "mean_abs"},
            "loss 'smape' does not fit a QuantileHead",
        ),
        ({"loss": "smpae"}, "smpae"),
    ],
)
def test_a_loss_that_a_scaler_would_change_is_refused(options, message):
    with pytest.raises(ValueError, match=message) as error:
        Forecaster("nlinear", **SIZES | options)
    assert "\n" not in str(error.value)


def test_a_compiled_model_is_asked_for_its_loss():
    model = zoo.build("nlinear", 12, 3, 1)
    model.compile("adam", heads.PointError("mape"))
    with pytest.raises(ValueError, match="loss 'mape' and scaler='standard' cannot"):
        Forecaster(model, prediction_length=3)
    assert Forecaster(model, prediction_length=3, scaler=None).model is model


def expected(loss, season=7):
    """The loss of the forecasts of a window, by hand, in the units of the series."""

    def error(history, y, forecast):
        scale = {
            "smape": (np.abs(y) + np.abs(forecast)) / 2,
            "mape": np.abs(y),
            "mase": np.abs(history[season:] - history[:-season]).mean(),
        }[loss]
        return (np.abs(y - forecast) / scale).mean()

    return error


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loss", "scaler"),
    [
        ("smape", "mean_abs"),
        pytest.param("smape", None, marks=pytest.mark.slow),
        pytest.param("mape", "mean_abs", marks=pytest.mark.slow),
        ("mase", OF_SEVEN),
    ],
)
def test_the_loss_is_that_of_the_series_in_their_units(loss, scaler):
    """The model never learns: its held-out loss is that of its first forecasts."""
    frame = long_frame([60, 60]).assign(y=lambda x: 1000 + 50 * x["y"])
    forecaster = Forecaster("nlinear", **SIZES, loss=loss, scaler=scaler, optimizer="sgd")
    forecaster.fit(frame, epochs=1, validation_size=3, steps_per_epoch=1, verbose=0)
    rows = forecaster.backtest(frame, windows=1)
    errors = []
    for name, part in rows.groupby("unique_id"):
        history = frame.loc[frame["unique_id"] == name, "y"].to_numpy()[-15:-3]
        errors.append(expected(loss)(history, part["y"], part["nlinear"].to_numpy()))
    (found,) = forecaster.history.history["val_loss"]
    assert found == pytest.approx(np.mean(errors), rel=1e-3)


def test_a_loss_by_name_is_kept_by_a_clone_and_a_file(tmp_path):
    frame = long_frame([40, 30]).assign(y=lambda x: 500 + x["y"])
    forecaster = Forecaster("nlinear", **SIZES, loss="smape", scaler="mean_abs")
    assert forecaster.clone().config.loss == "smape"
    forecaster.fit(frame, epochs=1, verbose=0).save(tmp_path / "saved")
    loaded = Forecaster.load(tmp_path / "saved")
    assert loaded.config.loss == "smape"
    assert loaded.model.loss.error == "smape"
    pd.testing.assert_frame_equal(loaded.predict(frame), forecaster.predict(frame))
    assert np.isfinite(loaded.fit(frame, epochs=1, verbose=0).history.history["loss"]).all()


def test_zeros_that_mape_leaves_out_are_told():
    frame = long_frame([40]).assign(y=lambda x: np.where(x.index % 8, x["y"] + 50, 0.0))
    forecaster = Forecaster("nlinear", **SIZES, loss="mape", scaler="mean_abs")
    with pytest.warns(UserWarning, match="loss 'mape' leaves out 5 values that are 0"):
        forecaster.fit(frame, epochs=1, verbose=0)
