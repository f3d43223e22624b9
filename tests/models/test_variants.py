"""What hyperparameters change, beyond what the contract holds every architecture to."""

import keras
import numpy as np
import pytest

from kerastrans import heads, zoo
from kerastrans.layers import Dropout, RecurrentCycle, ReversibleInstanceNormalization
from kerastrans.models.parts.encoder_decoders import label_input
from kerastrans.models.segrnn import ChannelSegmentEmbedding
from kerastrans.testing import check_model
from tests.conftest import to_numpy
from tests.helpers import architectures
from tests.helpers.architectures import SMALL

WINDOWS = np.random.default_rng(0).standard_normal((2, 24, 3)).astype("float32")
# Architectures that do not normalise windows on request, and the request.
PLAIN = {
    name: {option: value}
    for option, value in (("standardize", False), ("center", None))
    for name in zoo.names()
    if option in zoo.info(name).defaults
}


@pytest.mark.parametrize("name", ["linear_regression", "nlinear", "dlinear", "rlinear"])
def test_individual_channels_have_weights_of_their_own(name):
    shared = zoo.build(name, 24, 12, 3)
    model = zoo.build(name, 24, 12, 3, individual=True)
    per_channel = {"rlinear": 6}.get(name, 0)  # RevIN's scale and offset are per channel in both
    own, common = model.count_params() - per_channel, shared.count_params() - per_channel
    assert own == 3 * common
    # With the shared weights in every channel it is the shared model.
    weights = [
        weight
        if target.shape == weight.shape
        else np.broadcast_to(weight if weight.shape[-1] == 1 else weight[None], target.shape)
        for weight, target in zip(shared.get_weights(), model.get_weights(), strict=True)
    ]
    model.set_weights(weights)
    expected = to_numpy(shared(WINDOWS))
    np.testing.assert_allclose(to_numpy(model(WINDOWS)), expected, atol=1e-5)


def test_trend_stacks_draw_polynomials():
    model = zoo.build("nbeats", 24, 12, 3, stacks=("trend",), hidden_dim=16)
    forecast = to_numpy(model(WINDOWS))
    np.testing.assert_allclose(np.diff(forecast, n=3, axis=1), 0, atol=1e-4)
    assert np.abs(np.diff(forecast, n=2, axis=1)).max() > 1e-4


def test_exogenous_stacks_draw_sums_of_the_future_covariates():
    options = {"hidden_dim": 16, "covariates": {"future": (0, 0)}}
    model = zoo.build("nbeats", 24, 12, 3, stacks=("exogenous",), **options)
    known = np.random.default_rng(0).standard_normal((2, 36, 2)).astype("float32")
    forecast = to_numpy(model({"history": WINDOWS, "future_covariates": known}))
    for curves, drawn in zip(known[:, 24:], forecast, strict=True):
        coefficients, *_ = np.linalg.lstsq(curves, drawn, rcond=None)
        np.testing.assert_allclose(curves @ coefficients, drawn, atol=1e-5)
        assert np.abs(coefficients).min() > 1e-6
    convolved = zoo.build("nbeats", 24, 12, 3, stacks=("exogenous_wavenet",), **options)
    assert len([x for x in convolved.layers if isinstance(x, keras.layers.Conv1D)]) == 3 * 4
    with pytest.raises(ValueError, match="'exogenous' requires future covariates, got none"):
        zoo.build("nbeats", 24, 12, 3, stacks=("exogenous",), covariates={"past": (0,)})


def test_blocks_of_an_interpretable_stack_share_their_weights():
    def count(num_blocks, stacks):
        model = zoo.build("nbeats", 24, 12, 3, stacks=stacks, num_blocks=num_blocks, hidden_dim=8)
        return model.count_params()

    # From the second block on the backcast is used, and nothing is added.
    assert count(2, ("seasonality",)) == count(5, ("seasonality",))
    assert count(2, ("generic",)) < count(5, ("generic",))


def test_baselines_repeat_what_they_say():
    last = to_numpy(zoo.build("last_value", 24, 5, 3)(WINDOWS))
    np.testing.assert_array_equal(last, np.repeat(WINDOWS[:, -1:], 5, axis=1))
    season = to_numpy(zoo.build("seasonal_naive", 24, 12, 3, season=5)(WINDOWS))
    expected = np.concatenate([WINDOWS[:, -5:]] * 3, axis=1)[:, :12]
    np.testing.assert_array_equal(season, expected)
    mean = to_numpy(zoo.build("moving_average", 24, 2, 3, window=7)(WINDOWS))
    expected = np.repeat(WINDOWS[:, -7:].mean(axis=1, keepdims=True), 2, axis=1)
    np.testing.assert_allclose(mean, expected, atol=1e-6)


