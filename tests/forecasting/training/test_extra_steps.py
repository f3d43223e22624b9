"""What was held out by default trains at last, and the forecast there stays as wide."""

import keras
import numpy as np
import pandas as pd
import pytest

import kerastrans
from kerastrans import Forecaster, heads
from kerastrans.data.window_index import training_cuts
from kerastrans.forecasting.inference.forecast import forecast_windows
from kerastrans.forecasting.inference.windows import windows_of
from kerastrans.forecasting.training import extra_steps
from kerastrans.forecasting.training.defaults import held_out_steps
from kerastrans.forecasting.training.loop import DivergedError
from kerastrans.forecasting.training.spread import mean_distance
from tests.helpers.weights import ZERO_1

SIZE = 12, 6
END = 36  # a tenth of the series, of whole forecasts


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    times = pd.date_range("2024-01-01", periods=400, freq="D")
    y = 50 + 5 * np.sin(np.arange(400) / 3) + rng.normal(size=400)
    return pd.DataFrame({"unique_id": "s", "ds": times, "y": y})


@pytest.fixture(autouse=True)
def few_epochs(monkeypatch):
    monkeypatch.setattr("kerastrans.forecasting.training.loop.MAX_EPOCHS", 3)


def weights_of(forecaster):
    return [np.array(value) for value in forecaster.model.get_weights()]


def are_equal(some, others):
    return all(np.array_equal(a, b) for a, b in zip(some, others, strict=True))


def changed(frame):
    """Other values where the default holds out."""
    return frame.assign(y=frame["y"].where(np.arange(len(frame)) < len(frame) - END, 50.0))


def number_of_last(forecaster, frame):
    panel = forecaster.reader.panel(frame)
    return panel.numbers(0, panel.cuts[0])


@pytest.mark.tensorflow
def test_the_training_step_is_traced_once(frame, monkeypatch):
    traced, train_step = [], keras.Model.train_step

    def counted(model, data):
        traced.append(model)
        return train_step(model, data)

    monkeypatch.setattr(keras.Model, "train_step", counted)
    forecaster = Forecaster("nlinear", *SIZE, head="point").fit(frame, verbose=0)
    assert traced == [forecaster.model]
    assert int(forecaster.model.optimizer.iterations) == 36 + 3


@pytest.mark.slow
def test_the_held_out_end_trains_at_last_and_all_rows_are_told(frame):
    assert held_out_steps([len(frame)], SIZE[1]) == END
    one = Forecaster("nlinear", *SIZE, head="point").fit(frame, verbose=0)
    other = one.clone().fit(changed(frame), verbose=0)
    assert one.history.history["loss"] == other.history.history["loss"]
    assert not are_equal(weights_of(one), weights_of(other))
    assert one.fitted.trained == one.fitted.chosen_by == {"s": number_of_last(one, frame)}
    assert int(one.model.optimizer.iterations) == 36 + 3  # a tenth of 3 epochs of 12 steps
    assert float(one.model.optimizer.learning_rate) == pytest.approx(0.001)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["optimizer", "validation_size", "validation", "epochs"])
def test_what_was_given_to_validate_and_a_given_optimizer_keep_it_out(frame, kind):
    def fit(frame):
        options = {"optimizer": {"optimizer": keras.optimizers.Adam()}}.get(kind, {})
        forecaster = Forecaster("nlinear", *SIZE, head="point", **options)
        if kind == "validation":
            return forecaster.fit(frame[:-END], validation=frame[-END:], verbose=0)
        options = {"epochs": 1} if kind == "epochs" else {}
        if kind != "optimizer":
            options["validation_size"] = END
        return forecaster.fit(frame, verbose=0, **options)

    one, other = fit(frame), fit(changed(frame))
    assert one.history.history["val_loss"] != other.history.history["val_loss"]
    last = number_of_last(one, frame)
    assert one.fitted.trained == {"s": last - END}
    if kind == "epochs":  # of others the rows choose the epoch
        assert are_equal(weights_of(one), weights_of(other))


