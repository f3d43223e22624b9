import json

import keras
import numpy as np
import pytest
from safetensors.numpy import save_file

from kerastrans import heads
from kerastrans.decoding.graph import takes_missing
from kerastrans.models import pretrained
from kerastrans.models.pretrained.timesfm import config as timesfm_config
from kerastrans.models.pretrained.timesfm import network as timesfm_network
from kerastrans.models.pretrained.timesfm import port as timesfm
from tests.helpers.checkpoints import TIMESFM as TRANSFORMERS
from tests.helpers.checkpoints import random_timesfm, write

pytestmark = pytest.mark.slow  # what all ports share is tested with the others

BLOCK = {"hidden_dims": 12}
ORIGINAL = {
    "context_limit": 64,
    "input_patch_len": 4,
    "output_patch_len": 8,
    "output_quantile_len": 20,
    "quantiles": [0.1, 0.5, 0.9],
    "decode_index": 2,
    "stacked_transformers": {
        "num_layers": 2,
        "transformer": {"model_dims": 12, "hidden_dims": 10, "num_heads": 2},
    },
    "tokenizer": {**BLOCK, "use_bias": True},
    "output_projection_point": BLOCK,
    "output_projection_quantiles": BLOCK,
}
HORIZON, SHORT = 11, 5  # into the second block of eight, and within the first


@pytest.fixture(scope="module")
def tensors():
    return random_timesfm()


@pytest.fixture(scope="module")
def model(tensors):
    return timesfm.load(TRANSFORMERS, tensors)


@pytest.fixture(scope="module")
def plain(model):
    """The same weights without what is done before and after."""
    return model.with_options(
        normalize_inputs=False,
        use_continuous_quantile_head=False,
        force_flip_invariance=False,
        infer_is_positive=False,
        fix_quantile_crossing=False,
    )


@pytest.fixture(scope="module")
def series():
    rng = np.random.default_rng(1)
    values = [rng.normal(0, 2, length).cumsum() for length in (80, 30, 3)]
    values[1][[0, 1, 7, 8, 29]] = np.nan
    return values


def original(tensors):
    """The same weights under the keys of the original package."""
    sizes, _ = timesfm_config.read_original(ORIGINAL)
    network = timesfm_network.build_network(sizes)
    renamed = {}
    theirs, ours = (
        timesfm_network.layout(network, sizes.num_layers, keys)
        for keys in (timesfm_network.TRANSFORMERS, timesfm_network.ORIGINAL)
    )
    places = {id(variable(target)): key for key, target in theirs.items()}
    for key, target in ours.items():
        parts = target if isinstance(target, list) else [target]
        renamed[key] = np.concatenate([tensors[places[id(variable(part))]] for part in parts])
    return renamed


def variable(target):
    return target[0] if isinstance(target, tuple) else target


def assert_close(one, other, tolerance=1e-4):
    for x, y in zip(one, other, strict=True):
        for key in x:
            np.testing.assert_allclose(x[key], y[key], rtol=tolerance, atol=tolerance)


def test_both_layouts_are_the_same_model(model, tensors, series):
    other = timesfm.load(ORIGINAL, original(tensors)).with_options(max_context=32)
    assert_close(other.forecast(series, HORIZON), model.forecast(series, HORIZON))


def test_the_functional_model_is_what_forecast_runs(model, series, tmp_path):
    functional = model.build(30, HORIZON, num_channels=2)
    history = np.stack([series[1], series[0][-30:]], axis=-1)[None].astype("float32")
    expected = model.forecast([history[0].T], HORIZON, model.levels)[0]["quantiles"]
    quantiles = keras.ops.convert_to_numpy(functional(history))
    np.testing.assert_allclose(quantiles[0].swapaxes(0, 1), expected, rtol=1e-4, atol=1e-4)
    assert heads.of(functional).levels == model.levels
    assert takes_missing(functional)

    functional.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(loaded(history), quantiles, rtol=1e-5, atol=1e-5)


