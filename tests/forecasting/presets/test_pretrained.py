import json
import re
import shutil
from pathlib import Path

import keras
import numpy as np
import pandas as pd
import pytest

import kerastrans
from kerastrans import Forecaster, heads
from kerastrans.export.savedmodel import run_savedmodel
from kerastrans.forecasting.inference.runtime import runtime_of
from kerastrans.forecasting.training.fine_tuning import (
    head_layers,
    merge_adapters,
    prepare_for_fine_tuning,
)
from kerastrans.models import pretrained
from kerastrans.models.pretrained.chronos import bolt_port as chronos_bolt
from kerastrans.models.pretrained.chronos import v2_network as chronos_2_network
from kerastrans.models.pretrained.chronos import v2_port as chronos_2
from kerastrans.models.pretrained.flowstate import port as flowstate
from kerastrans.models.pretrained.keyed import KeyedLayers
from kerastrans.models.pretrained.licences import card_of
from kerastrans.utils.keras_internals import all_layers
from tests.helpers.checkpoints import (
    CHRONOS_2,
    CHRONOS_BOLT,
    FLOWSTATE,
    PATCHTST_FM,
    changed,
    random_patchtst_fm,
    random_tensors,
    write,
)
from tests.helpers.weights import FRACAST_0, ZERO_1

