import itertools

import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kerastrans
from kerastrans import BeamSampler, GreedySampler, RandomSampler
from kerastrans.text.tokens import END, PAD, START
from tests.conftest import in_float64, to_numpy

VOCABULARY = 9


def build():
    return kerastrans.build_seq2seq_transformer(
        12,
        VOCABULARY,
        d_model=16,
        num_heads=2,
        ff_dim=32,
        num_encoder_blocks=1,
        num_decoder_blocks=1,
        dropout=0.0,
    )


@pytest.fixture(scope="module")
def model():
    """Untrained, with larger embeddings so that its choices differ from step to step."""
    keras.utils.set_random_seed(0)  # before the module's first test, whichever that is
    model = build()
    matrix = model.get_layer("target_embedding").weights[-1]
    matrix.assign(3 * to_numpy(matrix))
    return model


@pytest.fixture(scope="module")
def sentences():
    random = np.random.default_rng(0)
    lengths = random.integers(1, 8, 40).astype("int32")
    return random.integers(4, 12, (40, 7)).astype("int32"), lengths


def log_probabilities(model, source, lengths, tokens):
    """Of each of `tokens` `(rows, steps)` after those before it, by the uncached model."""
    seen = np.concatenate([np.full((len(tokens), 1), START), tokens[:, :-1]], axis=1)
    logits = to_numpy(model([source, lengths, seen.astype("int32")])).astype("float64")
    logits[..., [PAD, START]] = -1e9
    return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


def naive_greedy(model, source, lengths, num_steps):
    tokens = np.zeros((len(source), 0), "int32")
    ended = np.zeros(len(source), bool)
    for _ in range(num_steps):
        padded = np.pad(tokens, ((0, 0), (0, 1)))
        chosen = log_probabilities(model, source, lengths, padded)[:, -1].argmax(-1)
        chosen = np.where(ended, PAD, chosen)
        ended |= chosen == END
        tokens = np.concatenate([tokens, chosen[:, None].astype("int32")], axis=1)
    return tokens


def totals(model, source, lengths, tokens):
    """Log-probability of each row's tokens up to the end token."""
    each = log_probabilities(model, source, lengths, tokens)
    picked = np.take_along_axis(each, tokens[..., None].astype("int64"), -1)[..., 0]
    return (picked * (tokens != PAD)).sum(axis=1)


def test_greedy_equals_the_uncached_loop(model, sentences):
    found = model.generate(*sentences, 8)
    np.testing.assert_array_equal(found, naive_greedy(model, *sentences, 8))
    assert len(np.unique(found)) > 3
    assert (found == END).any()


@pytest.mark.slow
def test_behind_the_end_there_is_padding_alone(model, sentences):
    for sampler in (GreedySampler(), RandomSampler(seed=0), BeamSampler(3)):
        found = model.generate(*sentences, 8, sampler)
        assert found.shape == (40, 8)
        behind = np.cumsum(found == END, axis=1) - (found == END) > 0
        assert (found[behind] == PAD).all()
        assert not np.isin(found[~behind], [PAD, START]).any()


def test_beam_of_one_is_greedy(model, sentences):
    np.testing.assert_array_equal(
        model.generate(*sentences, 8, BeamSampler(1)), model.generate(*sentences, 8)
    )


@pytest.mark.tensorflow  # JAX has no float64 unless asked before it starts
@pytest.mark.parametrize(
    "sampler",
    [GreedySampler(), RandomSampler(seed=0), BeamSampler(3, 0.5)],
    ids=lambda s: type(s).__name__,
)
@pytest.mark.slow
def test_the_same_model_in_float64_writes_the_same(model, sentences, sampler):
    here = model.generate(*sentences, 8, sampler)
    there = in_float64(model, build).generate(*sentences, 8, sampler)
    np.testing.assert_array_equal(here, there)


@pytest.mark.slow
def test_wide_beam_finds_the_most_probable_of_all_sequences(model, sentences):
    source, lengths = (x[:6] for x in sentences)
    steps, words = 3, [t for t in range(VOCABULARY) if t not in (PAD, START, END)]
    candidates = [
        [*words_before, *ending]
        for count in range(steps + 1)
        for words_before in itertools.product(words, repeat=count)
        for ending in ([[END] + [PAD] * (steps - count - 1)] if count < steps else [[]])
    ]
    candidates = np.array(candidates, "int32")
    found = model.generate(source, lengths, steps, BeamSampler(len(words) ** 2 + len(words) + 1))
    for row in range(len(source)):
        inputs = [np.repeat(x[row : row + 1], len(candidates), axis=0) for x in (source, lengths)]
        best = totals(model, *inputs, candidates).argmax()
        np.testing.assert_array_equal(found[row], candidates[best])


@pytest.mark.slow
def test_wider_beams_are_at_least_as_probable_on_the_whole(model, sentences):
    means = [
        totals(model, *sentences, model.generate(*sentences, 8, BeamSampler(width))).mean()
        for width in (1, 3, 8)
    ]
    assert means[0] < means[1] <= means[2] + 1e-6


