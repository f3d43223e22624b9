"""Prompts, decoder-only models and models of sub-models: the cached loop is the full forward."""

import itertools

import keras
import numpy as np
import pytest
from keras import layers, ops

import kerastrans
from kerastrans import BeamSampler, GreedySampler, RandomSampler, generate, generate_steps
from kerastrans.layers import (
    CachedMultiHeadAttention,
    LearntPositionalEncoding,
    PositionalEncoding,
    PositionEmbedding,
    RotaryEmbedding,
    SinePositionEncoding,
    TransformerDecoder,
    TransformerEncoder,
)
from tests.conftest import to_numpy

RNG = np.random.default_rng(0)
WIDTH, VOCABULARY, PROMPT, STEPS = 3, 11, 5, 6
SIZES = {"num_heads": 2, "key_dim": 4, "ff_dim": 16}
NUMBERS = RNG.standard_normal((3, PROMPT, WIDTH), "float32")
TOKENS = RNG.integers(3, VOCABULARY, (3, PROMPT))
LENGTHS = np.array([2, 5, 3])
LARGE = keras.initializers.RandomNormal(stddev=1.0, seed=0)  # as large as the positions
ALL = GreedySampler(pad_token=-1, start_token=-1, end_token=-1)  # any token at any step


def function_blocks(x):
    x = PositionalEncoding(None, 8)(x)
    for _ in range(2):
        x = kerastrans.transformer_decoder(x, **SIZES)
    return x


def layer_blocks(x):
    x = LearntPositionalEncoding(PROMPT + STEPS, 8)(x)
    for _ in range(2):
        x = TransformerDecoder(intermediate_dim=16, num_heads=2, normalize_first=True)(x)
    return x


def added_positions(position):
    def body(x):
        return kerastrans.transformer_decoder(layers.Add()([x, position(x)]), **SIZES)

    return body


@keras.saving.register_keras_serializable("test_prompts")
class OwnBlock(layers.Layer):
    """A block of a user, without a word about decoding."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.attention = CachedMultiHeadAttention(num_heads=2, key_dim=4, causal=True)
        self.norm, self.gate = layers.LayerNormalization(), layers.Dense(8, activation="sigmoid")
        self.dropout = layers.Dropout(0.2)

    def call(self, x, training=False):
        x = x + self.dropout(self.attention(self.norm(x)), training=training)
        return x * self.gate(x)


class OwnPositions(layers.Layer):
    """Tokens and learnt positions, as keras.io's examples embed them."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.tokens = layers.Embedding(VOCABULARY, 8)
        self.positions = layers.Embedding(PROMPT + STEPS, 8)

    def call(self, tokens):
        return self.tokens(tokens) + self.positions(ops.arange(ops.shape(tokens)[1]))


class OwnEmbedding(OwnPositions):
    """The same, with what decoding needs."""

    def call(self, tokens):
        return super().call(tokens)

    def decode(self, tokens, *, positions):
        return self.tokens(tokens) + self.positions(positions)


class TiedHead(layers.Layer):
    def __init__(self, embedding, **kwargs):
        super().__init__(**kwargs)
        self.embedding = embedding

    def call(self, x):
        return ops.matmul(x, ops.transpose(self.embedding.tokens.embeddings))

    def decode(self, x, *, positions):
        return self(x)


class WeightedSum(layers.Layer):
    """A layer of several tensors in a list, one of which does not depend on the prompt."""

    def call(self, inputs):
        return inputs[0] + 2 * inputs[1]


def of_numbers(body, length=None):
    prompt = keras.Input((length, WIDTH), name="prompt")
    return keras.Model(prompt, layers.Dense(WIDTH)(body(layers.Dense(8)(prompt))))


def of_tokens(body, mask_zero=False):
    prompt = keras.Input((None,), dtype="int32", name="prompt")
    x = layers.Embedding(VOCABULARY, 8, LARGE, mask_zero=mask_zero)(prompt)
    return larger(keras.Model(prompt, layers.Dense(VOCABULARY)(body(x))))


