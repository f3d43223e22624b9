"""Numbers of weights, against closed forms derived from the figures of the papers."""

import importlib
import itertools
import math
import re
from pathlib import Path

import pytest

from kerastrans import zoo
from tests.helpers import parity
from tests.helpers.architectures import CHANNELS as C
from tests.helpers.architectures import CONTEXT as L
from tests.helpers.architectures import HORIZON as H
from tests.helpers.architectures import NAMES, NEWEST, SMALL, build, lengths_of

PARITY = (Path(__file__).parents[2] / "docs" / "parity.md").read_text()


def dense(inputs, outputs):
    return inputs * outputs + outputs


def norm(width):
    """Layer normalisation: scale and offset."""
    return 2 * width


def constant(size):
    """Weights that are not trained."""
    return size


def batch_norm(width):
    """Scale, offset, and the two statistics that are not trained."""
    return 4 * width


def attention(width):
    """Four projections, heads times key width being the width."""
    return 4 * dense(width, width)


def ffn(width, hidden):
    return dense(width, hidden) + dense(hidden, width)


def encoder(width, hidden, normalization=norm):
    return attention(width) + ffn(width, hidden) + 2 * normalization(width)


def lstm(inputs, units):
    return 4 * (inputs * units + units * units + units)


def tide(hidden_dim, temporal_hidden_dim, decoder_output_dim, **_):
    h, t, p = hidden_dim, temporal_hidden_dim, decoder_output_dim

    def block(inputs, outputs):
        return dense(inputs, h) + dense(h, outputs) + dense(inputs, outputs) + norm(outputs)

    encoder_decoder = block(L, h) + block(h, h) + block(h, h) + block(h, H * p)  # 2 + 2 blocks
    temporal = dense(p, t) + dense(t, 1) + dense(p, 1)
    return encoder_decoder + temporal + dense(L, H)


def tsmixer(ff_dim, **_):
    block = 2 * batch_norm(L * C) + dense(L, L) + ffn(C, ff_dim)
    return 2 * C + 2 * block + dense(L, H)


def nbeats(hidden_dim, num_layers, num_blocks):
    h = hidden_dim
    block = dense(L, h) + (num_layers - 1) * dense(h, h) + dense(h, L) + dense(h, H)
    return 2 * num_blocks * block - dense(h, L)  # the last block needs no backcast


