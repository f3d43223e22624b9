"""DeepAR's recurrence: step by step it is the model that was trained, and it samples its head."""

import numpy as np
import pytest
from keras import ops
from scipy import stats

from kerastrans import generate_samples, heads, zoo
from kerastrans.decoding.cached_decoder import cached_decoder
from tests.conftest import in_float64, to_numpy
from tests.heads.conftest import COUNTS
from tests.heads.conftest import DISTRIBUTIONS as ALL

# The other counts are drawn as the first of them is.
DISTRIBUTIONS = [name for name in ALL if name not in COUNTS[1:]]


def example(seed=0):
    rng = np.random.default_rng(seed)
    return [
        rng.normal(size=(3, 20, 2)).astype("float32"),
        rng.integers(0, 3, (3, 25, 2)).astype("float32"),
        rng.integers(0, 4, (3, 1)).astype("float32"),
    ]


def build(head="normal", context_length=20, **options):
    sizes = {"covariates": {"future": (0, 3), "static": (4,)}, **options}
    return zoo.build("deepar", context_length, 5, 2, units=8, head=head, **sizes)


@pytest.mark.parametrize("num_layers", [1, 2])
def test_step_by_step_decoding_equals_the_teacher_forced_model(num_layers):
    model, inputs = build(num_layers=num_layers), example()
    forced = np.random.default_rng(1).normal(size=(3, 5, 2)).astype("float32")
    whole = to_numpy(model([*inputs, forced]))
    decoder = cached_decoder(model)
    known = decoder._encode([ops.convert_to_tensor(x) for x in inputs])
    context = {"encoded": known, "shared": {}, "starts": None}
    caches = decoder._start_caches(known, 3, 5)
    for t in range(5):
        value = ops.convert_to_tensor(forced[:, t : t + 1])
        outputs, caches = decoder._step(context, value, caches, t, 1)
        np.testing.assert_allclose(to_numpy(outputs)[:, 0], whole[:, t], rtol=1e-4, atol=1e-5)


def test_decoder_uses_only_the_past_and_covariates_of_the_current_step():
    model, inputs = build(), example()
    forced = np.zeros((3, 5, 2), "float32")
    before = to_numpy(model([*inputs, forced]))
    forced[:, 2, 0] = 5.0
    moved = np.abs(to_numpy(model([*inputs, forced])) - before).max(axis=(0, 3)) > 1e-7
    np.testing.assert_array_equal(moved[:, 0], [False, False, True, True, True])
    assert not moved[:, 1].any()  # the other channel
    inputs[1][:, 23, 0] += 3.0  # the fourth step of the horizon
    forced[:, 2, 0] = 0.0
    moved = np.abs(to_numpy(model([*inputs, forced])) - before).max(axis=(0, 2, 3)) > 1e-7
    np.testing.assert_array_equal(moved, [False, False, False, True, True])


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.slow
def test_first_step_follows_the_distribution_of_the_model(name):
    model, inputs = build(name), example()
    head = heads.of(model)
    samples = generate_samples(model, inputs, 5, 2000, seed=3)
    assert samples.shape == (3, 2000, 5, 2)
    parameters = to_numpy(model([*inputs, inputs[0][:, -1:]]))
    for b in range(3):
        drawn, one = samples[b, :, 0, 0].astype("float64"), parameters[b, :1, 0]
        if name == "negative_binomial":
            np.testing.assert_allclose(drawn.mean(), head.point(one).item(), rtol=0.15, atol=0.05)
            np.testing.assert_allclose((drawn <= 0).mean(), head.cdf(one, 0.0).item(), atol=0.05)
        else:
            assert stats.kstest(drawn, lambda x, p=one: head.cdf(p, x)).pvalue > 1e-3
    again = generate_samples(model, inputs, 5, 2000, seed=3)
    np.testing.assert_array_equal(samples, again)
    assert np.abs(samples - generate_samples(model, inputs, 5, 2000, seed=4)).max() > 0


@pytest.mark.slow
@pytest.mark.tensorflow  # JAX has no float64 unless asked before it starts
@pytest.mark.parametrize(
    "name", ["normal", *(pytest.param(x, marks=pytest.mark.slow) for x in DISTRIBUTIONS[1:])]
)
def test_samples_equal_those_of_a_float64_model(name):
    model, inputs = build(name), example()
    here = generate_samples(model, inputs, 3, 20)
    there = generate_samples(in_float64(model, lambda: build(name)), inputs, 3, 20)
    if name == "negative_binomial":  # a count may fall on the other side of its edge
        assert (here == there).mean() > 0.98
    else:
        np.testing.assert_allclose(here, there, rtol=1e-3, atol=1e-3)


@pytest.mark.slow
def test_samples_of_a_window_do_not_depend_on_its_batch():
    model, inputs = build(), example()
    together = generate_samples(model, inputs, 5, 20, seed=3)
    alone = generate_samples(model, [x[1:2] for x in inputs], 5, 20, seed=3)
    np.testing.assert_allclose(together[1:2], alone, atol=1e-5)
    same = [np.concatenate([x[:1], x[:1]]) for x in inputs]
    same[0][1] += 1.0
    moved = generate_samples(model, same, 5, 20, seed=3)
    ranks = np.argsort(moved[:, :, 0, 0], axis=1)
    assert (ranks[0] != ranks[1]).any()  # another window has other draws


@pytest.mark.parametrize("num_layers", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("head", ["point", pytest.param("normal", marks=pytest.mark.slow)])
def test_any_number_of_layers_trains_and_forecasts(num_layers, head):
    """One alone stopped on JAX: a stack of one returned its states in another structure."""
    model = zoo.build("deepar", 8, 3, 2, units=4, num_layers=num_layers, head=head)
    x, y = (np.random.default_rng(n).uniform(size=(4, n, 2)).astype("float32") for n in (8, 3))
    model.compile("adam", heads.of(model).loss())
    losses = model.fit(x if head == "point" else [x, y], y, epochs=2, verbose=0).history["loss"]
    assert losses[1] < losses[0]
    forecast = model.predict(x, verbose=0) if head == "point" else generate_samples(model, x, 3, 5)
    assert forecast.shape == ((4, 3, 2) if head == "point" else (4, 5, 3, 2))


def test_covariates_that_end_before_the_loop_are_refused():
    with pytest.raises(
        ValueError, match="6 steps after a history of 20 require covariates of 26 steps"
    ):
        generate_samples(build(), example(), 6, 2)


def test_context_of_one_step_without_covariates():
    model = zoo.build("deepar", 1, 3, 2, units=4, head="normal")
    assert generate_samples(model, np.ones((2, 1, 2), "float32"), 3, 7).shape == (2, 7, 3, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"covariates": {"past": (0,)}}, "takes future and static covariates, not past ones"),
        ({"head": "point"}, "takes covariates only with a distribution"),
        ({"dropout": 1.0}, "dropout must be"),
    ],
)
def test_invalid_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        build(**options)


def test_sampling_requires_an_autoregressive_model():
    model = zoo.build("nlinear", 8, 2, 1, head="normal")
    with pytest.raises(ValueError, match="generate requires a functional model"):
        generate_samples(model, np.zeros((1, 8, 1), "float32"), 2)
