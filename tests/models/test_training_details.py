"""Places of dropout and initial weights of architectures, which no forecast of weights shows."""

import keras
import numpy as np
import pytest
from keras import layers

from kerastrans import zoo
from kerastrans.layers import Dropout
from tests.conftest import to_numpy
from tests.helpers.parity import weights_by_path

pytestmark = pytest.mark.slow

RATE = 0.3
HISTORY = np.random.default_rng(0).standard_normal((16, 48, 3)).astype("float32")


def share_of_zeros(model, tensor):
    """Return the share of zeros in a tensor of the graph, in training."""
    part = keras.Model(model.inputs, tensor)
    return (to_numpy(part([HISTORY], training=True)) == 0).mean()


def shares_of_zeros(model, tensors):
    """Return the share of zeros in each tensor of the graph, in training."""
    return [share_of_zeros(model, tensor) for tensor in tensors]


@pytest.mark.parametrize("residual", [False, True])
def test_patchtst_drops_the_result_of_attention_twice(residual):
    sizes = {"dropout": RATE, "num_blocks": 1, "residual_attention": residual}
    model = zoo.build("patchtst", 48, 12, 3, **sizes)
    added = model.get_layer("encoder_0_self_attention_add").input[1]
    assert share_of_zeros(model, added) == pytest.approx(1 - (1 - RATE) ** 2, abs=0.02)
    added = model.get_layer("encoder_0_ffn_add").input[1]
    assert share_of_zeros(model, added) == pytest.approx(RATE, abs=0.02)


def test_timebridge_drops_embeddings_and_merged_patches_but_not_what_they_attend_to():
    sizes = {"period": 12, "d_model": 16, "num_blocks": 1, "num_channel_blocks": 0}
    model = zoo.build("timebridge", 48, 12, 3, dropout=RATE, **sizes)
    embedded, attended = model.get_layer("patches_0_self_attention_add").input
    merged, downsampled = model.get_layer("downsampling_0_self_attention_add").input
    shares = shares_of_zeros(model, [embedded, attended, merged, downsampled])
    assert shares == pytest.approx([RATE, RATE, RATE, 0], abs=0.03)


def test_multipatchformer_drops_results_and_attention_weights_only():
    sizes = {"d_model": 16, "num_blocks": 1, "num_pieces": 1}
    model = zoo.build("multipatchformer", 48, 12, 3, dropout=RATE, attention_dropout=0.2, **sizes)
    tensors = []
    for block in ("encoder_0", "channels"):
        assert model.get_layer(f"{block}_self_attention").weights_dropout.rate == 0.2
        tensors += model.get_layer(f"{block}_self_attention_add").input
        tensors += [model.get_layer(f"{block}_ffn_contract").input]
        tensors += model.get_layer(f"{block}_ffn_add").input[1:]
    expected = [0, RATE, 0, RATE] * 2
    assert shares_of_zeros(model, tensors) == pytest.approx(expected, abs=0.04)


def test_tide_drops_after_the_last_layer_of_its_temporal_decoder():
    model = zoo.build("tide", 48, 12, 3, dropout=RATE, hidden_dim=16)
    decoder, _ = [x for x in model.layers if isinstance(x, layers.Add)][-2:]
    assert share_of_zeros(model, decoder.input[0]) == pytest.approx(RATE, abs=0.05)


def test_tft_drops_heads_and_their_projection_and_not_before_the_last_gate():
    model = zoo.build("tft", 48, 12, 3, dropout=RATE, d_model=16)
    attended = model.get_layer("attention").output
    assert share_of_zeros(model, attended) == pytest.approx(RATE, abs=0.02)
    rates = [layer.rate for layer in model.layers if isinstance(layer, Dropout)]
    assert rates.count(0.0) == 1


def test_tcn_drops_entire_features():
    model = zoo.build("tcn", 48, 12, 3, dropout=RATE, num_blocks=1, filters=32)
    dropped = next(x for x in model.layers if isinstance(x, layers.SpatialDropout1D)).output
    zeros = to_numpy(keras.Model(model.input, dropped)(HISTORY, training=True)) == 0
    features = zeros.all(axis=1)  # (window, feature)
    assert features.mean() == pytest.approx(RATE, abs=0.06)


def test_timefilter_and_crossformer_drop_where_their_source_does():
    model = zoo.build("timefilter", 48, 12, 3, dropout=RATE, d_model=16, num_heads=2, num_blocks=1)
    rates = [layer.rate for layer in model.layers if isinstance(layer, Dropout)]
    assert rates == [RATE]  # of the feed-forward network; that of the edges is in their layer
    assert model.get_layer("filter_0").weights_dropout.rate == RATE
    sizes = {"d_model": 16, "num_heads": 2, "num_scales": 1, "segment_length": 6}
    model = zoo.build("crossformer", 48, 12, 3, dropout=RATE, **sizes)
    names = [layer.name for layer in model.layers if isinstance(layer, Dropout) and layer.rate]
    blocks = [f"{stack}_{i}" for stack, i in (("encoder", 0), ("decoder", 0), ("decoder", 1))]
    parts = ("time", "time_ffn", "receive", "channels_ffn")
    expected = {f"{block}_{part}_dropout" for block in blocks for part in parts}
    assert set(names) == expected | {f"decoder_{i}_cross_dropout" for i in range(2)}


def test_rlinear_drops_the_window_only_on_request():
    assert not any(isinstance(x, Dropout) for x in zoo.build("rlinear", 48, 12, 3).layers)
    model = zoo.build("rlinear", 48, 12, 3, dropout=RATE)
    dropped = next(x for x in model.layers if isinstance(x, Dropout)).output
    assert share_of_zeros(model, dropped) == pytest.approx(RATE, abs=0.04)