STEPS = 5
BOLT = changed(CHRONOS_BOLT, num_layers=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    layout = chronos_bolt.build_network(BOLT)[1]
    path = tmp_path_factory.mktemp("checkpoints") / "tiny-bolt"
    path.mkdir()
    return write(path, BOLT, random_tensors(layout))


def long_frame(freq="h", lengths=(60, 9)):
    parts = []
    for name, length in zip("ab", lengths, strict=True):
        times = pd.date_range("2024-01-01", periods=length, freq=freq)
        values = 10 + np.sin(np.arange(length)) + (name == "b")
        parts.append(pd.DataFrame({"unique_id": name, "ds": times, "y": values}))
    return pd.concat(parts, ignore_index=True)


def wide_frame(length=60):
    times = pd.date_range("2024-01-01", periods=length, freq="D")
    steps = np.arange(length)
    return pd.DataFrame({"y": 10 + np.sin(steps), "z": 5 + steps % 7}, times)


def dense(model):
    return [layer for layer in all_layers(model) if isinstance(layer, keras.layers.Dense)]


def weights(model):
    return [weight.copy() for weight in model.get_weights()]


def test_from_pretrained_forecasts_as_the_array_interface_does(folder):
    forecaster = kerastrans.from_pretrained(folder, STEPS)
    frame = long_frame()
    found = forecaster.predict(frame, levels=[80])
    series = [part["y"].to_numpy() for _, part in frame.groupby("unique_id")]
    expected = pretrained.load(folder).forecast(series, STEPS, [0.1, 0.5, 0.9])
    quantiles = np.concatenate([x["quantiles"][0] for x in expected])
    assert forecaster.context_length == 40  # the longest context of the model
    assert forecaster.alias == "tiny-bolt"
    quantiles[:, [0, 2]] = np.sort(quantiles[:, [0, 2]])  # as in the rows of `predict`
    columns = ["tiny-bolt-lo-80", "tiny-bolt", "tiny-bolt-hi-80"]
    np.testing.assert_allclose(found[columns], quantiles, rtol=1e-4, atol=1e-4)


def test_each_frame_can_have_another_frequency(folder):
    forecaster = kerastrans.from_pretrained(folder, STEPS)
    for freq in ("h", "D", "MS"):
        frame = long_frame(freq)
        last = frame["ds"][frame["unique_id"] == "a"].max()
        expected = pd.date_range(last, periods=STEPS + 1, freq=freq)[1:]
        assert forecaster.predict(frame)["ds"][:STEPS].tolist() == expected.tolist()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:1 series have fewer than 4 known values")
def test_freq_is_required_if_it_cannot_be_inferred(folder, tmp_path):
    frame = long_frame("MS", lengths=(2, 1))
    with pytest.raises(ValueError, match="cannot infer the frequency"):
        kerastrans.from_pretrained(folder, STEPS).predict(frame)
    forecaster = kerastrans.from_pretrained(folder, STEPS, freq="MS")
    forecaster.save(tmp_path / "saved")
    for each in (forecaster, Forecaster.load(tmp_path / "saved"), forecaster.clone()):
        assert each.predict(frame)["ds"].dt.month.tolist() == [3, 4, 5, 6, 7, 2, 3, 4, 5, 6]
    with pytest.raises(ValueError, match="freq must be a pandas frequency"):
        kerastrans.from_pretrained(folder, STEPS, freq="monthly")


@pytest.mark.slow
def test_columns_of_a_wide_frame_are_forecast_separately(folder):
    forecaster = kerastrans.from_pretrained(folder, STEPS)
    wide = wide_frame()
    parts = [forecaster.predict(wide[[name]]) for name in wide]
    expected = pd.concat(parts, ignore_index=True)
    pd.testing.assert_frame_equal(forecaster.predict(wide), expected, rtol=1e-4)
    backtest = forecaster.backtest(wide, windows=2)
    assert backtest["unique_id"].value_counts().to_dict() == {"y": 2 * STEPS, "z": 2 * STEPS}
    forecaster.calibrate(wide, windows=4, levels=[80])
    assert forecaster.fitted.intervals is not None


def test_a_forecaster_trained_on_long_frames_predicts_wide_frames():
    forecaster = Forecaster("nlinear", 12, STEPS).fit(long_frame("D"), epochs=1, verbose=0)
    wide = wide_frame()
    pairs = [(name, forecaster.predict(wide[[name]])) for name in wide]
    found = forecaster.predict(wide)
    for name, expected in pairs:
        rows = found[found["unique_id"] == name].reset_index(drop=True)
        pd.testing.assert_frame_equal(rows, expected, rtol=1e-4)


def test_save_load_clone_and_metadata_without_a_clock(folder, tmp_path):
    forecaster = kerastrans.from_pretrained(folder, STEPS, 16, trainable="head")
    forecaster.save(tmp_path / "saved")
    loaded = Forecaster.load(tmp_path / "saved")
    frame = long_frame()
    expected = forecaster.predict(frame)
    pd.testing.assert_frame_equal(loaded.predict(frame), expected)
    pd.testing.assert_frame_equal(forecaster.clone().predict(frame), expected)
    assert loaded.fitted.clock is None
    assert loaded.fitted.trainable == "head"
    assert loaded.card == forecaster.card
    assert loaded.metadata["frequency"] is None
    assert json.dumps(loaded.metadata)
    assert "tiny-bolt" in repr(loaded)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_fit_sets_the_clock_of_the_training_data(folder):
    forecaster = kerastrans.from_pretrained(folder, STEPS, 16)
    options = {"epochs": 1, "verbose": 0, "restore_published": False}
    forecaster.fit(wide_frame(), **options)
    assert set(forecaster.fitted.trained) == {"y", "z"}
    forecaster = kerastrans.from_pretrained(folder, STEPS, 16)
    forecaster.fit(long_frame("h"), **options)
    assert forecaster.fitted.freq == "h"
    forecaster.fit(long_frame("h"), **options)
    with pytest.raises(ValueError, match="trained on frequency 'h', freq='D' is another"):
        forecaster.fit(long_frame("h"), freq="D", epochs=1)
    with pytest.raises(ValueError, match="read the published ones again"):
        forecaster.clone()


@pytest.mark.slow
def test_a_backtest_with_refit_starts_from_the_published_weights(folder):
    forecaster = kerastrans.from_pretrained(folder, STEPS, 16)
    before = weights(forecaster.model)
    options = {"epochs": 1, "verbose": 0, "restore_published": False}
    rows = forecaster.backtest(wide_frame(), windows=1, refit=True, **options)
    np.testing.assert_equal(weights(forecaster.model), before)
    expected = kerastrans.from_pretrained(folder, STEPS, 16)
    expected = expected.fit(wide_frame()[:-STEPS], **options).predict(wide_frame(55))
    np.testing.assert_allclose(rows["tiny-bolt"], expected["tiny-bolt"], rtol=1e-3)


@pytest.mark.parametrize("trainable", ["all", "lora", "head"])
def test_the_card_has_the_number_of_trainable_weights(folder, trainable):
    forecaster = kerastrans.from_pretrained(folder, STEPS, 16, trainable=trainable, lora_rank=2)
    copy = prepare_for_fine_tuning(forecaster.fitted)
    counted = sum(np.prod(weight.shape) for weight in copy.trainable_weights)
    assert forecaster.card["trainable_parameters"] == counted
    spread = heads.of(forecaster.model).count_params()
    assert forecaster.card["parameters"] == forecaster.model.count_params() - spread
    assert (counted == forecaster.card["parameters"]) == (trainable == "all")


@pytest.mark.slow
@pytest.mark.parametrize("trainable", ["all", "lora", "head"])
def test_fine_tuning_trains_only_the_requested_weights(folder, trainable, tmp_path):
    forecaster = kerastrans.from_pretrained(folder, STEPS, 16, trainable=trainable, lora_rank=2)
    before, frame = weights(forecaster.model), long_frame()
    options = {"epochs": 1, "verbose": 0, "restore_published": False}
    forecaster.fit(frame, batch_size=16, **options)
    after = weights(forecaster.model)
    differ = sum(not np.array_equal(*pair) for pair in zip(before, after, strict=True))
    num_head = sum(len(layer.weights) for layer in head_layers(forecaster.model))
    # The decoder's start attends only to itself: its queries, keys and bias have no effect.
    network = len(forecaster.model.trainable_weights)
    expected = {"all": network - 3, "lora": len(dense(forecaster.model)) - 2, "head": num_head}
    assert differ == expected[trainable]
    forecaster.save(tmp_path / "tuned")
    loaded = Forecaster.load(tmp_path / "tuned")
    pd.testing.assert_frame_equal(loaded.predict(frame), forecaster.predict(frame))
    loaded.fit(frame, **options)  # with new adapters, as the first ones were merged
    again = weights(loaded.model)
    assert sum(not np.array_equal(*pair) for pair in zip(after, again, strict=True)) == differ


@pytest.mark.slow
def test_fine_tuning_reduces_the_loss(folder):
    forecaster = kerastrans.from_pretrained(folder, STEPS, 16, trainable="lora")
    forecaster.fit(long_frame(), epochs=8, verbose=0, restore_published=False)
    losses = forecaster.history.history["loss"]
    assert losses[-1] < losses[0]


def test_adapters_are_added_to_the_weights(folder):
    forecaster = kerastrans.from_pretrained(folder, STEPS, 16, trainable="lora")
    adapted = prepare_for_fine_tuning(forecaster.fitted)
    rng = np.random.default_rng(0)
    for layer in dense(adapted):
        layer.lora_kernel_b.assign(rng.normal(0, 0.1, layer.lora_kernel_b.shape))
    merged = merge_adapters(forecaster.fitted, adapted)
    history = rng.normal(size=(3, 16, 1)).astype("float32")
    found, expected, before = (
        keras.ops.convert_to_numpy(model(history)) for model in (merged, adapted, forecaster.model)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    assert np.abs(found - before).max() > 1e-2
    assert len(merged.weights) == len(forecaster.model.weights)
    assert len(merged.non_trainable_weights) == len(heads.of(merged).weights)


def test_untrained_adapters_do_not_change_the_weights(folder):
    forecaster = kerastrans.from_pretrained(folder, STEPS, 16, trainable="lora")
    copy = prepare_for_fine_tuning(forecaster.fitted)
    merged = merge_adapters(forecaster.fitted, copy)
    np.testing.assert_equal(weights(merged), weights(forecaster.model))


@pytest.mark.slow
def test_the_default_optimizer_can_be_replaced(folder):
    forecaster = kerastrans.from_pretrained(folder, STEPS)
    optimizer = forecaster.config.optimizer
    assert (float(optimizer.learning_rate), optimizer.clipnorm) == (pytest.approx(1e-4), 1.0)
    forecaster = kerastrans.from_pretrained(folder, STEPS, optimizer=keras.optimizers.SGD(0.5))
    forecaster.fit(long_frame(), epochs=1, steps_per_epoch=1, verbose=0, restore_published=False)
    assert type(forecaster.model.optimizer).__name__ == "SGD"


@pytest.mark.slow
def test_chronos_2_forecasts_too(tmp_path):
    own, core = chronos_2_network.read_own(CHRONOS_2), chronos_2_network.read_core(CHRONOS_2)
    tensors = random_tensors(chronos_2_network.build_network(core, own)[1])
    folder = write(tmp_path, CHRONOS_2, tensors)
    forecaster = kerastrans.from_pretrained(folder, STEPS, trainable="head", alias="second")
    frame = long_frame()
    series = [part["y"].to_numpy() for _, part in frame.groupby("unique_id")]
    expected = np.concatenate(
        [x["mean"][0] for x in chronos_2.load(CHRONOS_2, tensors).forecast(series, STEPS)]
    )
    np.testing.assert_allclose(forecaster.predict(frame)["second"], expected, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
@pytest.mark.tensorflow
def test_an_export_forecasts_the_same(folder, tmp_path):
    forecaster = kerastrans.from_pretrained(folder, STEPS, 16)
    forecaster.export(tmp_path / "model")
    history = np.random.default_rng(0).normal(5, 2, (2, 16, 1)).astype("float32")
    history[0, :3] = np.nan
    expected = forecaster.forecast_histories({"history": history})["forecast"]
    np.testing.assert_allclose(
        run_savedmodel(tmp_path / "model", history), expected, rtol=1e-4, atol=1e-4
    )


def test_a_forecaster_with_a_future_covariate_predicts_wide_frames():
    times = pd.date_range("2024-01-01", periods=60, freq="D")
    frame = wide_frame(60).assign(price=np.arange(60) % 3)
    long = frame.rename_axis("ds").reset_index().assign(unique_id="y")
    forecaster = Forecaster("nlinear", 12, STEPS, future=["price"])
    forecaster.fit(long[["unique_id", "ds", "y", "price"]], epochs=1, verbose=0)
    ahead = pd.date_range(times[-1], periods=STEPS + 1, freq="D")[1:]
    future = pd.DataFrame({"price": np.ones(STEPS)}, ahead)
    found = forecaster.predict(frame, future=future)
    expected = forecaster.predict(frame[["z", "price"]], future=future)
    rows = found[found["unique_id"] == "z"].reset_index(drop=True)
    assert found["unique_id"].unique().tolist() == ["y", "z"]
    pd.testing.assert_frame_equal(rows, expected, rtol=1e-4)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_the_guide_runs(folder, tmp_path, monkeypatch):
    guide = (Path(__file__).parents[3] / "docs" / "pretrained.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    assert len(blocks) == 6
    shutil.copytree(folder, tmp_path / "chronos-bolt-small")
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in blocks:
        exec(block, names)
    assert names["forecaster"].fitted.trainable == "lora"


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"context_length": 41}, "context_length must be at most the longest that it reads=40"),
        ({"context_length": 0}, "context_length"),
        ({"trainable": "some"}, "trainable must be one of 'all', 'lora', 'head', got 'some'"),
        ({"lora_rank": 0}, "lora_rank"),
        ({"joint": True}, "joint must be a list of column names, got True"),
        ({"model_options": ["x"]}, r"model_options must be a dict of options, got \['x'\]"),
        ({"model_options": {"x": 1}}, r"chronos_bolt has no options, got \['x'\]"),
        ({"scaler": "mase"}, "takes no 'scaler': the published model sets it"),
        ({"calendar": True}, "takes no 'calendar': the published model sets it"),
    ],
)
def test_invalid_arguments_of_from_pretrained_are_refused(folder, kwargs, message):
    with pytest.raises(ValueError, match=message):
        kerastrans.from_pretrained(folder, STEPS, **kwargs)


