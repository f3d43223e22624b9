"""The questions that the sources leave to their readers, answered by measurement.

    pip install -e ".[text]"
    python -m benchmarks.accuracy.exercises           # writes benchmarks/results/exercises.json

depth: deeper stacks against speed and quality. scoring: additive attention against scaled dot
products. halves: encoder alone, decoder alone, or both, for forecasting. length: long inputs.
"""

import argparse
import json
import time

import keras
import numpy as np
from keras import layers, ops

import kerastrans
from benchmarks.accuracy.translation import CASES, run
from benchmarks.common import RESULTS, median_seconds
from kerastrans import zoo
from kerastrans.data import (
    StandardScaler,
    chronological_split,
    random_sequences,
    sliding_windows,
    teacher_forcing_pairs,
    window_dataset,
)
from kerastrans.evaluation.scores.metrics import mae
from kerastrans.evaluation.scores.windows import last_value, seasonal_naive
from kerastrans.layers import CachedMultiHeadAttention, PositionalEncoding
from kerastrans.layers.attention.multi_head_attention import HIDDEN_SCORE
from kerastrans.layers.transformer.blocks import EPSILON, transformer_decoder, transformer_encoder
from kerastrans.models.parts.sublayers import position_wise_ffn
from kerastrans.text.tokens import PAD
from kerastrans.utils.environment import environment

OUTPUT = RESULTS / "exercises.json"
SEED = 0


def depth():
    """The small translation model with 1 to 6 blocks in each stack."""
    kind, steps, frequency, sizes, rate, batch, _ = CASES["small"]
    kept = ("parameters", "training_loss_without_dropout", "held_out_bleu_greedy")
    rows = {}
    for blocks in (1, 2, 4, 6):
        stacks = {"num_encoder_blocks": blocks, "num_decoder_blocks": blocks}
        result = run(kind, steps, frequency, sizes | stacks, rate, batch, 60)
        rows[f"{blocks} blocks"] = {key: result[key] for key in kept} | depth_speed(blocks)
    return rows


def depth_speed(blocks):
    """Milliseconds of a training step of 64 sentences with so many blocks in each stack."""
    model = kerastrans.build_seq2seq_transformer(
        400,
        600,
        d_model=32,
        num_heads=4,
        ff_dim=64,
        num_encoder_blocks=blocks,
        num_decoder_blocks=blocks,
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=PAD)
    model.compile("adam", loss)
    tokens = np.random.default_rng(SEED).integers(4, 400, (64, 10))
    inputs = [tokens, np.full(64, 10), tokens]
    return {"ms_per_step": step_milliseconds(model, inputs, tokens, 20)}


def step_milliseconds(model, inputs, targets, steps):
    """Median over the steps, the first one, which compiles, left out."""
    return round(1e3 * median_seconds(lambda: model.train_on_batch(inputs, targets), steps), 1)


class AdditiveAttention(CachedMultiHeadAttention):
    """Scores w . tanh(q + k) in place of q . k (Bahdanau et al., 2015, appendix A.1.2)."""

    def build(self, query_shape, value_shape=None):
        super().build(query_shape, value_shape)
        self.direction = self.add_weight((self.key_dim,), "glorot_uniform", name="direction")

    def _weights(self, queries, keys, mask):
        pairs = ops.tanh(ops.expand_dims(queries, 3) + ops.expand_dims(keys, 2))  # (B, H, Q, K, D)
        scores = ops.sum(pairs * self.direction, axis=-1)
        if mask is not None:
            scores = ops.where(mask, scores, HIDDEN_SCORE)
        return ops.softmax(scores)


def scoring():
    """The copy task, with each way to score a key."""
    train, test = (random_sequences(n, 12, 8, seed) for n, seed in ((4000, 0), (500, 1)))
    rows = {}
    for name, attention in (
        ("scaled dot product", CachedMultiHeadAttention),
        ("additive", AdditiveAttention),
    ):
        keras.utils.set_random_seed(SEED)
        model = copy_model(attention)
        model.compile(keras.optimizers.Adam(2e-3), "mse")
        inputs, targets = teacher_forcing_pairs(train, start_token=0.0)
        fit = {"batch_size": 64, "verbose": 0}
        model.fit([train, inputs], targets, **fit)  # compiles
        start = time.perf_counter()
        model.fit([train, inputs], targets, epochs=14, **fit)
        seconds = time.perf_counter() - start
        seen, wanted = teacher_forcing_pairs(test, start_token=0.0)
        rows[name] = {
            "parameters": model.count_params(),
            "seconds_per_epoch": round(seconds / 14, 2),
            "test_mse": round(float(model.evaluate([test, seen], wanted, verbose=0)), 5),
        }
    return rows


def copy_model(attention, length=12, channels=8, d_model=64):
    """One encoder and one decoder block around a kind of attention."""
    history, shifted = keras.Input((length, channels)), keras.Input((length, channels))

    def embed(x):
        return PositionalEncoding(length, d_model)(layers.Dense(d_model)(x))

    def normalise(x):
        return layers.LayerNormalization(epsilon=EPSILON)(x)

    memory = embed(history)
    memory = memory + attention(4, 16)(normalise(memory))
    memory = memory + position_wise_ffn(normalise(memory), 128)
    cross = attention(4, 16)
    x = embed(shifted)
    x = x + attention(4, 16, causal=True)(normalise(x))
    x = x + cross(normalise(x), memory)
    x = x + position_wise_ffn(normalise(x), 128)
    return keras.Model([history, shifted], layers.Dense(channels)(x))