@pytest.mark.slow
def test_the_forecast_of_what_trains_at_last_stays_as_wide(frame, monkeypatch):
    monkeypatch.setattr(
        "kerastrans.forecasting.training.extra_steps.EXTRA_STEPS_SHARE", 10.0
    )  # it remembers all of it
    monkeypatch.setattr("kerastrans.forecasting.training.extra_steps.DECAY", 1.0)
    wanted = []

    class Recorded(extra_steps.SpreadCorrection):
        def apply(self, fitted, is_trained_on=False):
            wanted.append(self.distance * self.factor)
            narrow = mean_distance(heads.of(fitted.model), forecast_windows(fitted, self.windows))
            assert narrow < 0.9 * self.distance
            super().apply(fitted, is_trained_on)

    monkeypatch.setattr(extra_steps, "SpreadCorrection", Recorded)
    forecaster = Forecaster("nhits", *SIZE, hidden_dim=64).fit(frame, verbose=0)
    panel = forecaster.reader.panel(frame)
    _, cuts = training_cuts(panel, *SIZE, held_out=END)
    windows = windows_of(forecaster.fitted, panel, *cuts)
    forecasts = forecast_windows(forecaster.fitted, windows)
    found = mean_distance(heads.of(forecaster.model), forecasts)
    assert found == pytest.approx(wanted[0], rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("error", [DivergedError("diverged"), KeyboardInterrupt()])
def test_last_steps_that_fail_change_nothing(frame, monkeypatch, error):
    forecaster = Forecaster("nlinear", *SIZE, head="point").fit(frame, verbose=0)
    before, fitted = weights_of(forecaster), forecaster.fitted

    def fail(examples, *_, **__):
        examples.model.set_weights([0 * value for value in before])
        raise error

    monkeypatch.setattr(extra_steps, "fit_model", fail)
    if isinstance(error, KeyboardInterrupt):  # of the whole fit
        with pytest.raises(KeyboardInterrupt):
            forecaster.fit(frame, verbose=0)
        assert forecaster.fitted is fitted
        assert are_equal(weights_of(forecaster), before)
    else:  # of themselves alone
        forecaster = forecaster.clone().fit(frame, verbose=0)
        assert any(value.any() for value in weights_of(forecaster))
        assert forecaster.fitted.trained == {"s": number_of_last(forecaster, frame) - END}
        assert float(forecaster.model.optimizer.learning_rate) == pytest.approx(0.001)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_an_interruption_of_the_last_steps_is_resumed(frame, tmp_path, monkeypatch):
    def make():
        options = {"hidden_dim": 8, "dropout": 0.2, "decoder_output_dim": 2}  # draws go on too
        return Forecaster("tide", *SIZE, **options)

    whole = make().fit(frame, verbose=0)
    train = extra_steps.train_further

    def interrupted(*args):
        train(*args)
        raise KeyboardInterrupt

    monkeypatch.setattr(extra_steps, "train_further", interrupted)
    with pytest.raises(KeyboardInterrupt):
        make().fit(frame, checkpoint=tmp_path, verbose=0)
    monkeypatch.setattr(extra_steps, "train_further", train)
    resumed = make().fit(frame, checkpoint=tmp_path, verbose=0)
    assert are_equal(weights_of(resumed), weights_of(whole))
    assert heads.of(resumed.model).spread == heads.of(whole.model).spread
    assert resumed.history.epoch == whole.history.epoch


@pytest.mark.slow
def test_published_weights_keep_it_out_and_adapters_have_the_spread_that_was_measured(frame):
    options = {"trainable": "lora", "verbose": False}
    forecaster = kerastrans.from_pretrained(ZERO_1, SIZE[1], **options)
    forecaster.fit(frame, verbose=0)
    assert forecaster.fitted.trained == {"s": number_of_last(forecaster, frame) - END}
    assert heads.of(forecaster.model).spread != 1


@pytest.mark.slow
def test_the_extra_steps_train_at_the_rate_that_the_training_ends_with(frame, monkeypatch):
    rates, fit = [], extra_steps.fit_model

    def recorded(examples, *args, **kwargs):
        rates.append(float(examples.model.optimizer.learning_rate))
        return fit(examples, *args, **kwargs)

    monkeypatch.setattr(extra_steps, "fit_model", recorded)
    monkeypatch.setattr("kerastrans.forecasting.training.loop.MAX_EPOCHS", 2)
    forecaster = Forecaster("nlinear", *SIZE, head="point").fit(frame, verbose=0)
    assert rates == [pytest.approx(0.001 * 0.3**2)]
    assert float(forecaster.model.optimizer.learning_rate) == pytest.approx(0.001)