def test_published_weights_are_loaded_from_a_folder(capsys):
    frame = kerastrans.datasets.load("air_passengers")
    forecaster = kerastrans.from_pretrained(FRACAST_0, 12)
    assert "fracast_0: licence not published; 85,001 parameters" in capsys.readouterr().out
    assert forecaster.context_length == 2048  # as many steps as its package reads
    rows = forecaster.backtest(frame, windows=4)
    errors = (rows["fracast_0"] - rows["y"]).abs() / rows["y"]
    assert errors.mean() < 0.15  # the seasonal naive forecast has 0.11
    assert rows["fracast_0-lo-80"].lt(rows["fracast_0-hi-80"]).all()


@pytest.mark.slow
def test_the_point_is_that_of_the_package_and_options_are_passed_to_the_model(tmp_path):
    layer = KeyedLayers(flowstate.KINDS)
    flowstate.FlowState(flowstate.FlowStateStack(layer, FLOWSTATE), FLOWSTATE, 1.0)
    write(tmp_path, FLOWSTATE, random_tensors(layer.layout()))
    port, frame = pretrained.load(tmp_path), long_frame(lengths=(60, 30))
    series = [part["y"].to_numpy() for _, part in frame.groupby("unique_id")]
    for options in (None, {"scale_factor": np.float32(0.5)}):
        forecaster = kerastrans.from_pretrained(
            tmp_path, STEPS, "max", model_options=options, alias="flow"
        )
        other = port.with_options(**options or {})
        assert forecaster.context_length == other.max_context
        assert forecaster.card.get("options") == options
        forecaster.save(tmp_path / f"saved {options}")
        expected = other.forecast([x[-other.max_context :] for x in series], STEPS)
        means = np.concatenate([x["mean"][0] for x in expected])
        medians = np.concatenate([x["quantiles"][0, :, 4] for x in expected])
        for each in (forecaster, Forecaster.load(tmp_path / f"saved {options}")):
            rows = each.predict(frame)
            np.testing.assert_allclose(rows["flow"], means, rtol=1e-4, atol=1e-4)
            np.testing.assert_allclose(rows["flow-median"], medians, rtol=1e-4, atol=1e-4)
    with pytest.raises(
        ValueError, match=r"flowstate has the options scale_factor, got \['speed'\]"
    ):
        kerastrans.from_pretrained(tmp_path, STEPS, model_options={"speed": 2})


