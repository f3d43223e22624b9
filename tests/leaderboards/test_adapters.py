"""The adapters with stubs of the interfaces, and with the packages if they are installed."""

import contextlib
import importlib
import importlib.util
import re
import sys
import types

import numpy as np
import pandas as pd
import pytest

import kerastrans
from benchmarks.accuracy.fev_submission import main as leaderboards_main
from kerastrans.leaderboards.forecasting import forecast_quantiles, train
from kerastrans.models.pretrained.zero.moves import move_of
from kerastrans.models.pretrained.zero.port import phases_of

STEPS, LEVELS = 3, [0.1, 0.5, 0.9]
needs = {
    name: pytest.mark.skipif(
        importlib.util.find_spec(name) is None,
        reason=f'{name} is not installed: pip install ".[leaderboards]"',
    )
    for name in ("fev", "gluonts")
}


def frame(lengths=(40, 25)):
    parts = []
    for name, length in zip("ba", lengths, strict=True):  # in an order that is not alphabetical
        times = pd.date_range("2024-01-01", periods=length, freq="D")
        y = 10 + np.sin(np.arange(length) * 2 * np.pi / 7) + (name == "a")
        parts.append(pd.DataFrame({"unique_id": name, "ds": times, "y": y}))
    return pd.concat(parts, ignore_index=True)


@pytest.fixture(scope="module")
def zero():
    return train("kerastrans_zero_2", frame(), STEPS, "D")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("freq", "season"),
    [("15min", 96), ("h", 24), ("D", None), ("W", None), ("ME", 12), ("QS", 4), ("BYS", 1)],
)
def test_steps_of_an_hour_or_less_and_of_months_have_a_season(freq, season):
    forecaster = train("kerastrans_zero_2", frame(), STEPS, freq)
    phases = phases_of(forecaster.model) or move_of(forecaster.model)
    assert (phases and phases.season) == season


@pytest.fixture
def adapters(monkeypatch):
    """Import adapters anew, with the modules that they import replaced by stubs."""

    def load(name, **stubs):
        for module, content in stubs.items():
            path = module.replace("__", ".")
            monkeypatch.setitem(sys.modules, path, content)
        sys.modules.pop(f"kerastrans.leaderboards.{name}", None)
        module = importlib.import_module(f"kerastrans.leaderboards.{name}")
        del sys.modules[f"kerastrans.leaderboards.{name}"]
        return module

    return load


class Rows(dict):
    from_dict = classmethod(lambda cls, rows: cls(rows))


def stub_of_fev(past):
    class Model:
        def fit_predict(self, task):
            return self._fit_predict(task)

        def _record_training_time(self):
            return contextlib.nullcontext()

        _record_inference_time = _record_training_time

    def combine(predictions, target_columns):
        return {"columns": target_columns, "rows": predictions}

    utils = types.SimpleNamespace(combine_univariate_predictions_to_multivariate=combine)

    def convert(window, adapter, as_univariate):
        assert (adapter, as_univariate) == ("nixtla", True)
        return past(window), None, None

    return types.SimpleNamespace(ForecastingModel=Model, utils=utils, convert_input_data=convert)


class Task:
    horizon, freq, quantile_levels = STEPS, "D", [0.1, 0.9]
    past_dynamic_columns, known_dynamic_columns, target_columns = [], [], ["target"]

    def load_full_dataset(self):
        self.is_loaded = True

    def iter_windows(self):
        for end in (20, 23):
            yield types.SimpleNamespace(end=end, target_columns=self.target_columns)


def test_quantiles_are_those_of_predict_in_the_order_of_the_frame(zero):
    names, found = forecast_quantiles(zero, frame(), LEVELS)
    rows = zero.predict(frame(), levels=[80])
    expected = rows[[f"kerastrans_zero_2{x}" for x in ("-lo-80", "", "-hi-80")]].to_numpy()
    assert names == ["b", "a"]
    np.testing.assert_allclose(found, expected.reshape(2, STEPS, 3), rtol=1e-6)