def larger(model):
    """The model with weights so large that its choices differ from step to step."""
    model.set_weights([4 * x if x.ndim > 1 else x for x in model.get_weights()])
    return model


def tied():
    embedding = OwnEmbedding()
    prompt = keras.Input((None,), dtype="int32", name="prompt")
    x = OwnBlock()(OwnBlock()(embedding(prompt)))
    return larger(keras.Model(prompt, TiedHead(embedding)(x)))


def reversible():
    embedding = layers.ReversibleEmbedding(VOCABULARY, 8, embeddings_initializer=LARGE)
    prompt = keras.Input((None,), dtype="int32", name="prompt")
    return larger(keras.Model(prompt, embedding(function_blocks(embedding(prompt)), reverse=True)))


def sequential():
    block = TransformerDecoder(intermediate_dim=8, num_heads=2)
    body = keras.Sequential([layers.Dense(8), OwnBlock(), block])
    return keras.Sequential([keras.Input((None, WIDTH), name="prompt"), body, layers.Dense(WIDTH)])


NUMBER_MODELS = {
    "functions": lambda: of_numbers(function_blocks),
    "layers": lambda: of_numbers(layer_blocks),
    "own blocks": lambda: of_numbers(lambda x: OwnBlock()(OwnBlock()(x))),
    "sequential": sequential,
    "fixed length": lambda: of_numbers(function_blocks, PROMPT + STEPS - 1),
    "sines": lambda: of_numbers(added_positions(SinePositionEncoding())),
    "positions": lambda: of_numbers(added_positions(PositionEmbedding(12))),
    "rotary": lambda: of_numbers(added_positions(RotaryEmbedding())),
}
TOKEN_MODELS = {
    "functions": lambda: of_tokens(function_blocks),
    "masked": lambda: of_tokens(layer_blocks, mask_zero=True),
    "tied": tied,
    "reversible": reversible,
}


def assert_continues(model, prompt, generated, atol=1e-5):
    """Assert that the model, shown the prompt and what it generated, returns just that."""
    shown = np.concatenate([prompt, generated[:, :-1]], axis=1)
    missing = (model.inputs[-1].shape[1] or shown.shape[1]) - shown.shape[1]
    shown = np.pad(shown, [(0, 0), (0, missing)] + [(0, 0)] * (shown.ndim - 2))
    outputs = to_numpy(ops.cast(model(shown), "float32"))
    outputs = outputs[:, prompt.shape[1] - 1 :][:, : generated.shape[1]]
    if generated.ndim == 2:
        np.testing.assert_array_equal(generated, outputs.argmax(axis=-1))
    else:
        np.testing.assert_allclose(generated, outputs, rtol=1e-6, atol=atol)


@pytest.mark.slow
@pytest.mark.parametrize("name", NUMBER_MODELS)
def test_numbers_go_on_as_the_whole_model_says(name):
    model = NUMBER_MODELS[name]()
    assert_continues(model, NUMBERS, generate(model, NUMBERS, STEPS))


@pytest.mark.slow
@pytest.mark.parametrize("name", TOKEN_MODELS)
def test_tokens_go_on_as_the_whole_model_says(name):
    model = TOKEN_MODELS[name]()
    found = generate(model, TOKENS, STEPS, sampler=ALL)
    assert len(np.unique(found)) > 1
    assert_continues(model, TOKENS, found)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["functions", "tied"])
def test_a_prompt_of_one_step(name):
    model = TOKEN_MODELS[name]()
    assert_continues(model, TOKENS[:, :1], generate(model, TOKENS[:, :1], STEPS, sampler=ALL))


