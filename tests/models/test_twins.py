"""Models without a recorded case agree with their papers' equations, written in NumPy (float64)."""

import itertools

import numpy as np
import pytest

from kerastrans import zoo
from tests.conftest import to_numpy
from tests.helpers.architectures import moved
from tests.helpers.parity import weights_by_path

pytestmark = pytest.mark.slow

CONTEXT, HORIZON, CHANNELS = 12, 7, 3
HISTORY = np.random.default_rng(0).standard_normal((2, CONTEXT, CHANNELS)).astype("float32")


def built(name, **options):
    """Return a model whose weights are all random, and the weights by path in float64."""
    model = moved(zoo.build(name, CONTEXT, HORIZON, CHANNELS, **options))
    weights = weights_by_path(model)
    return model, {path: to_numpy(weight).astype("float64") for path, weight in weights.items()}


def assert_agrees(model, expected, inputs=HISTORY):
    found = to_numpy(model(inputs))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


def softmax(x):
    weights = np.exp(x - x.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm(x, kernel, recurrent, bias, state=None):
    """Return the outputs `(batch, time, units)` and the last output and cell of an LSTM."""
    h, c = state or (np.zeros((len(x), len(recurrent))),) * 2
    outputs = []
    for step in range(x.shape[1]):
        i, f, g, o = np.split(x[:, step] @ kernel + h @ recurrent + bias, 4, axis=-1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        outputs.append(h)
    return np.stack(outputs, axis=1), (h, c)


def cell(weights, name):
    return [weights[f"{name}/{part}"] for part in ("kernel", "recurrent_kernel", "bias")]


@pytest.mark.parametrize("label_length", [6, 0])
def test_direct_transformer_is_that_of_vaswani_et_al(label_length):
    """Vaswani et al. (2017), sections 3.1-3.5, with the decoder input of Zhou et al. (2021)."""
    from scipy.special import erf

    heads, width = 2, 8
    sizes = {"d_model": width, "num_heads": heads, "ff_dim": 12, "dropout": 0.0}
    model, w = built("direct_transformer", **sizes, label_length=label_length)

    def dense(x, name):
        return x @ w[f"{name}/kernel"] + w[f"{name}/bias"]

    def norm(x, name):
        centred = x - x.mean(axis=-1, keepdims=True)
        scale = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)
        return centred / scale * w[f"{name}/gamma"] + w[f"{name}/beta"]

    def embed(x, number):
        steps = np.concatenate([np.roll(x, 1, axis=1), x, np.roll(x, -1, axis=1)], axis=-1)
        angles = np.arange(x.shape[1])[:, None] / 10000.0 ** (np.arange(0, width, 2) / width)
        positions = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(-1, width)
        return steps @ w[f"value_embedding_{number}/kernel"] + positions

    def attend(x, memory, name, causal=False):
        def split(part):
            return part.reshape(*part.shape[:2], heads, -1).transpose(0, 2, 1, 3)

        q, k, v = (
            split(dense(y, f"{name}/{part}"))
            for y, part in ((x, "query"), (memory, "key"), (memory, "value"))
        )
        scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(width / heads)
        if causal:
            scores = np.where(np.tri(x.shape[1], dtype=bool), scores, -np.inf)
        merged = (softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(x.shape)
        return norm(x + dense(merged, f"{name}/output"), f"{name}_norm")

    def feed_forward(x, name):
        hidden = dense(x, f"{name}_ffn_expand")
        hidden = hidden / 2 * (1 + erf(hidden / np.sqrt(2)))
        return norm(x + dense(hidden, f"{name}_ffn_contract"), f"{name}_ffn_norm")

    x = embed(HISTORY, 0)
    for name in ("encoder_0", "encoder_1"):
        x = feed_forward(attend(x, x, f"{name}_self_attention"), name)
    memory = norm(x, "layer_normalization_0")
    label, future = HISTORY[:, CONTEXT - label_length :], np.zeros((2, HORIZON, CHANNELS))
    x = embed(np.concatenate([label, future], axis=1), 1)
    x = attend(x, x, "decoder_0_self_attention", causal=True)
    x = feed_forward(attend(x, memory, "decoder_0_cross_attention"), "decoder_0")
    x = norm(x, "layer_normalization_1")
    assert_agrees(model, dense(x[:, -HORIZON:], "head"))


def test_lstm_seq2seq_is_an_encoder_and_decoder_with_global_attention():
    """Sutskever et al. (2014); Luong et al. (2015), equations 5-8."""
    model, w = built("lstm_seq2seq", units=5, dropout=0.0)
    memory, state = lstm(HISTORY, *cell(w, "encoder/lstm_cell"))
    repeated = np.repeat(memory[:, -1:], HORIZON, axis=1)
    x, _ = lstm(repeated, *cell(w, "decoder/lstm_cell"), state)
    context = softmax(x @ memory.transpose(0, 2, 1)) @ memory
    x = np.tanh(np.concatenate([context, x], axis=-1) @ w["dense_0/kernel"])
    assert_agrees(model, x @ w["head/kernel"] + w["head/bias"])


def test_deepar_reads_the_previous_value_and_restores_the_scale():
    """Salinas et al. (2020), figure 2 (teacher forcing), equation 3 and section 3.3."""
    model, w = built("deepar", units=5, num_layers=2, head="normal")
    rng = np.random.default_rng(1)
    future = rng.standard_normal((2, HORIZON, CHANNELS)).astype("float32")
    scale = np.abs(HISTORY.astype("float64")).mean(axis=1, keepdims=True)
    # The first decoder input is the last value of the history; all channels share the network.
    values = np.concatenate([HISTORY[:, :-1], future], axis=1) / scale
    rows = values.transpose(0, 2, 1).reshape(2 * CHANNELS, -1, 1)
    layers = sorted({path.rpartition("/")[0] for path in w if "lstm_cell" in path})
    for layer in layers:
        rows, _ = lstm(rows, *cell(w, layer))
    raw = rows[:, CONTEXT - 1 :] @ w["head/kernel"] + w["head/bias"]
    raw = raw.reshape(2, CHANNELS, HORIZON, 2).transpose(0, 2, 1, 3)
    found = to_numpy(model([HISTORY, future]))
    location = raw[..., 0] * scale
    np.testing.assert_allclose(found[..., 0], location, atol=1e-5 * np.abs(location).max())


def test_recurrent_segrnn_embeds_its_own_segments():
    """Lin et al. (2023), section 3.3, "recurrent multi-step forecasting"."""
    options = {"segment_length": 3, "d_model": 4, "dropout": 0.0, "decoding": "recurrent"}
    model, w = built("segrnn", **options)

    def dense(x, name):
        return x @ w[f"{name}/kernel"] + w[f"{name}/bias"]

    def gru(x, state):
        inputs, memory = (np.split(y, 3, axis=-1) for y in x)
        update, reset = (sigmoid(a + b) for a, b in zip(inputs[:2], memory[:2], strict=True))
        return update * state + (1 - update) * np.tanh(inputs[2] + reset * memory[2])

    def step(segment, state):
        x = np.maximum(dense(segment, "embedding"), 0)
        return gru((dense(x, "input_gates"), dense(state, "state_gates")), state)

    last = HISTORY[:, -1:].astype("float64")
    segments = (HISTORY - last).transpose(0, 2, 1).reshape(2 * CHANNELS, -1, 3)
    state = np.zeros((2 * CHANNELS, 4))
    for i in range(segments.shape[1]):
        state = step(segments[:, i], state)
    found = [dense(state, "head")]
    while 3 * len(found) < HORIZON:
        state = step(found[-1], state)
        found.append(dense(state, "head"))
    rows = np.concatenate(found, axis=1)[:, :HORIZON].reshape(2, CHANNELS, HORIZON)
    assert_agrees(model, rows.transpose(0, 2, 1) + last)


def test_timemixer_of_mixed_channels_maps_the_trends_around_its_blocks():
    """The published code of Wang et al. (2024) with `channel_independence` 0, from its notes."""
    from scipy.special import erf

    sizes = {"d_model": 4, "ff_dim": 6, "num_blocks": 2, "num_scales": 2, "moving_average": 5}
    model, w = built("timemixer", **sizes, mix_channels=True, dropout=0.0)
    denses, times = itertools.count(), itertools.count()

    def dense(x, number, activation=False):
        x = x @ w[f"dense_{number}/kernel"] + w[f"dense_{number}/bias"]
        return x / 2 * (1 + erf(x / np.sqrt(2))) if activation else x

    def over_time(x, activation=False):
        number = next(times)
        x = x.transpose(0, 2, 1) @ w[f"einsum_dense_{number}/kernel"]
        x = (x + w[f"einsum_dense_{number}/bias"]).transpose(0, 2, 1)
        return x / 2 * (1 + erf(x / np.sqrt(2))) if activation else x

    def split(x):
        padded = np.concatenate([x[:, :1]] * 2 + [x] + [x[:, -1:]] * 2, axis=1)
        trend = sum(padded[:, i : i + x.shape[1]] for i in range(5)) / 5
        return x - trend, trend

    def normalise(x, name):
        mean, scale = x.mean(axis=1, keepdims=True), np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
        return (x - mean) / scale * w[f"{name}/gamma"] + w[f"{name}/beta"], mean, scale

    def embed(x):
        steps = np.concatenate([np.roll(x, 1, axis=1), x, np.roll(x, -1, axis=1)], axis=-1)
        return steps @ w["value_embedding_0/kernel"]

    fine = HISTORY.astype("float64")
    coarse = fine.reshape(2, CONTEXT // 2, 2, CHANNELS).mean(axis=2)
    fine, mean, scale = normalise(fine, "window")
    coarse = normalise(coarse, "reversible_instance_normalization_0")[0]
    pairs = [split(x) for x in (fine, coarse)]
    scales = [embed(season) for season, _ in pairs]
    for _ in range(2):
        first, second = next(denses), next(denses)
        parts = [[dense(dense(y, first, True), second) for y in split(x)] for x in scales]
        (fine_season, fine_trend), (coarse_season, coarse_trend) = parts
        coarse_season = coarse_season + over_time(over_time(fine_season, True))
        fine_trend = fine_trend + over_time(over_time(coarse_trend, True))
        scales = [fine_season + fine_trend, coarse_season + coarse_trend]
    last = next(denses)
    x = sum(dense(over_time(y), last) for y in scales)
    mapped = [over_time(trend) for _, trend in pairs]
    x = x + sum(over_time(y) for y in mapped)
    x = (x - w["window/beta"]) / w["window/gamma"] * scale + mean
    assert_agrees(model, x)