@pytest.mark.slow
def test_published_weights_read_numbers_and_text_of_covariates():
    rng = np.random.default_rng(0)
    whole = frame((60, 60)).assign(
        price=rng.normal(size=120),
        day=rng.choice(["open", "closed"], 120),
        y=lambda x: x["y"] + 3 * x["price"] + 2 * (x["day"] == "open"),
    )
    known = whole[whole["ds"] < "2024-02-24"]
    ahead = whole[whole["ds"] >= "2024-02-24"].groupby("unique_id").head(STEPS)
    trained = train("kerastrans_zero_2", known, STEPS, "D", future=["price", "day"])
    names, found = forecast_quantiles(trained, known, [0.5], future=ahead.drop(columns="y"))
    truth = np.stack([ahead.loc[ahead["unique_id"] == name, "y"] for name in names])
    assert np.abs(found[..., 0] - truth).mean() < 0.5  # 2.9 without covariates


def test_series_that_cannot_be_forecast_are_zero(zero):
    empty = frame().assign(y=np.nan)
    mixed = pd.concat([empty[empty["unique_id"] == "b"], frame().query("unique_id == 'a'")])
    found = forecast_quantiles(zero, mixed, LEVELS)[1]
    assert (found[0] == 0).all()
    assert (found[1] > 5).all()
    assert (forecast_quantiles(zero, empty, LEVELS)[1] == 0).all()


def test_the_model_of_fev_forecasts_every_window_from_its_past(adapters, zero):
    def past(window):
        return frame((window.end, window.end))

    stub = stub_of_fev(past)
    fev_model = adapters("fev_model", fev=stub, datasets=types.SimpleNamespace(Dataset=Rows))
    found = fev_model.KerastransModel().fit_predict(Task())
    assert len(found) == 2
    for window, end in zip(found, (20, 23), strict=True):
        expected = forecast_quantiles(zero, frame((end, end)), [0.1, 0.9, 0.5])[1]
        assert list(window["rows"]) == ["0.1", "0.9", "predictions"]
        arrays = np.stack([window["rows"][x] for x in window["rows"]], axis=-1)
        np.testing.assert_allclose(arrays, expected, rtol=1e-6)
    with pytest.raises(ValueError, match="model must be one of"):
        fev_model.KerastransModel("kerastrans_one")


def test_the_predictor_of_gluonts_forecasts_entries_of_any_start(adapters, zero):
    class Predictor:
        def __init__(self, prediction_length):
            self.prediction_length = prediction_length

    forecasts = types.SimpleNamespace(QuantileForecast=lambda array, **facts: (array, facts))
    stub = types.SimpleNamespace(Predictor=Predictor)
    model = types.ModuleType("gluonts.model")
    module = adapters(
        "gluonts_predictor",
        gluonts=types.ModuleType("gluonts"),
        gluonts__model=model,
        gluonts__model__predictor=stub,
        gluonts__model__forecast=forecasts,
    )
    series = [part["y"].to_numpy() for _, part in frame().groupby("unique_id", sort=False)]
    starts = pd.Period("2024-01-01", "D"), pd.Period("2020-05-05", "D")
    entries = [
        {"start": start, "target": y, "item_id": i}
        for i, (start, y) in enumerate(zip(starts, series, strict=True))
    ]
    predictor = module.KerastransPredictor.train("kerastrans_zero_2", entries, STEPS)
    found = list(predictor.predict(entries, num_samples=100))
    expected = forecast_quantiles(zero, frame(), [0.5, *module.DECILES])[1]
    for number, (array, facts) in enumerate(found):
        np.testing.assert_allclose(array, expected[number].T, rtol=1e-5)
        assert facts["item_id"] == number
        assert facts["start_date"] == starts[number] + len(series[number])
        assert facts["forecast_keys"][:2] == ["mean", "0.1"]
    with pytest.raises(ValueError, match=r"target of the shape \(2, 9\), expected \(time,\)"):
        list(predictor.predict([{"start": starts[0], "target": np.ones((2, 9))}]))
    with pytest.raises(ValueError, match="at least one entry"):
        module.KerastransPredictor.train("kerastrans_zero_2", [], STEPS)


