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
from kerastrans.evaluation.metrics import mae
from kerastrans.evaluation.windows import last_value, seasonal_naive
from kerastrans.layers import CachedMultiHeadAttention, PositionalEncoding
from kerastrans.layers.attention.projected_attention import HIDDEN_SCORE
from kerastrans.models.parts.blocks import transformer_encoder
from kerastrans.models.parts.sublayers import add_norm, position_wise_ffn
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
    model = kerastrans.build_seq2seq_transformer(400, 600, 32, 4, 64, blocks, blocks)
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

    def build(self, query_shape, memory_shape=None):
        super().build(query_shape, memory_shape)
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
        inputs, targets = teacher_forcing_pairs(train)
        fit = {"batch_size": 64, "verbose": 0}
        model.fit([train, inputs], targets, **fit)  # compiles
        start = time.perf_counter()
        model.fit([train, inputs], targets, epochs=14, **fit)
        seconds = time.perf_counter() - start
        seen, wanted = teacher_forcing_pairs(test)
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

    def feed_forward(x):
        return position_wise_ffn(x, 128)

    memory = add_norm(add_norm(embed(history), attention(4, 16)), feed_forward)
    cross = attention(4, 16)
    x = add_norm(embed(shifted), attention(4, 16, causal=True))
    x = add_norm(add_norm(x, lambda x: cross(x, memory)), feed_forward)
    return keras.Model([history, shifted], layers.Dense(channels)(x))


def halves(context=168, horizon=24, stride=4, epochs=12):
    """Departures of New York, a day ahead, by each half of the Transformer and by both.

    Every fourth window trains and is tested.
    """
    series = kerastrans.datasets.load("nyc_departures").to_numpy()
    train, _, test = chronological_split(series, (0.7, 0.1, 0.2), context)
    scaler = StandardScaler.fit(train)
    rows_to_learn = scaler.transform(train).astype("float32")
    contexts, targets = sliding_windows(test, context, horizon, stride)
    scaled = scaler.transform(contexts).astype("float32")
    channels = series.shape[1]
    sizes = {"num_heads": 4, "key_dim": 8, "ff_dim": 64}

    def embed(x):
        return PositionalEncoding(None, 32)(layers.Dense(32)(x))

    def encoder_only():
        history = keras.Input((context, channels))
        x = embed(history)
        for _ in range(2):
            x = transformer_encoder(x, **sizes)
        x = layers.Dense(horizon * channels)(layers.Flatten()(x))
        return keras.Model(history, layers.Reshape((horizon, channels))(x))

    def decoder_only():
        """Every step forecasts the next; causal attention, no second stack."""
        history = keras.Input((None, channels))
        x = embed(history)
        for _ in range(2):
            x = add_norm(x, CachedMultiHeadAttention(4, 8, 0.1, causal=True), 0.1)
            x = add_norm(x, lambda x: position_wise_ffn(x, 64, 0.1), 0.1)
        return keras.Model(history, layers.Dense(channels)(layers.LayerNormalization()(x)))

    def train_on(model, *batches, **fit):
        model.compile(keras.optimizers.Adam(1e-3), "mae")
        start = time.perf_counter()
        model.fit(*batches, epochs=epochs, verbose=0, **fit)
        return round((time.perf_counter() - start) / epochs, 1)

    def row(model, seconds, forecast):
        error = mae(targets, scaler.inverse_transform(forecast))
        return {
            "parameters": model.count_params(),
            "seconds_per_epoch": seconds,
            "test_mae": round(error, 3),
        }

    options = {"stride": stride, "batch_size": 64, "shuffle": True, "seed": SEED}
    rows = {}

    keras.utils.set_random_seed(SEED)
    model = encoder_only()
    seconds = train_on(
        model, window_dataset(rows_to_learn, context, horizon, **options), shuffle=False
    )
    rows["encoder alone"] = row(model, seconds, model.predict(scaled, verbose=0))

    keras.utils.set_random_seed(SEED)
    model = decoder_only()
    parts = sliding_windows(rows_to_learn, context + horizon, 1, stride)
    windows = np.concatenate(parts, axis=1)  # (windows, context + horizon + 1, channels)
    seconds = train_on(model, windows[:, :-1], windows[:, 1:], batch_size=64)
    seen = scaled
    for _ in range(horizon):
        following = model.predict(seen, batch_size=256, verbose=0)[:, -1:]
        seen = np.concatenate([seen, following], axis=1)
    rows["decoder alone"] = row(model, seconds, seen[:, -horizon:])

    for noise in (0.0, 1.0):
        keras.utils.set_random_seed(SEED)
        model = kerastrans.build_transformer_model(
            (context, channels), 8, 4, 64, 2, 2, d_model=32, decoder_noise=noise
        )
        pairs = window_dataset(rows_to_learn, context, horizon, **options, teacher_forcing=True)
        seconds = train_on(model, pairs, shuffle=False)
        forecast = np.concatenate([model.generate(x, horizon) for x in np.array_split(scaled, 8)])
        rows[f"both, decoder_noise={noise}"] = row(model, seconds, forecast)

    rows["seasonal naive (168)"] = {
        "test_mae": round(mae(targets, seasonal_naive(contexts, horizon, 168)), 3)
    }
    rows["last value"] = {"test_mae": round(mae(targets, last_value(contexts, horizon)), 3)}
    return rows


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