@pytest.mark.slow
@pytest.mark.parametrize("name", [*NUMBER_MODELS, *(f"tokens, {name}" for name in TOKEN_MODELS)])
def test_prompts_of_several_lengths_are_as_if_each_were_alone(name):
    kind, _, rest = name.partition(", ")
    model = TOKEN_MODELS[rest]() if rest else NUMBER_MODELS[kind]()
    prompts, options = (TOKENS, {"sampler": ALL}) if rest else (NUMBERS, {})
    spoilt = np.array(prompts)  # the padding does not matter
    for row, length in zip(spoilt, LENGTHS, strict=True):
        row[length:] = 9
    found = generate(model, spoilt, STEPS, prompt_lengths=LENGTHS, **options)
    for row, length in enumerate(LENGTHS):
        assert_continues(model, prompts[row : row + 1, :length], found[row : row + 1])


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_half_precision(policy):
    keras.config.set_dtype_policy(policy)
    model = of_numbers(function_blocks)
    found = generate(model, NUMBERS, STEPS)
    assert_continues(model, NUMBERS, found, atol=2e-2 if policy == "mixed_float16" else 0.1)


@pytest.mark.slow
def test_a_prompt_whose_length_is_rounded_up_inside():
    model = of_numbers(function_blocks)
    prompt = RNG.standard_normal((2, 9, WIDTH), "float32")  # 10 inside
    assert_continues(model, prompt, generate(model, prompt, STEPS))


def encoder_and_decoder(tokens=False):
    """A model of two models, the decoder of two more, of which one is called twice."""
    history, memory = keras.Input((8, WIDTH)), keras.Input((8, 8), name="memory")
    x = PositionalEncoding(8, 8)(layers.Dense(8)(history))
    encoder = keras.Model(history, kerastrans.transformer_encoder(x, **SIZES), name="encoder")

    state = keras.Input((None, 8), name="state")
    block = keras.Model(
        {"memory": memory, "state": state}, kerastrans.transformer_decoder(state, memory, **SIZES)
    )
    target = keras.Input((None,) if tokens else (None, WIDTH), dtype="int32" if tokens else None)
    embed = layers.Embedding(VOCABULARY, 8) if tokens else layers.Dense(8)
    y = PositionalEncoding(None, 8)(embed(target))
    for _ in range(2):
        y = block({"state": y, "memory": memory})
    head = keras.Sequential([layers.Dense(16, activation="relu"), layers.Dense(WIDTH)])
    if tokens:
        head = layers.Dense(VOCABULARY)
    decoder = keras.Model([target, memory], head(y), name="decoder")

    first, last = keras.Input((8, WIDTH)), keras.Input(target.shape[1:], dtype=target.dtype)
    return keras.Model([first, last], decoder([last, encoder(first)]))


HISTORY = RNG.standard_normal((3, 8, WIDTH), "float32")