@pytest.mark.parametrize(
    ("name", "missing"), [("fev_model", "fev"), ("gluonts_predictor", "gluonts.model.predictor")]
)
def test_an_adapter_without_its_package_names_the_extra(monkeypatch, name, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    sys.modules.pop(f"kerastrans.leaderboards.{name}", None)
    with pytest.raises(ImportError, match=r'pip install "\.\[leaderboards\]"'):
        importlib.import_module(f"kerastrans.leaderboards.{name}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--num-tasks", "-1"], "num_tasks must be an integer of at least 1, got -1"),
        (["--time-limit", "-5"], "time_limit must be a number of at least 0, got -5.0"),
        (["--seed", "-1"], "seed must be an int of at least 0, got -1"),
        (["--output", "."], "exists: choose another name"),
        ([], r'pip install "\.\[leaderboards\]"'),
    ],
)
def test_wrong_options_of_the_command_are_told_in_a_line(
    monkeypatch, capsys, tmp_path, arguments, message
):
    monkeypatch.setitem(sys.modules, "fev", None)
    monkeypatch.delitem(sys.modules, "kerastrans.leaderboards.fev_model", raising=False)
    with pytest.raises(SystemExit) as stopped:
        leaderboards_main(["--output", str(tmp_path / "new.csv"), *arguments])
    assert stopped.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert re.search(message, line)


@pytest.mark.slow
def test_default_and_selected_models_are_trained_by_name():
    options = {"time_limit": 1}
    names = [train(name, frame(), STEPS, "D", **options).alias for name in ("auto", "select")]
    assert names[0] == "kerastrans_zero_2"  # the series are short
    with pytest.raises(ValueError, match="model must be one of"):
        train("tide", frame(), STEPS, "D")


@needs["fev"]
def test_fev_itself_scores_the_adapter_as_we_do(tmp_path, zero):
    import fev

    from benchmarks.accuracy.fev_submission import evaluate

    columns = {"unique_id": "id", "ds": "timestamp", "y": "target"}
    frame((40, 40)).rename(columns=columns).to_parquet(tmp_path / "data.parquet")
    task = fev.Task(
        dataset_path=str(tmp_path / "data.parquet"),
        horizon=STEPS,
        num_windows=2,
        seasonality=1,
        eval_metric="SQL",
        extra_metrics=["MASE"],
        quantile_levels=[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9],
    )
    row = evaluate([task]).iloc[0]
    rows = zero.backtest(frame((40, 40)), windows=2, levels=[20, 40, 60, 80])
    order = rows.groupby("unique_id")["cutoff"].rank("dense")
    scores = []
    for window in (1, 2):
        part = rows[order == window]
        past = frame((40, 40)).query("ds <= @part['cutoff'].iloc[0]")
        scores.append(kerastrans.backtesting.score(part, past, season=1).iloc[0])
    np.testing.assert_allclose(row["SQL"], np.mean([x["sql"] for x in scores]), rtol=1e-4)
    np.testing.assert_allclose(row["MASE"], np.mean([x["mase"] for x in scores]), rtol=1e-4)
    assert not row["trained_on_this_dataset"]


@needs["gluonts"]
def test_gluonts_itself_evaluates_the_predictor(zero):
    from gluonts.dataset.common import ListDataset
    from gluonts.dataset.split import split
    from gluonts.ev.metrics import MAE
    from gluonts.model import evaluate_model

    from kerastrans.leaderboards.gluonts_predictor import KerastransPredictor

    parts = [part for _, part in frame((40, 40)).groupby("unique_id", sort=False)]
    entries = [{"start": part["ds"].iloc[0], "target": part["y"].to_numpy()} for part in parts]
    _, template = split(ListDataset(entries, freq="D"), offset=-STEPS)
    data = template.generate_instances(STEPS, windows=1)
    table = evaluate_model(KerastransPredictor(zero), test_data=data, metrics=[MAE(0.5)], axis=None)
    rows = zero.backtest(frame((40, 40)), windows=1)
    expected = (rows["kerastrans_zero_2"] - rows["y"]).abs().mean()
    np.testing.assert_allclose(table["MAE[0.5]"].iloc[0], expected, rtol=1e-3)
