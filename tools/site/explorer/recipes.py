"""Recipes of the models of the page: building, training, and the facts of the trained model."""

import keras
import numpy as np

import kerastrans
from kerastrans import datasets, text
from kerastrans.data import (
    chronological_split,
    random_sequences,
    sliding_windows,
    teacher_forcing_pairs,
)
from kerastrans.evaluation import seasonal_naive

NUM_STEPS, NUM_CHANNELS = 6, 12  # of the copy task, as in lesson 4
NUM_WORDS = 10  # of a number written out, with the end token
NUM_HELD_OUT = 200  # numbers that are not trained on
CONTEXT, PATCH, HORIZON = 168, 12, 48  # hours of the departures
MONDAY = "2013-11-11"  # first day of the window that the page shows


def build_copy():
    """Build the model of lesson 4, with narrower heads and feed-forward networks."""
    return kerastrans.build_transformer_model(
        (NUM_STEPS, NUM_CHANNELS),
        d_model=64,
        num_heads=4,
        key_dim=8,
        ff_dim=64,
        num_encoder_blocks=2,
        num_decoder_blocks=2,
        dropout=0.0,
    )


def train_copy(model):
    """Train on 10,000 random sequences."""
    epochs, sequences = 30, random_sequences(10_000, NUM_STEPS, NUM_CHANNELS, seed=0)
    inputs, targets = teacher_forcing_pairs(sequences, start_token=0.0)
    model.compile(_adam(2e-3, epochs, len(sequences)), "mse")
    model.fit([sequences, inputs], targets, batch_size=64, epochs=epochs, verbose=0)


def describe_copy(model):
    """Return the error of the generated steps on 1,000 other sequences, whose variance is 1."""
    test = random_sequences(1000, NUM_STEPS, NUM_CHANNELS, seed=1)
    generated = model.generate(test, NUM_STEPS, start_token=0.0)
    return {"mse": float(np.mean((generated - test) ** 2))}


def number_words():
    """Return the training and the held-out pairs of numbers, and both vocabularies.

    Hyphens are spaces, so that "forty-two" and "quarante-deux" are two words each.
    """
    pairs = [
        tuple(words.replace("-", " ") for words in pair) for pair in text.number_pairs(1000, 1000)
    ]
    train, held_out = pairs[:-NUM_HELD_OUT], pairs[-NUM_HELD_OUT:]
    return train, held_out, [text.train_tokenizer(side) for side in zip(*train, strict=True)]


def build_numbers():
    """Build a small token model, from English to French words."""
    *_, (english, french) = number_words()
    return kerastrans.build_seq2seq_transformer(
        english.get_vocab_size(),
        french.get_vocab_size(),
        d_model=32,
        num_heads=4,
        ff_dim=64,
        num_encoder_blocks=2,
        num_decoder_blocks=2,
        dropout=0.1,
    )


def train_numbers(model):
    """Train on the numbers that are not held out."""
    train, _, vocabularies = number_words()
    source, lengths, target = encode_words(train, vocabularies)
    inputs, targets = text.translation_arrays(source, lengths, target)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=text.PAD)
    epochs = 150
    model.compile(_adam(3e-3, epochs, len(train)), loss)
    model.fit(inputs, targets, batch_size=64, epochs=epochs, verbose=0)


def describe_numbers(model):
    """Return the share of held-out numbers whose words are all right, and the vocabularies."""
    _, held_out, vocabularies = number_words()
    source, lengths, target = encode_words(held_out, vocabularies)
    right = (model.generate(source, lengths, NUM_WORDS) == target).all(axis=1)
    words = [[x.id_to_token(i) for i in range(x.get_vocab_size())] for x in vocabularies]
    return {
        "right": float(np.mean(right)),
        "held_out": NUM_HELD_OUT,
        "english": words[0],
        "french": words[1],
    }


def encode_words(pairs, vocabularies):
    """Return the tokens and lengths of the English words, and the tokens of the French ones."""
    english, french = zip(*pairs, strict=True)
    source, lengths = text.encode(vocabularies[0], english, NUM_WORDS)
    return source, lengths, text.encode(vocabularies[1], french, NUM_WORDS)[0]


def build_departures():
    """Build the encoder-decoder Transformer on patches of half a day, for a week of one series."""
    return kerastrans.build_transformer_model(
        (CONTEXT, 1),
        patch_length=PATCH,
        d_model=32,
        num_heads=4,
        key_dim=8,
        ff_dim=64,
        num_encoder_blocks=2,
        num_decoder_blocks=2,
        dropout=0.1,
    )


def train_departures(model):
    """Train on the first 70 % of the hours, on the windows of all three airports."""
    epochs, (train, _, _) = 25, _departures()
    inputs, targets = _windows(train, stride=1)
    future = np.concatenate([inputs[:, -PATCH:], targets], axis=1)
    model.compile(_adam(3e-3, epochs, len(inputs)), "mae")
    model.fit([inputs, future[:, :-PATCH]], targets, batch_size=64, epochs=epochs, verbose=0)


def describe_departures(model):
    """Return errors on the last 20 % of the hours, and a window of them from Monday on."""
    inputs, targets = _windows(_departures()[2], stride=24)
    forecasts = {"mae": model.generate(inputs, HORIZON)}
    forecasts["mae_week_before"] = seasonal_naive(inputs, HORIZON, CONTEXT)
    errors = {name: float(np.abs(x - targets).mean()) for name, x in forecasts.items()}
    shown = datasets.load("nyc_departures")[MONDAY:][: CONTEXT + HORIZON]
    series = {airport: shown[airport].astype(int).tolist() for airport in shown}
    return {**errors, "start": MONDAY, "series": series}


def _departures():
    """Return the training, validation and test hours of three airports, `(hours, 3)`."""
    values = datasets.load("nyc_departures").to_numpy("float32")
    return chronological_split(values, (0.7, 0.1, 0.2), CONTEXT)


def _windows(values, stride):
    """Return the windows of all airports, `(windows, CONTEXT, 1)` and `(windows, HORIZON, 1)`."""
    pairs = [
        sliding_windows(values[:, i : i + 1], CONTEXT, HORIZON, stride)
        for i in range(values.shape[1])
    ]
    return [np.concatenate(parts) for parts in zip(*pairs, strict=True)]


def _adam(rate, epochs, num_examples, batch_size=64):
    """Return Adam with a learning rate that falls to 0 over the epochs."""
    steps = epochs * -(-num_examples // batch_size)
    return keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(rate, steps), clipnorm=1.0)