@pytest.mark.slow
def test_sub_models_are_read_as_if_they_were_written_out():
    model = encoder_and_decoder()
    found = generate(model, HISTORY, STEPS)
    shown = np.concatenate([HISTORY[:, -1:], found[:, :-1]], axis=1)
    np.testing.assert_allclose(found, to_numpy(model([HISTORY, shown])), atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("tokens", [False, True])
def test_sub_models_take_prompts_of_several_steps_and_lengths(tokens):
    model = larger(encoder_and_decoder(tokens))
    prompt, options = (TOKENS, {"sampler": ALL}) if tokens else (NUMBERS, {})
    for lengths in (None, LENGTHS):
        found = generate(
            model, HISTORY, STEPS, start_token=prompt, prompt_lengths=lengths, **options
        )
        for row, length in enumerate([PROMPT] * 3 if lengths is None else lengths):
            begun = prompt[row : row + 1, :length]
            shown = np.concatenate([begun, found[row : row + 1, :-1]], axis=1)
            outputs = to_numpy(model([HISTORY[row : row + 1], shown]))[:, length - 1 :]
            if tokens:
                np.testing.assert_array_equal(found[row], outputs[0].argmax(axis=-1))
            else:  # the numbers of a step grow up to millions, with the rounding of their sums
                sizes = np.abs(outputs[0]).max(axis=-1, keepdims=True)
                np.testing.assert_allclose(found[row] / sizes, outputs[0] / sizes, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("lags", [(), (3, 6)])
def test_a_prompt_of_patches(lags):
    sizes = SIZES | {"num_encoder_blocks": 1, "num_decoder_blocks": 1, "patch_length": 2}
    model = kerastrans.build_transformer_model((8, 2), **sizes, d_model=8, lags=lags)
    history = HISTORY[..., :2]
    prompt = np.concatenate([history[:, -2:], NUMBERS[:, :4, :2]], axis=1)
    found = generate(model, history, STEPS, start_token=prompt)
    shown = np.concatenate([prompt, found[:, :-2]], axis=1)
    outputs = to_numpy(model([history, shown]))[:, 4:]
    np.testing.assert_allclose(found, outputs, rtol=1e-5, atol=1e-5)
    with pytest.raises(ValueError, match="whole patches of 2 steps, got 3"):
        generate(model, history, STEPS, start_token=prompt[:, :3])


@pytest.mark.slow
def test_a_prompt_of_a_translation():
    model = kerastrans.build_seq2seq_transformer(
        VOCABULARY, VOCABULARY, 8, 2, 16, num_encoder_blocks=1, num_decoder_blocks=1
    )
    lengths = np.array([5, 3, 2])
    found = generate(model, [TOKENS, lengths], STEPS, start_token=TOKENS, sampler=ALL)
    shown = np.concatenate([TOKENS, found[:, :-1]], axis=1)
    outputs = to_numpy(model([TOKENS, lengths, shown]))[:, PROMPT - 1 :]
    np.testing.assert_array_equal(found, outputs.argmax(axis=-1))


@pytest.mark.slow
@pytest.mark.parametrize("lengths", [None, LENGTHS])
def test_the_widest_beam_finds_the_most_probable_of_all_ends(lengths):
    model, steps = tied(), 3
    ends = np.array(list(itertools.product(range(VOCABULARY), repeat=steps)), "int32")
    sampler = BeamSampler(VOCABULARY**2, pad_token=-1, start_token=-1, end_token=-1)
    found = generate(model, TOKENS, steps, prompt_lengths=lengths, sampler=sampler)
    for row, length in enumerate([PROMPT] * 3 if lengths is None else lengths):
        begun = np.broadcast_to(TOKENS[row, :length], (len(ends), length))
        logits = to_numpy(model(np.concatenate([begun, ends[:, :-1]], axis=1)))[:, length - 1 :]
        chances = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
        totals = np.take_along_axis(chances, ends[..., None], axis=-1).sum(axis=(1, 2))
        np.testing.assert_array_equal(found[row], ends[totals.argmax()])


@pytest.mark.slow
def test_draws_are_the_same_whatever_the_other_prompts_lengths_are():
    model = tied()
    sampler = RandomSampler(0.8, top_k=5, seed=1, pad_token=-1, start_token=-1, end_token=-1)
    alone = generate(model, TOKENS[:1, :2], STEPS, sampler=sampler)
    many = generate(model, TOKENS, STEPS, prompt_lengths=LENGTHS, sampler=sampler)
    np.testing.assert_array_equal(alone[0], many[0])


@pytest.mark.slow
def test_paths_of_a_decoder_only_model_with_a_distribution():
    prompt = keras.Input((None, 1), name="prompt")
    x = function_blocks(layers.Dense(8)(prompt))
    head = kerastrans.heads.get("normal")
    outputs = head(layers.Reshape((-1, 1, head.size))(layers.Dense(head.size)(x)))
    model = keras.Model(prompt, outputs)
    with pytest.raises(ValueError, match=r"'reshape.*' \(Reshape\) step by step"):
        kerastrans.generate_samples(model, NUMBERS[..., :1], STEPS, 4)
    outputs = head(ops.expand_dims(layers.Dense(head.size)(x), 2))
    model = keras.Model(prompt, outputs)
    drawn = kerastrans.generate_samples(model, NUMBERS[..., :1], STEPS, 400)
    assert drawn.shape == (3, 400, STEPS, 1)
    first = to_numpy(model(NUMBERS[..., :1]))[:, -1, 0]
    np.testing.assert_allclose(drawn[:, :, 0, 0].mean(axis=1), first[:, 0], atol=0.2)


@pytest.mark.parametrize("name", ["functions", pytest.param("masked", marks=pytest.mark.slow)])
def test_steps_come_one_by_one(name):
    model = TOKEN_MODELS[name]()
    options = {"prompt_lengths": LENGTHS, "sampler": ALL}
    steps = generate_steps(model, TOKENS, STEPS, **options)
    assert next(steps).shape == (3, 1)
    found = np.concatenate([next(steps) for _ in range(STEPS - 1)], axis=1)
    assert next(steps, None) is None
    np.testing.assert_array_equal(found, generate(model, TOKENS, STEPS, **options)[:, 1:])


@pytest.mark.slow
def test_steps_of_numbers_and_patches_and_those_before_an_early_end():
    for model in (NUMBER_MODELS["functions"](), encoder_and_decoder()):
        given = HISTORY if len(model.inputs) > 1 else NUMBERS
        found = np.concatenate(list(generate_steps(model, given, STEPS)), axis=1)
        np.testing.assert_allclose(found, generate(model, given, STEPS), atol=1e-5)
    sizes = SIZES | {"num_encoder_blocks": 1, "num_decoder_blocks": 1, "patch_length": 2}
    model = kerastrans.build_transformer_model((8, WIDTH), **sizes, d_model=8)
    assert [x.shape[1] for x in generate_steps(model, HISTORY, 5)] == [2, 2, 1]
    model = tied()
    first = generate(model, TOKENS[:1], 1, sampler=ALL)[0, 0]
    ends = GreedySampler(start_token=-1, end_token=int(first))
    assert len(list(generate_steps(model, TOKENS[:1], STEPS, sampler=ends))) == 1


def bad(model=lambda: of_numbers(function_blocks), inputs=NUMBERS, steps=2, **options):
    return model, inputs, steps, options


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (bad(inputs=NUMBERS[0]), r"prompt must have shape \(None, None, 3\)"),
        (bad(inputs=[NUMBERS, NUMBERS]), "requires 1 array, the prompt, got 2"),
        (bad(inputs=NUMBERS * np.nan), "prompt must be finite"),
        (bad(inputs=NUMBERS[:, :0]), "prompt must not be empty"),
        (bad(start_token=0.0), "has no encoder: its prompt is the first argument, leave start_to"),
        (bad(sampler=GreedySampler()), "a sampler chooses tokens, but .* decodes numbers"),
        (bad(prompt_lengths=[1, 2]), r"3 integers, one for each prompt, got int64 of shape \(2,\)"),
        (bad(prompt_lengths=[1.0, 2.0, 3.0]), "must be 3 integers, .* got float64"),
        (bad(prompt_lengths=[1, 2, 6]), "must be from 1 to 5 steps, got 6 in row 2"),
        (bad(prompt_lengths=[0, 2, 5]), "must be from 1 to 5 steps, got 0 in row 0"),
        (bad(NUMBER_MODELS["layers"], steps=8), "max_len=11 positions, got a sequence of 12"),
        (bad(NUMBER_MODELS["fixed length"], steps=7), "prompt has 10 steps, got a sequence of 11"),
        (bad(TOKEN_MODELS["functions"], TOKENS + 6), "contains token 1[1-6]: the model knows 0 to"),
        (bad(TOKEN_MODELS["functions"], TOKENS * 1.5), "prompt must hold integers, got float64"),
    ],
)
def test_bad_calls(call, message):
    model, inputs, steps, options = call
    with pytest.raises(ValueError, match=message):
        generate(model(), inputs, steps, **options)