def uniform(fan_in):
    """Return the deviation of a uniform distribution in +-1 / sqrt(fan_in)."""
    return 1 / np.sqrt(3 * fan_in)


# Architecture, its options, path of a weight -> the deviation of its initial values in the
# reference code.
DEVIATIONS = {
    "patchtst": ({"d_model": 64}, "learnt_positional_encoding_0/embeddings", 0.02 / np.sqrt(3)),
    "timesnet": (
        {"d_model": 16, "ff_dim": 32},
        "periodic_convolution_0/kernel_3",
        np.sqrt(2 / (32 * 9)),
    ),
    "autoformer": ({"d_model": 256}, "value_embedding_2/kernel", uniform(3 * 256)),
    "informer": ({"d_model": 256}, "value_embedding_0/kernel", np.sqrt(2 / 9)),
    "tcn": ({"filters": 64}, "weight_normalized_convolution_1/direction", uniform(3 * 64)),
    "timexer": ({"d_model": 256}, "global_token_0/tokens", 1.0),
    "itransformer": ({}, "encoder_0_self_attention/query/kernel", uniform(256)),
    "tide": ({"hidden_dim": 64}, "dense_0/kernel", np.sqrt(2 / (48 + 64))),
}


@pytest.mark.parametrize("name", DEVIATIONS)
def test_initial_weights_have_the_deviation_of_the_reference_code(name):
    options, path, deviation = DEVIATIONS[name]
    values = to_numpy(weights_by_path(zoo.build(name, 48, 12, 3, **options))[path])
    assert values.std() == pytest.approx(deviation, rel=0.1)


# The same for weights that do not have the rule of dense layers: architecture, context, options,
# path of a weight of at least 4,000 numbers, distribution and deviation.
ONE_STEP = {"d_model": 128, "segment_length": 1}
SOURCES = [
    ("crossformer", 48, ONE_STEP, "positions/embeddings", "normal", 1.0),
    ("crossformer", 48, ONE_STEP, "encoder_0_routers/embeddings", "normal", 1.0),
    ("crossformer", 48, ONE_STEP, "future_positions/embeddings", "normal", 1.0),
    (
        "mamba",
        48,
        {"d_model": 512},
        "causal_depthwise_convolution_0/kernel",
        "uniform",
        uniform(4),
    ),
    ("micn", 48, {"d_model": 32}, "scales_0_steps_0/kernel", "uniform", uniform(12 * 32)),
    ("nonstationary_transformer", 1400, {}, "value_embedding_0/kernel", "uniform", uniform(4200)),
    ("moderntcn", 48, {"widths": (64,)}, "depthwise_conv1d_0/kernel", "uniform", uniform(51)),
    ("tqnet", 96, {}, "cached_multi_head_attention_0/key/kernel", "uniform", (1 / 192) ** 0.5),
    ("tqnet", 96, {}, "cached_multi_head_attention_0/output/kernel", "uniform", uniform(96)),
    (
        "frets",
        12,
        {"embedding_dim": 4096, "hidden_dim": 1, "diagonal": True},
        "complex_dense_0/imaginary_bias",
        "normal",
        0.02,
    ),
    ("xlstm_mixer", 48, {}, "scalar_lstm_0/kernel", "normal", (2 / (5 * 64)) ** 0.5),
    ("xlstm_mixer", 48, {}, "dense_0/kernel", "normal", (2 / (5 * 64)) ** 0.5),
    ("xlstm_mixer", 48, {"num_blocks": 2}, "dense_1/kernel", "normal", 1 / 8),
    ("xlstm_mixer", 48, {"num_memory_tokens": 64}, "memory/embeddings", "normal", 0.01),
]


@pytest.mark.parametrize(
    ("name", "context", "options", "path", "distribution", "deviation"),
    SOURCES,
    ids=[f"{name}-{path}" for name, _, _, path, *_ in SOURCES],
)
def test_initial_weights_have_the_distribution_of_the_reference_code(
    name, context, options, path, distribution, deviation
):
    keras.utils.set_random_seed(1)
    model = zoo.build(name, context, 12, 3, **options)
    values = to_numpy(weights_by_path(model)[path])
    assert values.size >= 4000
    assert values.std() == pytest.approx(deviation, rel=0.03)
    assert abs(values.mean()) < 0.06 * deviation
    largest = np.abs(values).max() / deviation
    if distribution == "uniform":
        assert largest == pytest.approx(3**0.5, rel=0.03)
    else:
        assert largest > 3


def test_forget_gates_of_xlstm_mixer_begin_with_a_power_law_of_the_block():
    weights = weights_by_path(zoo.build("xlstm_mixer", 48, 12, 3, num_blocks=3, num_heads=2))
    places = np.linspace(0, 1, 32)
    for i, power in enumerate((0.3, 0.95, 1.6)):
        bias = to_numpy(weights[f"scalar_lstm_{i}/bias"]).reshape(2, 4, 32)
        expected = np.broadcast_to(5 - 12 * places**power, (2, 32))
        np.testing.assert_allclose(bias[:, 1], expected, rtol=1e-5, atol=1e-5)
        assert not bias[:, [0, 2, 3]].any()


def test_lengths_of_normalised_kernels_begin_as_those_of_their_directions():
    weights = weights_by_path(zoo.build("tcn", 48, 12, 3, filters=8))
    name = "weight_normalized_convolution_1"
    norms = np.linalg.norm(to_numpy(weights[f"{name}/direction"]), axis=(0, 1))
    np.testing.assert_allclose(to_numpy(weights[f"{name}/scale"]), norms, rtol=1e-6)