def test_a_forecast_does_not_depend_on_its_neighbours(model, series):
    together = model.forecast(series, HORIZON)
    assert_close(together, [model.forecast([values], HORIZON)[0] for values in series])


def test_of_a_long_series_the_last_part_counts(model, series):
    last = series[0][-model.max_context :]
    assert_close(model.forecast([series[0]], SHORT), model.forecast([last], SHORT))


def test_missing_steps_are_left_out_at_the_start_and_interpolated_elsewhere(model, series):
    values, steps = series[1][2:], np.arange(28)
    known = ~np.isnan(values)
    filled = np.interp(steps, steps[known], values[known])
    assert_close(model.forecast([series[1]], SHORT), model.forecast([filled], SHORT))
    nothing = model.forecast([np.full(9, np.nan)], SHORT)[0]
    np.testing.assert_array_equal(nothing["quantiles"], 0)


def test_a_gap_that_the_context_cuts_is_drawn_from_before_it(model, series):
    values = series[0].copy()
    start = len(values) - model.max_context
    values[start - 2 : start + 3] = np.nan
    filled = values.copy()
    filled[start - 2 : start + 3] = np.interp(
        np.arange(1, 6), [0, 6], [values[start - 3], values[start + 3]]
    )
    assert_close(model.forecast([values], SHORT), model.forecast([filled], SHORT))


def test_a_long_forecast_goes_on_from_the_median_as_if_it_had_been_observed(plain, series):
    values = series[0][-17:]
    once = plain.forecast([values], 8)[0]
    again = plain.forecast([np.concatenate([values, once["mean"][0]])], 8)[0]
    both = plain.forecast([values], 16)[0]
    assert_close([{"mean": both["mean"][:, :8]}], [{"mean": once["mean"]}])
    assert_close([{"mean": both["mean"][:, 8:]}], [{"mean": again["mean"]}])


def test_options_do_what_they_say(model, plain, series):
    def quantiles(model, factor=1.0):
        return model.forecast([factor * series[0]], SHORT, model.levels)[0]["quantiles"][0]

    def is_flipped(model):
        flipped = -quantiles(model, -1.0)[:, ::-1]
        return np.allclose(quantiles(model), flipped, rtol=1e-4, atol=1e-4)

    assert is_flipped(model)
    assert not is_flipped(plain)
    assert (np.diff(quantiles(plain)) < 0).any()
    assert (np.diff(quantiles(plain.with_options(fix_quantile_crossing=True))) >= 0).all()
    assert (np.diff(quantiles(model)) >= 0).all()
    rows = np.abs(np.random.default_rng(2).normal(size=(20, 30)))
    clamped, free = (
        model.with_options(infer_is_positive=positive).forecast([rows], SHORT, model.levels)[0][
            "quantiles"
        ]
        for positive in (True, False)
    )
    assert free.min() < 0
    np.testing.assert_allclose(clamped, np.maximum(free, 0), rtol=1e-5)


def test_the_scale_of_a_series_is_that_of_its_forecast(model, series):
    values = series[0][:30]
    moved = [{key: 50 + 1e3 * x for key, x in model.forecast([values], SHORT)[0].items()}]
    assert_close(model.forecast([50 + 1e3 * values], SHORT), moved, tolerance=1e-3)


def test_weights_can_be_trained_on_a_constant_series(model):
    functional = model.build(8, HORIZON)
    before = [variable.numpy() for variable in functional.trainable_variables]
    assert len(before) == len(model.network.trainable_variables)
    functional.compile("sgd", loss=heads.of(functional).loss(), jit_compile=False)
    history, target = np.ones((2, 8, 1)), np.ones((2, HORIZON, 1))
    functional.fit(history, target, verbose=0)
    assert all(np.isfinite(variable.numpy()).all() for variable in functional.trainable_variables)
    for variable, value in zip(functional.trainable_variables, before, strict=True):
        variable.assign(value)