class Scaled(layers.Layer):
    """A layer with weights of its own, which a graph of operations would not follow."""

    def build(self, shape):
        self.scale = self.add_weight(shape=(shape[-1],), initializer="ones", name="scale")

    def call(self, x):
        return x * self.scale


class Recurrent(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.rnn = layers.GRU(8, return_sequences=True, name="inner")

    def build(self, shape):
        self.rnn.build(shape)

    def call(self, x):
        return self.rnn(x)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (lambda x: Recurrent(name="mine")(x), r"'inner' \(GRU\) of 'mine' step by step"),
        (
            lambda x: keras.Sequential([layers.Conv1D(8, 3, padding="causal", name="inner")])(x),
            r"'inner' \(Conv1D\) of 'sequential.*' step by step",
        ),
        (
            lambda x: TransformerEncoder(intermediate_dim=8, num_heads=2, name="both")(x),
            "sees later positions",
        ),
        (lambda x: Scaled(name="mine")(x), r"'mine' \(Scaled\) step by step: .*define `decode`"),
        (lambda x: layers.MultiHeadAttention(2, 4, name="keras")(x, x), r"'keras' \(MultiHeadAtt"),
    ],
)
def test_what_cannot_be_decoded_is_refused_by_name(body, message):
    with pytest.raises(ValueError, match=message):
        generate(of_numbers(body), NUMBERS, STEPS)