@pytest.mark.slow
def test_a_series_shorter_than_the_context_is_not_one_that_begins_with_missing_values(tmp_path):
    tensors = random_patchtst_fm(PATCHTST_FM)
    source, frame = write(tmp_path, PATCHTST_FM, tensors), long_frame(lengths=(9, 14))
    series = [part["y"].to_numpy() for _, part in frame.groupby("unique_id")]
    expected = pretrained.load(source).forecast(series, STEPS)
    expected = np.concatenate([x["mean"][0] for x in expected])
    forecaster = kerastrans.from_pretrained(source, STEPS, alias="short")
    np.testing.assert_allclose(forecaster.predict(frame)["short"], expected, rtol=1e-4)
    gaps = frame.assign(y=frame["y"].where(frame.index % 9 > 2))  # one series begins with them
    known = gaps[gaps["ds"] >= gaps["ds"][3]]
    pd.testing.assert_frame_equal(
        forecaster.predict(gaps)[:STEPS], forecaster.predict(known)[:STEPS]
    )


@pytest.mark.slow
def test_joint_columns_are_forecast_together(tmp_path, folder):
    own, core = chronos_2_network.read_own(CHRONOS_2), chronos_2_network.read_core(CHRONOS_2)
    tensors = random_tensors(chronos_2_network.build_network(core, own)[1])
    source = write(tmp_path, CHRONOS_2, tensors)
    wide = wide_frame()
    forecaster = kerastrans.from_pretrained(source, STEPS, joint=["y", "z"], alias="both")
    expected = chronos_2.load(CHRONOS_2, tensors).forecast([wide.to_numpy().T], STEPS)[0]["mean"]
    rows = forecaster.predict(wide)
    np.testing.assert_allclose(rows["both"], expected.ravel(), rtol=1e-4, atol=1e-4)
    apart = kerastrans.from_pretrained(source, STEPS, alias="both").predict(wide)
    assert not np.allclose(apart["both"], rows["both"], rtol=1e-6)
    forecaster.save(tmp_path / "saved")
    for each in (forecaster.clone(), Forecaster.load(tmp_path / "saved")):
        pd.testing.assert_frame_equal(each.predict(wide[["z", "y"]]), rows)
    with pytest.raises(ValueError, match=r"made for the columns \['y', 'z'\]"):
        forecaster.predict(wide[["y"]])
    with pytest.raises(ValueError, match="forecasts each series separately: no joint"):
        kerastrans.from_pretrained(folder, STEPS, joint=["y", "z"])