def nhits(hidden_dim, downsampling):
    h = hidden_dim
    stacks = [
        dense(-(-L // pool), h) + dense(h, h) + dense(h, L) + dense(h, H // rate)
        for pool, rate in zip((2, 2, 1), downsampling, strict=True)
    ]
    return sum(stacks) - dense(h, L)


def timemixer(num_scales, **_):
    d, f = 16, 32
    lengths = [L // 2**i for i in range(num_scales)]
    steps = list(itertools.pairwise(lengths))
    seasons = sum(dense(fine, coarse) + dense(coarse, coarse) for fine, coarse in steps)
    trends = sum(dense(coarse, fine) + dense(fine, fine) for fine, coarse in steps)
    block = seasons + trends + ffn(d, f)
    heads = sum(dense(length, H) for length in lengths) + dense(d, 1)
    return 2 * C * num_scales + 3 * d + 2 * block + heads


def transformer(d_model, ff_dim, **_):
    d = d_model
    decoder = 2 * attention(d) + ffn(d, ff_dim) + 3 * norm(d)
    return 2 * 3 * C * d + 2 * encoder(d, ff_dim) + decoder + 2 * norm(d) + dense(d, C)


def informer(d_model, **more):
    distilling = 3 * d_model**2 + d_model + batch_norm(d_model)
    return transformer(d_model, **more) + distilling + 2 * d_model  # biases of the embeddings


def autoformer(d_model, ff_dim, **_):
    d = d_model
    encoders = 2 * (attention(d) + 2 * d * ff_dim) + norm(d)
    decoder = 2 * attention(d) + 2 * d * ff_dim + 3 * d * C + norm(d)
    return 2 * 3 * C * d + encoders + decoder + dense(d, C)


def fedformer(d_model, num_heads, ff_dim, modes, **_):
    d = d_model
    weights = 2 * modes * num_heads * (d // num_heads) ** 2  # a complex matrix per mode and head
    block, cross = 2 * dense(d, d) + weights, 3 * dense(d, d) + weights
    encoders = 2 * (block + 2 * d * ff_dim) + norm(d)
    decoder = block + cross + 2 * d * ff_dim + 3 * d * C + norm(d)
    return 2 * 3 * C * d + encoders + decoder + dense(d, C)


def patchtst(d_model, ff_dim, patch_length, stride, **_):
    patches = (L - patch_length) // stride + 2
    tokens = dense(patch_length, d_model) + patches * d_model
    encoders = 3 * encoder(d_model, ff_dim, batch_norm)
    return 2 * C + tokens + encoders + dense(patches * d_model, H)


def itransformer(d_model, ff_dim, **_):
    return dense(L, d_model) + 2 * encoder(d_model, ff_dim) + norm(d_model) + dense(d_model, H)


def pattn(d_model, ff_dim, patch_length, stride, num_blocks, **_):
    d, patches = d_model, (L - patch_length) // stride + 2
    blocks = num_blocks * encoder(d, ff_dim) + norm(d)
    return dense(patch_length, d) + blocks + dense(patches * d, H)


def tqnet(cycle_length, hidden_dim, **_):
    h = hidden_dim
    return cycle_length * C + attention(L) + dense(L, h) + 2 * dense(h, h) + dense(h, H)


def softs(d_model, core_dim, ff_dim, num_blocks, **_):
    d = d_model
    star = dense(d, d) + dense(d, core_dim) + dense(d + core_dim, d) + dense(d, d)
    return dense(L, d) + num_blocks * (star + ffn(d, ff_dim) + 2 * norm(d)) + dense(d, H)


def simpletm(d_model, ff_dim, num_blocks, wavelet, **_):
    d, taps = d_model, {"db1": 2, "bior3.1": 4, "bior3.3": 8, "db4": 8}[wavelet]
    filters = 2 * 2 * C * taps  # of two transforms
    blocks = num_blocks * (encoder(d, ff_dim) + filters)
    return dense(L, d) + blocks + norm(d) + dense(d, H)


def olinear(embedding_dim, d_model, ff_dim, num_blocks, **_):
    e, d = embedding_dim, d_model
    block = 2 * dense(d, d) + C * C + ffn(d, ff_dim) + 2 * norm(d)
    maps = dense(L * e, d) + dense(d, H * e) + dense(H * e, ff_dim) + dense(ff_dim, H)
    bases = constant(L * L + H * H)
    offsets = C * (L + H)
    return 2 * C + e + offsets + maps + num_blocks * block + norm(d) + bases


def fits(num_frequencies, individual, **_):
    frequencies = num_frequencies or L // 2 + 1
    longer = min(frequencies * (L + H) // L, (L + H) // 2 + 1)
    maps = 2 * dense(frequencies, longer)  # complex
    return maps * (C if individual else 1)


def frets(embedding_dim, hidden_dim, mix_channels, diagonal):
    d, h = embedding_dim, hidden_dim
    layer = 2 * (2 * d if diagonal else dense(d, d))  # complex
    return d + (1 + mix_channels) * layer + dense(L * d, h) + dense(h, H)


def amplifier(hidden_dim, mix_channels, **_):
    def network(past, future):
        return dense(past, hidden_dim) + dense(hidden_dim, future)

    mixing = dense(C, C) + dense(C, 1) + 2 * network(L, L)
    restoration = 2 * dense(L // 2 + 1, H // 2 + 1)  # complex
    factors = 2 * C + C * (L // 2 + 1)
    return factors + mix_channels * mixing + 2 * network(L, H) + restoration


def timebase(period, num_bases, individual, **_):
    maps = dense(-(-L // period), num_bases) + dense(num_bases, -(-H // period))
    return maps * (C if individual else 1)


def mamba(d_model, state_dim, expansion, kernel_size, num_blocks, **_):
    d, w, n = d_model, expansion * d_model, state_dim
    rank = -(-d // 16)
    space = w * n + w + w * (rank + 2 * n) + dense(rank, w)
    block = d + 2 * d * w + kernel_size * w + w + space + w * d
    return 3 * C * d + num_blocks * block + d + d * C


def micn(kernel_sizes, d_model, num_blocks, **_):
    d = d_model

    def scale(kernel):  # down, over all segments, and up
        count = (L + H + 2 * (kernel // 2)) // kernel
        return dense(kernel * d, d) + dense(count * d, d) + kernel * d * d + d

    block = sum(map(scale, kernel_sizes)) + dense(len(kernel_sizes) * d, d)
    block += ffn(d, 4 * d) + 3 * norm(d)
    return dense(L, H) + 3 * C * d + num_blocks * block + dense(d, C)


def nonstationary_transformer(
    d_model, ff_dim, projector_dims, num_encoder_blocks, num_decoder_blocks, **_
):
    d, widths = d_model, (2 * C, *projector_dims)
    hidden = sum(dense(*pair) for pair in itertools.pairwise(widths))
    projectors = 2 * (3 * L + hidden) + widths[-1] * (1 + L)
    decoder = 2 * attention(d) + ffn(d, ff_dim) + 3 * norm(d)
    blocks = num_encoder_blocks * encoder(d, ff_dim) + num_decoder_blocks * decoder + 2 * norm(d)
    return projectors + 2 * 3 * C * d + blocks + dense(d, C)


def crossformer(d_model, ff_dim, segment_length, num_routers, num_scales, **_):
    d, past, future = d_model, -(-L // segment_length), -(-H // segment_length)

    def two_stages(segments):
        networks = 2 * (ffn(d, ff_dim) + 2 * norm(d))
        return segments * num_routers * d + 3 * attention(d) + networks

    coarser = [-(-past // 2**scale) for scale in range(1, num_scales)]
    merged = sum(dense(2 * d, d) + norm(2 * d) + two_stages(count) for count in coarser)
    positions = C * (past + future) * d
    cross = attention(d) + ffn(d, d) + 2 * norm(d)
    decoder = two_stages(future) + cross + dense(d, segment_length)
    encoder = two_stages(past) + merged
    return segment_length * d + positions + norm(d) + encoder + (num_scales + 1) * decoder


def timekan(d_model, num_blocks, num_scales, num_terms, standardize, **_):
    d = d_model
    bands = sum((num_terms + scale) * d * d + 3 * d for scale in range(num_scales))
    return standardize * num_scales * 2 * C + 3 * d + num_blocks * bands + dense(L, H) + dense(d, 1)


def xpatch(patch_length, stride, pad_end, standardize, **_):
    p, patches = patch_length, (L - patch_length) // stride + 1 + pad_end
    convolved = dense(p, p * p) + dense(p * p, p) + patches * (p + 1) + dense(patches, patches)
    season = convolved + 3 * batch_norm(patches) + dense(patches * p, 2 * H) + dense(2 * H, H)
    trend = dense(L, 4 * H) + norm(2 * H) + dense(2 * H, H) + norm(H // 2) + dense(H // 2, H)
    return standardize * 2 * C + season + trend + dense(2 * H, H)


def wpmixer(
    wavelet, num_levels, patch_length, stride, d_model, time_expansion, feature_expansion, **_
):
    d = d_model

    def halves(length):  # coefficients of each level
        for _ in range(num_levels):
            length = (length + 2 * int(wavelet[-1]) - 1) // 2  # of Daubechies
            yield length

    def branch(past, future):
        patches = (past - patch_length) // stride + 2
        mixer = ffn(patches, time_expansion * patches) + ffn(d, feature_expansion * d)
        return dense(patch_length, d) + 2 * mixer + 6 * batch_norm(C) + dense(patches * d, future)

    levels = list(zip(halves(L), halves(H), strict=True))
    return sum(itertools.starmap(branch, [*levels, levels[-1]]))  # details, and the average


def timexer(d_model, ff_dim, patch_length, **_):
    d, patches = d_model, L // patch_length
    tokens = dense(L, d) + patch_length * d + C * d
    block = 2 * attention(d) + ffn(d, ff_dim) + 3 * norm(d)
    return tokens + block + norm(d) + dense((patches + 1) * d, H)


def tft(d_model, num_heads, **_):
    d = d_model
    gate = 2 * dense(d, d) + norm(d)

    def grn(inputs, outputs=d):
        skip = 0 if inputs == outputs else dense(inputs, outputs)
        return skip + dense(inputs, d) + dense(d, d) + 2 * dense(d, outputs) + norm(outputs)

    selection = 2 * C * d + grn(C * d, C) + C * grn(d)
    future = dense(1, d) + grn(d)
    key_dim = d // num_heads
    interpretable = 2 * d * d + 2 * d * key_dim
    fusion = gate + grn(d) + interpretable + gate + grn(d) + gate
    return selection + future + 2 * lstm(d, d) + fusion + dense(d, C)


def tcn(filters, num_blocks, **_):
    f = filters
    first = dense(3 * C, f) + dense(3 * f, f) + dense(C, f)
    lengths = num_blocks * 2 * f  # of the normalised kernels
    return first + (num_blocks - 1) * 2 * dense(3 * f, f) + lengths + dense(f, H * C)


def timesnet(d_model, ff_dim, num_kernels, **_):
    d, f = d_model, ff_dim
    taps = sum((2 * i + 1) ** 2 for i in range(num_kernels))
    block = 2 * taps * d * f + num_kernels * (f + d)
    return 3 * C * d + dense(L, L + H) + 2 * block + norm(d) + dense(d, C)


def segrnn(segment_length, d_model, **_):
    d = d_model
    gru = 3 * (d * d + d * d + 2 * d)
    where = -(-H // segment_length) * d // 2 + C * d // 2
    return dense(segment_length, d) + gru + where + dense(d, segment_length)


def autoregressive(d_model, patch_length, blocks):
    """Embeddings of the patches of both sides, one norm after each stack, and the head."""
    tokens = 2 * dense(2 * patch_length, d_model)  # values, and which of them are known
    return tokens + blocks + dense(d_model, patch_length)


def time_series_transformer(d_model, ff_dim, patch_length, **_):
    d, f = d_model, ff_dim
    decoder = 2 * attention(d) + ffn(d, f) + 3 * norm(d)
    blocks = 2 * encoder(d, f) + norm(d) + decoder + norm(d)
    return autoregressive(d, patch_length, blocks)


def decoder_transformer(d_model, ff_dim, patch_length, **_):
    blocks = 2 * encoder(d_model, ff_dim) + norm(d_model)
    return autoregressive(d_model, patch_length, blocks)


def moderntcn(
    patch_length,
    stride,
    widths,
    depths,
    kernel_sizes,
    small_kernel_sizes,
    expansion,
    center,
    affine,
    **_,
):
    def block(d, large, small):
        filters = C * d * (large + small) + 2 * batch_norm(C * d) + batch_norm(d)
        e = expansion
        networks = C * (dense(d, e * d) + dense(e * d, d)) + d * (dense(C, e * C) + dense(e * C, C))
        return filters + networks

    patches, total = -(-L // stride), dense(patch_length, widths[0]) + batch_norm(widths[0])
    for narrow, wide in itertools.pairwise(widths):
        total += batch_norm(narrow) + dense(2 * narrow, wide)
        patches = -(-patches // 2)
    stages = zip(widths, depths, kernel_sizes, small_kernel_sizes, strict=True)
    total += sum(depth * block(d, large, small) for d, depth, large, small in stages)
    return 2 * C * (affine and center is not None) + total + dense(patches * widths[-1], H)


def multipatchformer(d_model, ff_dim, patch_lengths, num_blocks, num_pieces, **_):
    d = d_model
    embedding = sum(dense(length, d // len(patch_lengths)) for length in patch_lengths)
    channels = dense(L // patch_lengths[0] * d, d) + dense(d, d)
    ends = [i * H // num_pieces for i in range(num_pieces + 1)]
    pieces = sum(dense(d + start, end - start) for start, end in itertools.pairwise(ends))
    return embedding + (num_blocks + 1) * encoder(d, ff_dim) + channels + pieces


def timebridge(
    d_model,
    ff_dim,
    period,
    num_patches,
    num_blocks,
    num_downsampling_blocks,
    num_channel_blocks,
    **_,
):
    patches = L // period
    fewer = num_patches or patches
    merges = num_downsampling_blocks and patches * fewer + (fewer + 1) * fewer
    merges += max(0, num_downsampling_blocks - 1) * (2 * fewer + 1) * fewer
    channels = num_channel_blocks * (encoder(d_model, ff_dim) + attention(d_model))
    blocks = (num_blocks + num_downsampling_blocks) * encoder(d_model, ff_dim) + channels
    return L // patches * d_model + blocks + merges + fewer * d_model * H


def xlstm_mixer(d_model, num_heads, ff_dim, num_blocks, num_memory_tokens, kernel_size, **_):
    d, width = d_model, d_model // num_heads
    hidden = ff_dim or math.ceil(1.3 * d / 64) * 64
    block = 2 * num_heads * width * 4 * width + 4 * d + d + 3 * d * hidden + 2 * d
    block += dense(kernel_size, d) if kernel_size else 0
    tokens = (num_memory_tokens or 0) * d
    return dense(L, H) + dense(H, d) + tokens + num_blocks * block + d + dense(2 * d, H)


def timefilter(d_model, ff_dim, num_heads, patch_length, num_blocks, **_):
    patches, width = L // patch_length, d_model // num_heads
    graph = 2 * dense(width, width) + 2 * 3 * C * patches + dense(d_model, d_model)
    block = graph + ffn(d_model, ff_dim) + 2 * norm(d_model)
    return dense(patch_length, d_model) + num_blocks * block + dense(patches * d_model, H)


def duet(d_model, ff_dim, num_blocks, num_experts, hidden_dim, **_):
    gates = 2 * (L * hidden_dim + hidden_dim * num_experts) + num_experts**2
    experts = 2 * num_experts * dense(L, d_model)
    metric = (L // 2 + 1) ** 2
    mixing = metric + num_blocks * encoder(d_model, ff_dim) + norm(d_model)
    return 2 * C + gates + experts + mixing + dense(d_model, H)


COUNTS = {
    **{name: function for name, function in list(globals().items()) if name in NAMES},
    "last_value": lambda: 0,
    "seasonal_naive": lambda **_: 0,
    "moving_average": lambda: 0,
    "linear_regression": lambda: dense(L, H),
    "nlinear": lambda: dense(L, H),
    "dlinear": lambda: 2 * dense(L, H),
    "rlinear": lambda: dense(L, H) + 2 * C,
    "sparsetsf": lambda period: 1 + 2 * (period // 2) + (L // period) * -(-H // period),
    "cyclenet": lambda cycle_length: cycle_length * C + dense(L, H),
    "direct_transformer": transformer,
    "lstm_seq2seq": lambda units, **_: (
        lstm(C, units) + lstm(units, units) + 2 * units * units + dense(units, C)
    ),
    "deepar": lambda units: lstm(1, units) + lstm(units, units) + dense(units, 1),
}


def closed_form(name, lengths, hyperparameters, monkeypatch):
    """Return the number of weights of an architecture in `NEWEST` at these lengths."""
    for letter, length in zip("LHC", lengths, strict=True):
        monkeypatch.setitem(globals(), letter, length)
    return COUNTS[name](**{**zoo.info(name).defaults, **hyperparameters})


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_number_of_weights_is_the_closed_form(name):
    assert name in COUNTS, f"derive the number of weights of {name} here"
    defaults = zoo.info(name).defaults if name in NEWEST else {}
    assert build(name).count_params() == COUNTS[name](**{**defaults, **SMALL.get(name, {})})


@pytest.mark.parametrize(
    ("name", "size"),
    [
        pytest.param(name, size, marks=[] if size == "etth1_96" else [pytest.mark.exhaustive])
        for name in NEWEST
        for size in zoo.info(name).sizes
    ],
)
@pytest.mark.slow
def test_number_of_weights_of_a_named_size_is_the_closed_form(name, size, monkeypatch):
    lengths = (*lengths_of(name, size), 7)
    expected = closed_form(name, lengths, zoo.info(name).sizes[size], monkeypatch)
    assert zoo.build(name, *lengths, size=size).count_params() == expected


def official_counts():
    """Return name, case and number of weights of docs/parity.md for what is in `NEWEST`.

    The cases of other options are left out: `tests/models/test_parity.py` counts their weights.
    """
    pattern = r"^\| `(\w+)` \| (easy|awkward) \|.* ([\d,]+) \| [\d,]+ \|$"
    rows = re.findall(pattern, PARITY, re.MULTILINE)
    return [(*row[:2], int(row[2].replace(",", ""))) for row in rows if row[0] in NEWEST]


@pytest.mark.parametrize(("name", "case", "official"), official_counts())
def test_the_closed_form_has_the_number_of_the_official_code(name, case, official, monkeypatch):
    settings = parity.Settings(parity.read(parity.ROOT / name, case).facts)
    port = importlib.import_module(f"tests.models.ports.{name}")
    monkeypatch.setitem(globals(), "batch_norm", norm)  # statistics are not trained
    monkeypatch.setitem(globals(), "constant", lambda size: 0)
    lengths = [settings[size] for size in parity.SIZES]
    assert closed_form(name, lengths, port.arguments(settings), monkeypatch) == official


def test_numbers_of_weights_are_those_of_the_papers():
    # Zeng et al. (2023), table 8 has DLinear at 139.7 thousand for 96 -> 720: 2 * (96 + 1) * 720.
    assert zoo.info("dlinear").count_params(96, 720, 7) == 139_680
    # Nie et al. (2023): PatchTST/42 has 42 patches of 16 at a stride of 8 in a context of 336.
    assert zoo.build("patchtst", 336, 96, 7).get_layer("embedding").output.shape[2] == 42
    # Lin et al. (2024): SparseTSF 720 -> 720 with period 24 has 0.92 thousand weights.
    assert zoo.info("sparsetsf").count_params(720, 720, 7) == 925


CALENDAR = 2 * 4 * 512  # weights of the embeddings of four calendar features at a width of 512
# Name, sizes, hyperparameters; trainable weights of the published model; those that it has and
# ours has not, because they are unused or embed the calendar; those that only ours has.
PUBLISHED = [
    ("patchtst", (336, 96, 7), {"affine": False}, 81_728, 0, 0),
    ("patchtst", (336, 96, 7), {"affine": False, **zoo.info("patchtst").paper}, 921_184, 0, 0),
    ("itransformer", (96, 96, 7), {}, 841_568, 0, 0),
    ("timexer", (96, 96, 7), {}, 1_782_112, 0, 0),
    ("segrnn", (720, 96, 7), {}, 1_603_864, 0, 0),
    # Chen et al. (2025), SimpleTM, table 13.
    ("simpletm", (96, 96, 21), {"wavelet": "db4"}, 13_472, 0, 0),
    ("timemixer", (96, 96, 7), {}, 75_497, 64 + 64, 0),
    ("timesnet", (96, 96, 7), zoo.info("timesnet").paper, 605_479, 64, 0),
    ("autoformer", (96, 96, 7), zoo.info("autoformer").paper, 10_535_943, CALENDAR, 0),
    # Counted in the Time-Series-Library, whose embedding has no bias.
    ("informer", (96, 96, 7), zoo.info("informer").paper, 11_328_007, CALENDAR, 2 * 512),
    (
        "direct_transformer",
        (96, 96, 7),
        zoo.info("direct_transformer").paper,
        10_540_039,
        CALENDAR,
        0,
    ),
    (
        "fedformer",
        (96, 96, 7),
        {"shared_blocks": True, **zoo.info("fedformer").paper},
        22_070_279,
        CALENDAR + 7 * (512 + 1) * 512,  # unused projections to keys and values
        0,
    ),
    # The published model has the backcast of its last block, which is not used.
    ("nbeats", (96, 24, 1), zoo.info("nbeats").paper, 26_975_760, 96 * 513, 0),
    # The published model has a sine of frequency 0, forwards and backwards.
    (
        "nbeats",
        (96, 24, 1),
        {"reference_curves": True, **zoo.info("nbeats").variants["interpretable"]},
        13_109_814,
        2 * 2049,
        0,
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "sizes", "options", "published", "left_out", "added"), PUBLISHED)
def test_trainable_weights_at_published_sizes(name, sizes, options, published, left_out, added):
    model = zoo.build(name, *sizes, **options)
    found = sum(math.prod(weight.shape) for weight in model.trainable_weights)
    assert found == published - left_out + added