def test_cyclenet_forecasts_a_pure_cycle_from_its_position_alone():
    model = zoo.build("cyclenet", 6, 4, 1, cycle_length=5)
    cycle = next(layer for layer in model.layers if isinstance(layer, RecurrentCycle))
    linear = next(layer for layer in model.layers if isinstance(layer, keras.layers.EinsumDense))
    linear.set_weights([np.zeros((6, 4)), np.zeros(4)])
    values = np.array([[-1.4], [-0.7], [0.0], [0.7], [1.4]])  # mean 0, standard deviation 1
    cycle.set_weights([values])
    # A window of the cycle itself: normalised by its own statistics, it comes back as the cycle.
    positions = np.array([0, 3], "int32")
    history = np.stack([values[(p + np.arange(6)) % 5] for p in positions]).astype("float32")
    forecast = to_numpy(model({"history": history, "position": positions}))
    for window, start, found in zip(history, positions, forecast, strict=True):
        expected = values[(start + 6 + np.arange(4)) % 5] * window.std(ddof=1) + window.mean()
        np.testing.assert_allclose(found, expected, atol=1e-4)


def test_cyclenet_mlp_has_a_hidden_layer():
    linear = zoo.build("cyclenet", 24, 12, 3).count_params()
    hidden = zoo.build("cyclenet", 24, 12, 3, hidden_dim=10).count_params()
    assert hidden - linear == (24 * 10 + 10) + (10 * 12 + 12) - (24 * 12 + 12)


def test_segrnn_steps_as_keras_gated_recurrent_unit():
    model = zoo.build("segrnn", 24, 12, 3, segment_length=4, d_model=8, dropout=0.0)
    inputs, states = (model.get_layer(f"{gates}_gates") for gates in ("input", "state"))
    cell = keras.layers.GRUCell(8)
    cell.build((None, 8))
    biases = np.random.default_rng(1).standard_normal((2, 24)).astype("float32")
    inputs.bias.assign(biases[0])
    states.bias.assign(biases[1])
    cell.set_weights([to_numpy(inputs.kernel), to_numpy(states.kernel), biases])

    last = WINDOWS[:, -1:]
    segments = (WINDOWS - last).transpose(0, 2, 1).reshape(6, 6, 4)  # a row per channel
    past = model.get_layer("embedding")(segments)
    state = np.zeros((6, 8), "float32")
    for step in range(6):
        state, _ = cell(past[:, step], state)
    embedding = next(x for x in model.layers if isinstance(x, ChannelSegmentEmbedding))
    where = np.tile(to_numpy(embedding(np.zeros((2, 3, 8))))[0], (2, 1, 1))
    future = [cell(where[:, segment], state)[0] for segment in range(3)]
    expected = np.concatenate([to_numpy(model.get_layer("head")(x)) for x in future], axis=1)
    expected = expected.reshape(2, 3, 12).transpose(0, 2, 1) + last
    np.testing.assert_allclose(to_numpy(model(WINDOWS)), expected, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "options"), [("tsmixer", {"ff_dim": 16}), ("tide", {"hidden_dim": 32})]
)
def test_what_was_written_in_tensorflow_starts_as_its_layers_do(name, options):
    model = zoo.build(name, 24, 12, 3, **options)
    kernels = [weight for weight in model.trainable_weights if weight.name == "kernel"]
    for kernel in kernels:
        fan_in, fan_out = kernel.shape
        largest = np.abs(to_numpy(kernel)).max() / np.sqrt(6 / (fan_in + fan_out))
        assert largest <= 1
        assert largest > (0.9 if fan_in * fan_out > 100 else 0.2)
    assert len(kernels) == {"tsmixer": 2 * 3 + 1, "tide": 4 * 3 + 4}[name]
    norms = [layer for layer in model.layers if "normalization" in layer.name]
    assert len(norms) == 4
    for layer in norms:
        assert layer.epsilon == 1e-3
        assert getattr(layer, "momentum", 0.99) == 0.99


def build_patchtst(**options):
    keras.utils.set_random_seed(0)
    small = {"d_model": 8, "num_heads": 2, "ff_dim": 8, "patch_length": 6, "stride": 3}
    return zoo.build("patchtst", 24, 12, 3, **{**small, **options})