@pytest.mark.slow
def test_length_penalty_prefers_longer_sequences(model, sentences):
    short, long = (
        (model.generate(*sentences, 8, BeamSampler(4, penalty)) != PAD).sum()
        for penalty in (0.0, 2.0)
    )
    assert long > short


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sampler", "temperature", "allowed"),
    [
        (RandomSampler(seed=1), 1.0, VOCABULARY),
        (RandomSampler(0.5, seed=2), 0.5, VOCABULARY),
        (RandomSampler(2.0, top_k=3, seed=3), 2.0, 3),
    ],
)
def test_drawn_tokens_have_the_models_distribution(model, sentences, sampler, temperature, allowed):
    source, lengths = (np.repeat(x[:1], 4000, axis=0) for x in sentences)
    drawn = model.generate(source, lengths, 1, sampler)[:, 0]
    logits = log_probabilities(model, source[:1], lengths[:1], np.zeros((1, 1), "int32"))[0, 0]
    expected = np.exp(logits / temperature)
    expected[np.argsort(-logits)[allowed:]] = 0
    expected /= expected.sum()
    counts = np.bincount(drawn, minlength=VOCABULARY)
    assert (counts[expected == 0] == 0).all()
    some = expected > 1e-4
    chi_square = ((counts - 4000 * expected)[some] ** 2 / (4000 * expected[some])).sum()
    assert chi_square < 30  # 8 degrees of freedom: beyond this once in 5,000 draws


@given(top_p=st.floats(0.05, 1.0))
@settings(max_examples=3)  # each is a loop of its own
@pytest.mark.slow
def test_top_p_keeps_the_fewest_most_probable_tokens(model, sentences, top_p):
    source, lengths = (np.repeat(x[:1], 500, axis=0) for x in sentences)
    drawn = model.generate(source, lengths, 1, RandomSampler(top_p=top_p, seed=0))[:, 0]
    logits = log_probabilities(model, source[:1], lengths[:1], np.zeros((1, 1), "int32"))[0, 0]
    order = np.argsort(-logits)
    kept = np.searchsorted(np.cumsum(np.exp(logits[order])), top_p - 1e-6) + 1
    assert set(drawn) <= set(order[:kept])


def test_top_k_of_one_is_greedy_whatever_the_seed(model, sentences):
    for sampler in (RandomSampler(top_k=1, seed=5), RandomSampler(top_p=1e-6, seed=6)):
        np.testing.assert_array_equal(
            model.generate(*sentences, 8, sampler), model.generate(*sentences, 8)
        )


@pytest.mark.slow
def test_the_smallest_temperature_is_greedy(model, sentences):
    for temperature in (1e-9, 1e-40, 5e-324):
        found = model.generate(*sentences, 8, RandomSampler(temperature, seed=3))
        np.testing.assert_array_equal(found, model.generate(*sentences, 8))


def test_as_many_lengths_as_sources_are_needed(model, sentences):
    source, lengths = sentences
    for count in (1, len(source) - 1):
        with pytest.raises(ValueError, match=f"must have as many rows as .*, got {count}"):
            model.generate(source, lengths[:count], 3)


def test_a_seed_repeats_its_draws_and_needs_no_other_loop(model, sentences):
    first, same, other, unseeded = (
        model.generate(*sentences, 8, RandomSampler(seed=s)) for s in (1, 1, 2, None)
    )
    np.testing.assert_array_equal(first, same)
    assert (first != other).any()
    assert (first != unseeded).any()
    assert RandomSampler(seed=1) == RandomSampler(seed=2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RandomSampler(0), "temperature must be above 0"),
        (lambda: RandomSampler(-1.0), "temperature must be a number of at least 0, got -1.0"),
        (lambda: RandomSampler(float("nan")), "temperature must be a number of at least 0"),
        (lambda: RandomSampler(seed=-1), "seed must be an int of at least 0, got -1"),
        (lambda: RandomSampler(top_k=0), "top_k must be an integer of at least 1, got 0"),
        (lambda: RandomSampler(top_p=0.0), r"top_p must be a number in \(0, 1\], got 0.0"),
        (lambda: RandomSampler(top_p=1.5), r"top_p must be a number in \(0, 1\], got 1.5"),
        (lambda: BeamSampler(0), "width must be an integer of at least 1, got 0"),
        (lambda: BeamSampler(2, -1), "length_penalty must be a number of at least 0, got -1"),
    ],
)
def test_bad_samplers(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("source", "lengths", "message"),
    [
        ([[4, 5]], [0], "valid lengths must be from 1 to 2 steps, got 0 in row 0"),
        ([[4, 5], [4, 5]], [2, 3], "valid lengths must be from 1 to 2 steps, got 3 in row 1"),
        ([[4, 12]], [2], "source contains token 12: the model knows 0 to 11"),
        ([[4, -1]], [2], "source contains token -1: the model knows 0 to 11"),
        ([[4.5, 5]], [2], "source must hold integers, got float64"),
        ([4, 5], [2], r"source must have shape \(None, None\)"),
        (np.zeros((0, 3), int), np.zeros(0, int), "source must not be empty"),
    ],
)
def test_bad_sources(model, source, lengths, message):
    with pytest.raises(ValueError, match=message):
        model.generate(np.array(source), np.array(lengths), 4)
