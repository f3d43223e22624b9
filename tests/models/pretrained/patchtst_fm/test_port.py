import keras
import numpy as np
import pytest

from kerastrans import heads
from kerastrans.decoding.graph import takes_missing
from kerastrans.models import pretrained
from kerastrans.models.pretrained.patchtst_fm import port as patchtst_fm
from tests.helpers.checkpoints import PATCHTST_FM as CONFIG
from tests.helpers.checkpoints import random_patchtst_fm, write

pytestmark = pytest.mark.slow  # what all ports share is tested with the others

HORIZON = 10
FUSED = "backbone.blocks.1.attn.qkv"


@pytest.fixture(scope="module")
def model():
    return patchtst_fm.load(CONFIG, random_patchtst_fm(CONFIG))


@pytest.fixture(scope="module")
def series():
    rng = np.random.default_rng(1)
    values = [rng.normal(3, 2, length).cumsum() for length in (80, 21, 3)]
    values[1][[0, 7, 8, 20]] = np.nan
    return values


def assert_close(one, other):
    for x, y in zip(one, other, strict=True):
        for key in x:
            np.testing.assert_allclose(x[key], y[key], rtol=1e-4, atol=1e-3)


@pytest.mark.exhaustive
def test_the_functional_model_is_what_forecast_runs(model, series, tmp_path):
    functional = model.build(21, HORIZON, num_channels=2)
    history = np.stack([series[1], series[0][-21:]], axis=-1)[None].astype("float32")
    rows = [history[0, 1:, 0], history[0, :, 1]]  # the first channel begins with a missing value
    expected = np.stack([x["quantiles"][0] for x in model.forecast(rows, HORIZON, model.levels)])
    quantiles = keras.ops.convert_to_numpy(functional(history))
    np.testing.assert_allclose(quantiles[0].swapaxes(0, 1), expected, rtol=1e-4, atol=1e-3)
    assert heads.of(functional).levels == model.levels
    assert takes_missing(functional)

    functional.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(loaded(history), quantiles, rtol=1e-5, atol=1e-5)


def test_a_forecast_does_not_depend_on_its_neighbours(model, series):
    together = model.forecast(series, HORIZON)
    assert_close(together, [model.forecast([values], HORIZON)[0] for values in series])


def test_of_a_long_series_what_the_horizon_leaves_counts(model, series):
    last = series[0][-(CONFIG["context_length"] - HORIZON) :]
    assert_close(model.forecast([series[0]], HORIZON), model.forecast([last], HORIZON))


def test_a_short_horizon_is_the_start_of_what_was_masked_in_training(model, series):
    one, eight = (model.forecast(series, horizon)[0]["mean"] for horizon in (1, 8))
    np.testing.assert_allclose(one, eight[:, :1], rtol=1e-5)


def test_a_missing_start_is_not_the_same_as_none(model, series):
    known = series[0][:11]
    missing = np.concatenate([np.full(10, np.nan), known])
    one, other = (model.forecast([x], HORIZON)[0]["mean"] for x in (known, missing))
    assert np.abs(one - other).max() > 1e-2
    assert np.isfinite(model.forecast([np.full(9, np.nan)], HORIZON)[0]["mean"]).all()


def test_quantiles_do_not_cross_and_the_mean_is_their_integral(model, series):
    found = model.forecast(series, HORIZON, model.levels)[0]
    quantiles = found["quantiles"]
    assert (np.diff(quantiles) >= 0).all()
    # Nine levels, 0.1 apart: the outermost count one and a half times.
    shares = np.array([0.15, *[0.1] * 7, 0.15])
    np.testing.assert_allclose(found["mean"], quantiles @ shares, rtol=1e-4)


@pytest.mark.parametrize(
    "switches",
    [{"norm_first": False, "prehead_norm": True}, {"qkv_bias": False, "randomize_cpm": True}],
)
def test_switches_that_are_built(series, switches):
    config = {**CONFIG, **switches}
    model = patchtst_fm.load(config, random_patchtst_fm(config))
    assert (f"{FUSED}.bias" in random_patchtst_fm(config)) == config.get("qkv_bias", True)
    assert model.min_horizon == (16 if "randomize_cpm" in switches else 8)
    assert np.isfinite(model.forecast(series[1:], 3)[0]["quantiles"]).all()


def test_levels_of_the_published_code():
    assert patchtst_fm.default_levels(9) == pytest.approx([k / 10 for k in range(1, 10)])
    assert patchtst_fm.default_levels(5) == pytest.approx([0.01, 0.25, 0.5, 0.75, 0.99])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("block_type", "conformer"),
        ("mlp_type", "swiglu"),
        ("patch_stride", 2),
        ("norm_first", "yes"),
        ("d_patch", 3),
        ("n_head", 5),
        ("n_layer", 0),
        ("num_quantile", None),
        ("quantile_levels", [0.1, 0.5, 0.9]),
    ],
)
def test_what_is_not_built_is_named(name, value):
    with pytest.raises(ValueError, match=name) as caught:
        patchtst_fm.load({**CONFIG, name: value}, {})
    assert "\n" not in str(caught.value)


def test_weights_that_do_not_fit_are_named(tmp_path):
    good, key = random_patchtst_fm(CONFIG), f"{FUSED}.weight"
    for damaged, message in (
        ({name: good[name] for name in good if name != key}, f"lacks '{key}'"),
        ({**good, "more": np.zeros(2, "float32")}, "additional key 'more'"),
        ({**good, key: np.zeros((37, 12), "float32")}, key),
    ):
        with pytest.raises(ValueError, match=message):
            pretrained.load(write(tmp_path, CONFIG, damaged))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"prediction_length": 40}, "prediction_length must be below context_length=40"),
        ({"series": [[1.0, np.inf]]}, "infinite"),
        ({"cross_learning": True}, "cross_learning"),
    ],
)
def test_bad_input_is_one_clear_line(model, given, message):
    with pytest.raises(ValueError, match=message) as caught:
        model.forecast(**{"series": [np.arange(3.0)], "prediction_length": 6, **given})
    assert "\n" not in str(caught.value)
