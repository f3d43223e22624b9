import keras
import numpy as np
import pytest

from kerastrans.models import pretrained
from kerastrans.models.parts.contract import check_contract
from kerastrans.models.pretrained.chronos import v2_network as chronos_2_network
from kerastrans.models.pretrained.chronos import v2_port as chronos_2
from tests.helpers.checkpoints import CHRONOS_2, changed, random_tensors, write

HORIZON, ROLLOUT = 7, 11  # within the native horizon of 8, and past it
RNG = np.random.default_rng(1)
SERIES = [RNG.normal(3, 2, length).cumsum() for length in (60, 13, 5)]
SERIES[1][[0, 7, 12]] = np.nan
PAST = [{"a": RNG.normal(size=len(x)), "b": RNG.normal(size=len(x))} for x in SERIES]
FUTURE = [{"a": RNG.normal(size=ROLLOUT)} for _ in SERIES]


def weights(config):
    own, core = chronos_2_network.read_own(config), chronos_2_network.read_core(config)
    return random_tensors(chronos_2_network.build_network(core, own)[1])


@pytest.fixture(scope="module")
def model():
    return chronos_2.load(CHRONOS_2, weights(CHRONOS_2))


def assert_close(one, other):
    for x, y in zip(one, other, strict=True):
        for key in x:
            np.testing.assert_allclose(x[key], y[key], rtol=1e-3, atol=1e-3)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_the_functional_model_is_what_forecast_runs(model, tmp_path):
    covariates = {"past": (0,), "future": (0,)}
    functional = model.build(13, ROLLOUT, 1, covariates)
    check_contract(functional, 13, ROLLOUT, 1, covariates=("past", "future"))
    past, future = PAST[1], FUTURE[1]
    inputs = {
        "history": SERIES[1][None, :, None].astype("float32"),
        "past_covariates": past["b"][None, :, None].astype("float32"),
        "future_covariates": np.concatenate([past["a"], future["a"]])[None, :, None],
    }
    quantiles = keras.ops.convert_to_numpy(functional(inputs))[0].swapaxes(0, 1)
    expected = model.forecast([SERIES[1]], ROLLOUT, model.levels, [past], [future])
    np.testing.assert_allclose(quantiles, expected[0]["quantiles"], rtol=1e-3, atol=1e-3)

    functional.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    again = keras.ops.convert_to_numpy(loaded(inputs))[0].swapaxes(0, 1)
    np.testing.assert_allclose(again, quantiles, rtol=1e-5, atol=1e-5)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_forecast_does_not_depend_on_its_neighbours(model):
    given = (PAST, [{name: x[:HORIZON] for name, x in columns.items()} for columns in FUTURE])
    together = model.forecast(SERIES, HORIZON, None, *given)
    alone = [
        model.forecast([x], HORIZON, None, [past], [future])[0]
        for x, past, future in zip(SERIES, *given, strict=True)
    ]
    assert_close(together, alone)


@pytest.mark.slow
def test_a_single_series_can_be_forecast_for_a_single_patch(model):
    one, *_ = model.forecast([SERIES[0]], 4)
    assert_close([one], model.forecast([SERIES[0]] * 2, 4)[:1])


def test_of_a_long_series_the_last_part_counts(model):
    last = {name: values[-24:] for name, values in PAST[0].items()}
    whole = model.forecast([SERIES[0]], HORIZON, past_covariates=[PAST[0]])
    assert_close(whole, model.forecast([SERIES[0][-24:]], HORIZON, past_covariates=[last]))


def test_variates_and_covariates_change_a_forecast(model):
    alone = model.forecast([SERIES[0]], HORIZON)[0]["quantiles"]
    both = model.forecast([np.stack([SERIES[0], SERIES[0][::-1]])], HORIZON)[0]["quantiles"]
    covariate = {"a": SERIES[0][::-1]}
    beside = model.forecast([SERIES[0]], HORIZON, past_covariates=[covariate])[0]["quantiles"]
    assert np.abs(both[0] - alone[0]).max() > 1e-2
    # A variate that is not asked for is a covariate whose future is not known.
    np.testing.assert_allclose(beside[0], both[0], rtol=1e-3, atol=1e-3)
    nothing = {"a": np.full(HORIZON, np.nan)}
    unknown = model.forecast([SERIES[0]], HORIZON, None, [covariate], [nothing])[0]["quantiles"]
    np.testing.assert_allclose(unknown, beside, rtol=1e-3, atol=1e-3)
    known = {"a": np.arange(HORIZON)}
    ahead = model.forecast([SERIES[0]], HORIZON, None, [covariate], [known])[0]["quantiles"]
    assert np.abs(ahead - beside).max() > 1e-2


def test_with_cross_learning_all_series_are_one_group(model):
    rows = [values[-5:] for values in (SERIES[0], SERIES[2])]
    joined = model.forecast([np.stack(rows)], HORIZON)[0]
    crossed = model.forecast(rows, HORIZON, cross_learning=True)
    assert_close(crossed, [{key: x[i : i + 1] for key, x in joined.items()} for i in (0, 1)])


@pytest.mark.slow
def test_series_of_unlike_covariates_are_forecast_in_one_call(model):
    mixed = model.forecast(SERIES[:2], HORIZON, None, [{}, PAST[1]])
    assert_close(mixed[:1], model.forecast(SERIES[:1], HORIZON))
    assert_close(mixed[1:], model.forecast(SERIES[1:2], HORIZON, None, [PAST[1]]))


def test_levels_off_the_trained_grid_are_linear_and_constant_outside(model):
    quantiles = np.arange(11.0)
    np.testing.assert_allclose(model.at_levels(quantiles, (0.001, 0.55, 0.995)), [0, 5.5, 10])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("input_patch_stride", 2),
        ("output_patch_size", 8),
        ("use_reg_token", False),
        ("use_arcsinh", None),
        ("is_gated_act", True),
        ("quantiles", [0.1, 0.5, 0.9]),
        ("rope_theta", 0),
        ("max_output_patches", 0),
    ],
)
def test_a_switch_that_is_not_built_is_named(tmp_path, name, value):
    folder = write(tmp_path, changed(CHRONOS_2, **{name: value}), weights(CHRONOS_2))
    with pytest.raises(ValueError, match=name):
        pretrained.load(folder)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"past_covariates": [{}, {}]}, "past_covariates"),
        ({"past_covariates": [[1.0, 2.0, 3.0]]}, "past_covariates"),
        ({"past_covariates": [{"a": np.ones(2)}]}, "series 0: the covariate 'a'"),
        ({"past_covariates": [{"a": [0, 1, np.inf]}]}, "infinite"),
        ({"past_covariates": [{"a": ["x", "y", "z"]}]}, "numbers"),
        ({"future_covariates": [{"a": np.ones(4)}]}, "lack the past of 'a'"),
        (
            {"past_covariates": [{"a": np.ones(3)}], "future_covariates": [{"a": np.ones(5)}]},
            r"shape \(4,\)",
        ),
    ],
)
def test_covariates_that_do_not_fit_are_one_clear_line(model, given, message):
    with pytest.raises(ValueError, match=message) as caught:
        model.forecast([np.arange(3.0)], 4, **given)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("covariates", [{"static": (0,)}, {"past": (3,)}])
def test_a_model_for_other_covariates_is_not_built(model, covariates):
    with pytest.raises(ValueError, match="static covariates and no categories"):
        model.build(8, 4, 1, covariates)