def test_patchtst_without_a_learnt_scale_is_equal_until_that_is_learnt():
    plain, affine = build_patchtst(affine=False), build_patchtst()
    assert affine.count_params() - plain.count_params() == 6
    np.testing.assert_allclose(to_numpy(plain(WINDOWS)), to_numpy(affine(WINDOWS)), atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("num_blocks", [1, 3])
def test_patchtst_passes_its_scores_from_block_to_block(num_blocks):
    plain = build_patchtst(num_blocks=num_blocks)
    residual = build_patchtst(num_blocks=num_blocks, residual_attention=True)
    residual.set_weights(plain.get_weights())
    difference = np.abs(to_numpy(residual(WINDOWS)) - to_numpy(plain(WINDOWS))).max()
    assert difference < 1e-6 if num_blocks == 1 else difference > 1e-2


@pytest.mark.parametrize("head", [None, "poisson"])
@pytest.mark.parametrize(
    "name",
    [pytest.param(x, marks=() if x == "cyclenet" else pytest.mark.slow) for x in PLAIN],
)
def test_windows_are_not_standardized_on_request(name, head):
    model = architectures.build(name, **PLAIN[name], head=head)
    norms = [x for x in model.layers if isinstance(x, ReversibleInstanceNormalization)]
    assert [(x.affine, x.fill) for x in norms] == [(False, True)]
    scale = heads.get(head).window_scale if head else None  # counts are scaled in any case
    center = "last" if name == "segrnn" and head is None else None
    assert (norms[0].center, norms[0].scale) == (center, scale)
    history = np.abs(WINDOWS)
    history[0, 3:7] = np.nan
    assert np.isfinite(architectures.forecast(model, history)).all()


@pytest.mark.parametrize("label_length", [0, 5, 24])
def test_the_input_of_a_decoder_is_a_label_and_zeros(label_length):
    found = to_numpy(label_input(WINDOWS, label_length, 12))
    expected = np.concatenate([WINDOWS[:, 24 - label_length :], np.zeros((2, 12, 3))], axis=1)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.slow
def test_patchtst_with_residual_attention_keeps_the_contract():
    options = {"d_model": 16, "num_heads": 2, "ff_dim": 24, "patch_length": 6, "stride": 3}
    options |= {"residual_attention": True, "affine": False, "dropout": 0.0}
    check_model("patchtst", 24, 12, 3, **options)


FUTURE = {"covariates": {"future": (0, 0)}}
PAST = {"covariates": {"past": (0, 0)}}
# Options of published code: name, options, and claims that differ from those of the registry.
OPTIONS = [
    ("segrnn", {"decoding": "recurrent"}, {}),
    ("segrnn", {"channel_embedding": False, "standardize": True}, {"equivariance": "affine"}),
    ("tide", {"covariate_dim": 2, "covariates": {"past": (0,), "future": (0, 3)}}, {}),
    ("itransformer", {"covariate_tokens": True, **PAST}, {}),
    ("patchtst", {"covariate_tokens": True, "covariates": {"past": (0,), "future": (0, 3)}}, {}),
    ("informer", {"calendar_embedding": True, **FUTURE}, {}),
    ("nbeats", {"stacks": ("trend", "seasonality"), "reference_curves": True}, {}),
]
# Those that `make contract` checks. They take long, and test_parity.py compares their numbers.
MORE_OPTIONS = [
    ("cyclenet", {"hidden_dim": 5}, {}),
    ("sparsetsf", {"hidden_dim": 5}, {}),
    ("tcn", {"filters": (5, 7), "num_blocks": 2, "weight_norm": False}, {}),
    ("tide", {"variant": "time_series_library"}, {}),
    ("nhits", {"input_dim": 5}, {}),
    ("rlinear", {"affine": False}, {}),
    ("segrnn", {"cell": "lstm"}, {}),
    ("timexer", {"shared_embedding": True, **PAST}, {}),
    ("timexer", {"covariates_only": True, **PAST}, {"mixes_channels": False}),
    ("itransformer", {"covariate_tokens": True, **FUTURE}, {}),
    ("timemixer", {"mix_channels": True}, {"mixes_channels": True}),
    ("autoformer", {"reference_delays": True}, {}),
    ("fedformer", {"shared_blocks": True, "reference_layout": True}, {"mixes_channels": True}),
    ("fedformer", {"moving_average": (6, 3, 12)}, {"mixes_channels": True}),
    ("fedformer", {"mode_selection": "low", "cross_activation": "softmax"}, {}),
    ("fedformer", {"version": "wavelets", "wavelet_dim": 4, "num_polynomials": 3}, {}),
    ("informer", {"reference_attention": True, "distil": False}, {}),
    ("informer", {"attention": "full", "reference_attention": True}, {}),
    ("duet", {"shared_gates": True}, {}),
    ("tft", {"variant": "time_series_library", **FUTURE}, {"equivariance": "affine"}),
    ("segrnn", {"cell": "rnn", "decoding": "recurrent"}, {}),
    ("patchtst", {"center": "last", "pad_end": False}, {}),
    ("patchtst", {"moving_average": 5, "covariate_tokens": True, **PAST}, {}),
    ("moderntcn", {"center": "last", "moving_average": 5}, {}),
    ("xpatch", {"pad_end": False}, {}),
    ("nbeats", {"shared_blocks": "all"}, {}),
    ("nbeats", {"stacks": ("exogenous_wavenet",), "reference_curves": True, **FUTURE}, {}),
    ("nbeats", {"stacks": ("trend", "seasonality"), "shared_blocks": "none"}, {}),
    (
        "nbeats",
        {"stacks": ("trend", "seasonality"), "hidden_dim": (8, 16), "harmonics": 2},
        {},
    ),
    ("nhits", {"hidden_dim": (16, 8)}, {}),
    ("timemixer", {"scale_pooling": "max"}, {}),
    ("wpmixer", {"wavelet": "bior3.1"}, {}),
    ("xlstm_mixer", {"kernel_size": 2}, {}),
    ("timebridge", {"num_blocks": 0}, {}),
    ("timebridge", {"num_downsampling_blocks": 0}, {}),
    (
        "timebridge",
        {"num_channel_blocks": 0, "reference_attention": True},
        {"mixes_channels": False},
    ),
    *((name, options, {"equivariance": None}) for name, options in PLAIN.items()),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options", "claims"),
    [*OPTIONS, *(pytest.param(*row, marks=pytest.mark.exhaustive) for row in MORE_OPTIONS)],
)
def test_options_of_published_code_keep_the_contract(name, options, claims):
    def build(context_length, prediction_length, num_channels, **options):
        return zoo.build(name, context_length, prediction_length, num_channels, **options)

    options = {**SMALL.get(name, {}), **options}
    check_model(build if claims else name, 24, 12, 3, **claims, **options)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("segrnn", {"decoding": "recurrent", "head": "normal"}, "requires a point head"),
        ("segrnn", {"decoding": "rmf"}, "decoding must be one of"),
        ("segrnn", {"cell": "cnn"}, "cell must be one of 'gru', 'lstm', 'rnn', got 'cnn'"),
        ("patchtst", {"center": "median"}, "center must be one of 'mean', 'last', None, got"),
        (
            "fedformer",
            {"activation": "elu"},
            "activation must be one of 'gelu', 'relu', got 'elu'",
        ),
        ("nbeats", {"shared_blocks": True}, "shared_blocks must be one of 'interpretable', 'all'"),
        ("nbeats", {"hidden_dim": (8, 0)}, r"hidden_dim\[1\] must be an integer of"),
        ("nbeats", {"hidden_dim": (8, 8, 8)}, "one number for each of 2 stacks, got"),
        ("nhits", {"hidden_dim": (8,)}, "one number for each of 2 layers, got"),
        ("wpmixer", {"wavelet": "coif5"}, "unknown wavelet 'coif5'"),
        (
            "timexer",
            {"shared_embedding": True, "covariates": {"static": (0,)}},
            "only past and future covariates that are numbers",
        ),
        (
            "timexer",
            {"covariates_only": True},
            "covariates_only=True requires covariates, got none",
        ),
        ("informer", {"calendar_embedding": True, **PAST}, "requires future covariates"),
        ("tft", {"variant": "time_series_library"}, "requires future covariates, got none"),
        ("tft", {"static_channels": (0,)}, "static_channels require variant"),
        ("tcn", {"filters": (4, 0)}, r"filters\[1\] must be an integer of at least 1"),
        ("tcn", {"filters": (4,)}, "one number for each of 6 blocks, got"),
        ("fedformer", {"moving_average": (4, 0)}, r"moving_average\[1\] must be an integer of"),
        ("fedformer", {"moving_average": ()}, "moving_average must have at least one number, got"),
        ("tide", {"variant": "copy"}, "variant must be one of 'paper', 'time_series_library'"),
    ],
)
def test_options_that_cannot_work_are_refused(name, options, message):
    with pytest.raises(ValueError, match=message):
        zoo.build(name, 48, 12, 3, **options)