class Departures:
    """New York's departures a day ahead, standardised: windows that train and windows that test.

    Every fourth window trains and is tested.
    """

    context, horizon, stride, epochs = 168, 24, 4, 12

    def __init__(self):
        series = kerastrans.datasets.load("nyc_departures").to_numpy()
        train, _, test = chronological_split(series, (0.7, 0.1, 0.2), self.context)
        self.channels = series.shape[1]
        self.scaler = StandardScaler.fit(train)
        self.rows = self.scaler.transform(train).astype("float32")
        self.contexts, self.targets = sliding_windows(test, self.context, self.horizon, self.stride)
        self.scaled = self.scaler.transform(self.contexts).astype("float32")

    def windows(self, **options):
        """The training windows in batches."""
        options |= {"stride": self.stride, "batch_size": 64, "shuffle": True, "seed": SEED}
        return window_dataset(self.rows, self.context, self.horizon, **options)

    def train(self, model, *batches, **fit):
        """Seconds of an epoch."""
        model.compile(keras.optimizers.Adam(1e-3), "mae")
        start = time.perf_counter()
        model.fit(*batches, epochs=self.epochs, verbose=0, **fit)
        return round((time.perf_counter() - start) / self.epochs, 1)

    def row(self, model, seconds, forecast):
        """A trained model's row of the result, by its standardised forecasts."""
        return {
            "parameters": model.count_params(),
            "seconds_per_epoch": seconds,
            **self.error(self.scaler.inverse_transform(forecast)),
        }

    def error(self, forecast):
        """The error of forecasts in flights."""
        return {"test_mae": round(mae(self.targets, forecast), 3)}


def halves():
    """Departures of New York, a day ahead, by each half of the Transformer and by both."""
    data = Departures()
    rows = {"encoder alone": encoder_alone(data), "decoder alone": decoder_alone(data)}
    for noise in (0.0, 1.0):
        rows[f"both, decoder_noise={noise}"] = both_halves(data, noise)
    naive = seasonal_naive(data.contexts, data.horizon, 168)
    rows["seasonal naive (168)"] = data.error(naive)
    rows["last value"] = data.error(last_value(data.contexts, data.horizon))
    return rows


def embed(x):
    return PositionalEncoding(None, 32)(layers.Dense(32)(x))


def encoder_alone(data):
    """All steps at once, from the encoder's output."""
    keras.utils.set_random_seed(SEED)
    history = keras.Input((data.context, data.channels))
    x = embed(history)
    for _ in range(2):
        x = transformer_encoder(x, num_heads=4, key_dim=8, ff_dim=64)
    x = layers.Dense(data.horizon * data.channels)(layers.Flatten()(x))
    model = keras.Model(history, layers.Reshape((data.horizon, data.channels))(x))
    seconds = data.train(model, data.windows(), shuffle=False)
    return data.row(model, seconds, model.predict(data.scaled, verbose=0))


def decoder_alone(data):
    """Every step forecasts the next; causal attention, no second stack."""
    keras.utils.set_random_seed(SEED)
    history = keras.Input((None, data.channels))
    x = embed(history)
    for _ in range(2):
        x = transformer_decoder(x, num_heads=4, key_dim=8, ff_dim=64)
    model = keras.Model(history, layers.Dense(data.channels)(layers.LayerNormalization()(x)))
    parts = sliding_windows(data.rows, data.context + data.horizon, 1, data.stride)
    windows = np.concatenate(parts, axis=1)  # (windows, context + horizon + 1, channels)
    seconds = data.train(model, windows[:, :-1], windows[:, 1:], batch_size=64)
    seen = data.scaled
    for _ in range(data.horizon):
        following = model.predict(seen, batch_size=256, verbose=0)[:, -1:]
        seen = np.concatenate([seen, following], axis=1)
    return data.row(model, seconds, seen[:, -data.horizon :])


def both_halves(data, noise):
    """The Transformer, with noise of this size on what its decoder sees in training."""
    keras.utils.set_random_seed(SEED)
    model = kerastrans.build_transformer_model(
        (data.context, data.channels),
        num_heads=4,
        key_dim=8,
        ff_dim=64,
        num_encoder_blocks=2,
        num_decoder_blocks=2,
        d_model=32,
        decoder_noise=noise,
    )
    seconds = data.train(model, data.windows(teacher_forcing=True), shuffle=False)
    batches = np.array_split(data.scaled, 8)
    forecast = np.concatenate([model.generate(x, data.horizon) for x in batches])
    return data.row(model, seconds, forecast)


def length(steps=5):
    """Milliseconds of a training step at batch 8, as the context grows."""
    rows = {}
    for name, sizes in (
        ("direct_transformer", {"d_model": 64, "num_heads": 4, "ff_dim": 128}),
        ("informer", {"d_model": 64, "num_heads": 4, "ff_dim": 128}),
        ("patchtst", {"d_model": 64, "num_heads": 4, "ff_dim": 128}),
        ("nlinear", {}),
    ):
        rows[name] = {}
        for context in (96, 384, 1536):
            keras.utils.set_random_seed(SEED)
            model = zoo.build(name, context, 24, 7, **sizes)
            model.compile("adam", "mse")
            x, y = random_sequences(8, context, 7, 0), random_sequences(8, 24, 7, 1)
            rows[name][context] = step_milliseconds(model, x, y, steps)
    return rows


QUESTIONS = {"depth": depth, "scoring": scoring, "halves": halves, "length": length}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", default=",".join(QUESTIONS), help="comma-separated")
    options = parser.parse_args()
    results = json.loads(OUTPUT.read_text()) if OUTPUT.exists() else {}
    for name in options.questions.split(","):
        results[name] = QUESTIONS[name]()
        results["environment"] = environment() | {"seed": SEED}
        print(name, json.dumps(results[name], indent=1), flush=True)
        OUTPUT.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