def test_the_card_of_fracast_lists_its_training_data_sets():
    card = card_of("ztxtech/fracast-0")
    assert {"m4_hourly", "epf_np", "hospital"} < set(card["seen"])
    assert "README.md" in card["seen_source"]


@pytest.mark.slow
def test_short_series_are_computed_on_short_windows():
    lengths = np.tile([20, 300], 300)
    names = [f"s{number:03}" for number in range(len(lengths))]
    values = np.random.default_rng(0).normal(10, 1, lengths.sum())
    dates = pd.date_range("2024-01-01", periods=300)
    frame = pd.DataFrame({"unique_id": np.repeat(names, lengths), "y": values})
    frame["ds"] = np.concatenate([dates[-length:] for length in lengths])
    forecaster = kerastrans.from_pretrained(ZERO_1, 3, verbose=False)
    rows = forecaster.predict(frame)
    assert rows["unique_id"].tolist() == list(np.repeat(names, 3))
    graphs = runtime_of(forecaster.model).graphs
    assert {num_steps for num_steps, *_ in graphs} == {256, 512}
    for number in (0, 1, 598, 599):  # of each length, the first and the last
        alone = forecaster.predict(frame[frame["unique_id"] == names[number]])
        together = rows[rows["unique_id"] == names[number]]
        np.testing.assert_allclose(together.iloc[:, 2:], alone.iloc[:, 2:], rtol=1e-5)