@pytest.mark.slow
def test_causal_multipatchformer_hides_later_channels(tmp_path):
    model = zoo.build("multipatchformer", 24, 12, 3, causal=True, **SMALL["multipatchformer"])
    changed = WINDOWS.copy()
    changed[..., 2] = changed[::-1, :, 2]
    before, after = to_numpy(model(WINDOWS)), to_numpy(model(changed))
    np.testing.assert_allclose(before[..., :2], after[..., :2], atol=1e-6)
    free = zoo.build("multipatchformer", 24, 12, 3, **SMALL["multipatchformer"])
    assert np.abs(to_numpy(free(WINDOWS)) - to_numpy(free(changed)))[..., :2].max() > 1e-4
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(to_numpy(loaded(WINDOWS)), before, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("positional_encoding", [False, True])
def test_timefilter_without_positions_treats_all_patches_alike(positional_encoding):
    options = {**SMALL["timefilter"], "positional_encoding": positional_encoding}
    model = zoo.build("timefilter", 24, 12, 3, **options)
    embedded = keras.Model(model.input, model.get_layer("encoder_0_self_attention_norm").input)
    repeated = np.tile(WINDOWS[:, :6], (1, 4, 1))  # the same patch four times
    patches = to_numpy(embedded(repeated)).reshape(2, 3, 4, -1)
    changes = np.abs(np.diff(patches, axis=2)).max(axis=-1)
    assert (changes > 0.1).all() if positional_encoding else (changes < 1e-6).all()


def test_duet_draws_its_mask_in_forecasts_on_request_only():
    def forecasts(**options):
        model = zoo.build("duet", 24, 12, 3, **SMALL["duet"], **options)
        return {to_numpy(model(WINDOWS)).tobytes() for _ in range(8)}

    assert len(forecasts()) == 1
    assert len(forecasts(draw_always=True)) > 1


def test_timekan_drops_embedded_steps():
    model = zoo.build("timekan", 24, 12, 3, **{**SMALL["timekan"], "dropout": 0.4})
    embedded = [x.output for x in model.layers if isinstance(x, Dropout)]
    assert sorted(x.shape[1:] for x in embedded) == [(6, 8), (12, 8), (24, 8)]
    for x in keras.Model(model.input, embedded)(WINDOWS, training=True):
        assert (to_numpy(x) == 0).mean() == pytest.approx(0.4, abs=0.12)


def test_experts_of_duet_start_as_averages():
    model = zoo.build("duet", 16, 12, 3, **SMALL["duet"])
    for name in ("season", "trend"):
        kernel, bias = map(to_numpy, model.get_layer(name).weights)
        assert (kernel == 1 / 16).all()
        assert 0.2 < np.abs(bias).max() < 0.25  # at random up to 1 / sqrt(16)


def test_duet_drops_parts_of_its_forecast_in_training():
    model = zoo.build("duet", 24, 200, 3, **{**SMALL["duet"], "output_dropout": 0.7})
    window = WINDOWS[:1]
    # What was dropped is the mean of the window.
    dropped = np.isclose(to_numpy(model(window, training=True)), window.mean(1, keepdims=True))
    assert dropped.mean() == pytest.approx(0.7, abs=0.1)
    kept = zoo.build("duet", 24, 200, 3, **SMALL["duet"])
    assert not np.isclose(
        to_numpy(kept(window, training=True)), window.mean(1, keepdims=True)
    ).all()


@pytest.mark.slow
def test_decomposed_moderntcn_adds_the_forecasts_of_two_networks():
    options = {**SMALL["moderntcn"], "affine": False}
    model = zoo.build("moderntcn", 24, 12, 3, moving_average=5, **options)
    one = zoo.build("moderntcn", 24, 12, 3, **options)
    assert model.count_params() == 2 * one.count_params()
    counts = zoo.build("moderntcn", 24, 12, 3, moving_average=5, head="poisson", **options)
    norms = [x for x in counts.layers if isinstance(x, ReversibleInstanceNormalization)]
    assert [x.center for x in norms] == [None] * 3  # counts are never shifted
    last = zoo.build("moderntcn", 24, 12, 3, moving_average=5, center="last", **options)
    norms = [x for x in last.layers if isinstance(x, ReversibleInstanceNormalization)]
    assert [(x.center, x.scale) for x in norms] == [("last", "std")] * 3
    with pytest.raises(ValueError, match="widths and depths must have one number for each stage"):
        zoo.build("moderntcn", 24, 12, 3, depths=(1, 1))