def test_an_empty_configuration_is_the_published_model_of_the_original_package():
    assert timesfm.reads({})
    assert timesfm.reads({"torch_compile": True})
    assert not timesfm.reads({"model_type": "t5"})
    assert not timesfm.reads({"hidden_size": 3})
    with pytest.raises(ValueError, match="names no architecture"):
        timesfm.load({}, {"weight": np.ones(2)})
    sizes, _ = timesfm_config.read_original({})
    assert (sizes.num_layers, sizes.d_model, sizes.key_dim) == (20, 1280, 80)
    assert (sizes.patch_length, sizes.output_length, sizes.spread_length) == (32, 128, 1024)


def changed(config, path, value):
    *sections, name = path.split(".")
    config = json.loads(json.dumps(config))
    inner = config
    for section in sections:
        inner = inner[section]
    inner[name] = value
    return config


@pytest.mark.parametrize(
    ("config", "path", "value"),
    [
        (ORIGINAL, "stacked_transformers.transformer.qk_norm", "none"),
        (ORIGINAL, "stacked_transformers.transformer.fuse_qkv", False),
        (ORIGINAL, "stacked_transformers.transformer.num_heads", 5),
        (ORIGINAL, "stacked_transformers.transformer.ff_activation", "sine"),
        (ORIGINAL, "tokenizer.input_dims", 9),
        (ORIGINAL, "input_patch_len", 0),
        (ORIGINAL, "decode_index", 4),
        (TRANSFORMERS, "num_key_value_heads", 1),
        (TRANSFORMERS, "rope_parameters", {"rope_type": "yarn"}),
        (TRANSFORMERS, "activation", "sine"),
        (TRANSFORMERS, "head_dim", 5),
        (TRANSFORMERS, "attention_dropout", 2),
        (TRANSFORMERS, "decode_index", 0),
        (TRANSFORMERS, "quantiles", [0.5, 0.1, 0.9]),
    ],
)
def test_what_is_not_built_is_named(tensors, config, path, value):
    tensors = tensors if config is TRANSFORMERS else original(tensors)
    named = {"head_dim": "key_dim", "attention_dropout": "dropout", "quantiles": "levels"}
    name = path.split(".")[-1]
    name = "rope_type" if name == "rope_parameters" else named.get(name, name)
    with pytest.raises(ValueError, match=name) as caught:
        timesfm.load(changed(config, path, value), tensors)
    assert "\n" not in str(caught.value)


def test_weights_that_do_not_fit_are_named(tensors, tmp_path):
    fused = "stacked_xf.1.attn.qkv_proj.weight"
    good = original(tensors)
    for damaged, message in (
        ({key: good[key] for key in good if key != fused}, f"lacks '{fused}'"),
        ({**good, "more": np.zeros(2, "float32")}, "additional key 'more'"),
        ({**good, fused: np.zeros((37, 12), "float32")}, fused),
    ):
        with pytest.raises(ValueError, match=message):
            pretrained.load(write(tmp_path, ORIGINAL, damaged))
    save_file(good, tmp_path / "model.safetensors")
    assert pretrained.load(tmp_path).max_context == 64 - 20


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"prediction_length": 21}, "use_continuous_quantile_head"),
        ({"series": [[1.0, np.inf]]}, "infinite"),
        ({"past_covariates": [{"a": np.ones(3)}]}, "past_covariates"),
    ],
)
def test_bad_input_is_one_clear_line(model, given, message):
    with pytest.raises(ValueError, match=message) as caught:
        model.forecast(**{"series": [np.arange(3.0)], "prediction_length": 6, **given})
    assert "\n" not in str(caught.value)


def test_options_that_there_are_not_are_refused(model):
    with pytest.raises(ValueError, match=r"timesfm has the options .*, got \['max_horizon'\]"):
        model.with_options(max_horizon=64)
    with pytest.raises(ValueError, match="max_context"):
        model.with_options(max_context=0)
    with pytest.raises(ValueError, match="infer_is_positive must be one of True, False, got 'no'"):
        model.with_options(infer_is_positive="no")