def test_a_model_with_state_is_refused():
    prompt = keras.Input(batch_shape=(3, None, WIDTH))
    x = layers.LSTM(WIDTH, return_sequences=True, stateful=True, name="remembers")(prompt)
    with pytest.raises(ValueError, match=r"'remembers' \(LSTM\) step by step"):
        generate(keras.Model(prompt, x), NUMBERS, STEPS)


def test_own_positions_must_say_how_they_are_decoded():
    prompt = keras.Input((None,), dtype="int32")
    model = keras.Model(prompt, layers.Dense(VOCABULARY)(OwnPositions(name="own")(prompt)))
    with pytest.raises(ValueError, match=r"'own' \(OwnPositions\) step by step: .*`decode`"):
        generate(model, TOKENS, STEPS)


def test_a_mask_that_is_known_ahead_has_no_prompts_of_several_lengths():
    history, early = keras.Input((8, WIDTH)), keras.Input((PROMPT + STEPS,), dtype="bool")
    target = keras.Input((None, WIDTH))
    layer = CachedMultiHeadAttention(num_heads=2, key_dim=4, causal=True, name="own")
    model = keras.Model([history, early, target], layer(target, padding_mask=early))
    given = [HISTORY, np.ones((3, PROMPT + STEPS), bool)]
    generate(model, given, STEPS, start_token=NUMBERS)
    with pytest.raises(ValueError, match=r"several lengths cannot be decoded by 'own' \(Cached"):
        generate(model, given, STEPS, start_token=NUMBERS, prompt_lengths=LENGTHS)


def test_steps_that_do_not_fit_are_refused_before_the_first():
    with pytest.raises(ValueError, match="max_len=11 positions, got a sequence of 12"):
        generate_steps(NUMBER_MODELS["layers"](), NUMBERS, 8)


def test_beams_have_no_steps():
    with pytest.raises(ValueError, match="beams are compared after the last step"):
        generate_steps(TOKEN_MODELS["functions"](), TOKENS, STEPS, sampler=BeamSampler(2))


@pytest.mark.slow
def test_a_layer_of_several_tensors_in_a_list():
    history, target = keras.Input((8, WIDTH)), keras.Input((None, WIDTH))
    x = layers.Dense(WIDTH)(OwnBlock()(layers.Dense(8)(target)))
    model = keras.Model([history, target], WeightedSum()([x, history[:, :1]]))
    found = generate(model, HISTORY, STEPS)
    shown = np.concatenate([HISTORY[:, -1:], found[:, :-1]], axis=1)
    np.testing.assert_allclose(found, to_numpy(model([HISTORY, shown])), atol=1e-5)


@pytest.mark.slow
def test_the_prompt_is_read_in_one_pass(monkeypatch):
    model, sizes = of_numbers(function_blocks), []
    decode = CachedMultiHeadAttention.decode

    def record(layer, query, *args, **kwargs):
        sizes.append(query.shape[1])
        return decode(layer, query, *args, **kwargs)

    monkeypatch.setattr(CachedMultiHeadAttention, "decode", record)
    next(generate_steps(model, NUMBERS, STEPS))
    assert sizes == [PROMPT - 1] * 2 + [1] * 2  # two blocks
