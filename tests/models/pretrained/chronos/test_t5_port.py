import numpy as np
import pytest

from kerastrans.models import pretrained
from kerastrans.models.pretrained.chronos import t5_port as chronos_t5
from kerastrans.models.pretrained.chronos.t5_network import build_networks, read_configuration
from tests.helpers.checkpoints import CHRONOS_T5, changed, random_tensors, write

HORIZON = 6  # past the trained one
RNG = np.random.default_rng(1)
SERIES = [RNG.normal(3, 2, length).cumsum() for length in (30, 13, 5)]
SERIES[1][[0, 7, 12]] = np.nan


def weights(config):
    return random_tensors(build_networks(read_configuration(config)[1])[1])


@pytest.fixture(scope="module")
def model():
    return chronos_t5.load(CHRONOS_T5, weights(CHRONOS_T5))


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_forecast_does_not_depend_on_its_neighbours(model):
    together = model.forecast(SERIES, HORIZON)
    for values, found in zip(SERIES, together, strict=True):
        alone = model.forecast([values], HORIZON)[0]
        np.testing.assert_allclose(found["quantiles"], alone["quantiles"], rtol=1e-5)
        np.testing.assert_allclose(found["mean"], alone["mean"], rtol=1e-5)
        assert found["quantiles"].shape == (1, HORIZON, 9)
        assert (np.diff(found["quantiles"]) >= 0).all()


def test_of_a_long_series_the_last_part_counts(model):
    whole, last = model.forecast([SERIES[0], SERIES[0][-20:]], HORIZON)
    np.testing.assert_array_equal(whole["quantiles"], last["quantiles"])


def test_of_one_likeliest_token_all_paths_are_the_greedy_one():
    config = changed(CHRONOS_T5, top_k=1)
    model = chronos_t5.load(config, weights(config))
    history = SERIES[0][None, -20:].astype("float32")
    tokens, visible, scale = model.encode(history)
    greedy = model.generate(tokens, visible, 4, lambda logits, i: logits.argmax(-1), copies=1)
    expected = np.repeat(model.values.decode(greedy, scale)[:, None], 6, axis=1)
    np.testing.assert_array_equal(model.sample(history, 4), expected)


def test_paths_are_drawn_with_the_probabilities_of_the_likeliest_tokens(model):
    logits = np.log(np.array([[0.5, 0.2, 0.1, 0.1, 0.05, 0.05]] * 1000))
    uniform = np.linspace(0, 1, 1000, endpoint=False)[:, None]
    drawn = np.bincount(model._draw(uniform, logits, 0), minlength=6) / 1000
    np.testing.assert_allclose(drawn, np.array([0.5, 0.2, 0.1, 0.1, 0.05, 0]) / 0.95, atol=2e-3)


def test_there_is_no_functional_model(model):
    with pytest.raises(ValueError, match="samples its forecasts"):
        model.build(8, 4)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("model_type", "causal"),
        ("tokenizer_class", "Other"),
        ("top_p", 0.9),
        ("top_k", 0),
        ("temperature", 0.0),
        ("eos_token_id", 2),
        ("decoder_start_token_id", 5),
        ("tie_word_embeddings", False),
        ("n_tokens", 25),
        ("n_special_tokens", 22),
        ("vocab_size", 0),
        ("tokenizer_kwargs", {"low_limit": 1.0, "high_limit": -1.0}),
        ("tokenizer_kwargs", {"low_limit": "x", "high_limit": 1.0}),
    ],
)
def test_a_switch_that_is_not_built_is_named(tmp_path, name, value):
    folder = write(tmp_path, changed(CHRONOS_T5, **{name: value}), weights(CHRONOS_T5))
    with pytest.raises(ValueError, match="limit" if name == "tokenizer_kwargs" else name):
        pretrained.load(folder)


def test_what_it_cannot_take_is_refused(model):
    with pytest.raises(ValueError, match="past_covariates"):
        model.forecast([np.ones(3)], 2, past_covariates=[{"a": np.ones(3)}])
    with pytest.raises(ValueError, match="infinite"):
        model.forecast([[1.0, np.inf]], 2)
