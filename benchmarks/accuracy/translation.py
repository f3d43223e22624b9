"""Translation: the lessons' small setting, a larger one, and numbers written out.

    pip install -e ".[jax,text]"
    python -m benchmarks.accuracy.translation         # writes benchmarks/results/translation.json

English-French pairs come from Tatoeba, see `kerastrans.text.load_pairs`. A tenth of the English
sentences is held out with all their translations; no setting was chosen on it. The case "small"
also measures its decoding: cached against the whole sequence through the model at every step.
"""

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path

import keras
import numpy as np

import kerastrans
from benchmarks.common import RESULTS, median_seconds
from kerastrans import text
from kerastrans.text import TokenAccuracy, bleu, corpus_bleu, load_pairs, number_pairs
from kerastrans.utils.environment import environment

OUTPUT = RESULTS / "translation.json"
SEED = 0
FAMILIAR = ["go .", "i lost .", "he's calm .", "i'm home ."]  # the sources' examples

# name: (pairs, steps, least frequency, model, learning rate, batch, epochs)
CASES = {
    "small": ("short", 10, 1, {"d_model": 32, "ff_dim": 64, "dropout": 0.1}, 5e-3, 64, 200),
    "large": ("all", 16, 2, {"d_model": 256, "ff_dim": 64, "dropout": 0.2}, 1e-3, 128, 30),
    "numbers": ("numbers", 20, 1, {"d_model": 64, "ff_dim": 128, "dropout": 0.0}, 2e-3, 64, 12),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", default=",".join(CASES), help="comma-separated")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="JSON file to write")
    options = parser.parse_args()
    results = json.loads(options.output.read_text()) if options.output.exists() else {}
    for name in options.cases.split(","):
        results[name] = run(*CASES[name])
        print(name, json.dumps(results[name], ensure_ascii=False, indent=1), flush=True)
        results["environment"] = environment() | {"seed": SEED}
        options.output.write_text(json.dumps(results, ensure_ascii=False, indent=2) + "\n")


def run(kind, num_steps, min_frequency, sizes, learning_rate, batch_size, epochs):
    """Train, translate what was held out, and what the sources translate."""
    keras.utils.set_random_seed(SEED)
    train, held_out = pairs_of(kind)
    tokenizers = [text.train_tokenizer(side, min_frequency) for side in zip(*train, strict=True)]
    english, french = tokenizers
    source, lengths = text.encode(english, [e for e, _ in train], num_steps, truncate=True)
    target, _ = text.encode(french, [f for _, f in train], num_steps, truncate=True)
    model = build(tokenizers, sizes, learning_rate, epochs * -(-len(train) // batch_size))
    inputs, targets = text.translation_arrays(source, lengths, target)
    start = time.perf_counter()
    history = model.fit(inputs, targets, batch_size=batch_size, epochs=epochs, verbose=0).history
    seconds = time.perf_counter() - start
    translator = Translator(model, english, french, num_steps)
    result = {
        "training_pairs": len(train),
        "held_out_sentences": len(held_out),
        "parameters": model.count_params(),
        "epochs": epochs,
        "seconds": round(seconds),
        "training_loss_per_token": round(history["loss"][-1], 4),
        "training_loss_without_dropout": round(model.evaluate(inputs, targets, verbose=0)[0], 4),
        **held_out_scores(translator, held_out),
    }
    if kind != "numbers":
        result["familiar"] = familiar(translator, train)
    if kind == "short":
        result["decoding"] = decoding(model, source[:500], lengths[:500], num_steps)
    return result


def build(tokenizers, sizes, learning_rate, num_batches):
    """The compiled model; its rate falls to 0 over the batches."""
    model = kerastrans.build_seq2seq_transformer(
        *(tokenizer.get_vocab_size() for tokenizer in tokenizers),
        **({"num_heads": 4, "num_encoder_blocks": 2, "num_decoder_blocks": 2} | sizes),
    )
    rate = keras.optimizers.schedules.CosineDecay(learning_rate, num_batches)
    model.compile(
        keras.optimizers.Adam(rate, global_clipnorm=1.0),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=text.PAD),
        metrics=[TokenAccuracy()],
    )
    return model


@dataclass
class Translator:
    """A trained model with the tokenizers of both languages."""

    model: keras.Model
    english: object
    french: object
    num_steps: int

    def translate(self, sentences, sampler=None):
        """The French of English sentences."""
        tokens, lengths = text.encode(self.english, sentences, self.num_steps, truncate=True)
        return text.decode(
            self.french, self.model.generate(tokens, lengths, self.num_steps, sampler)
        )

    def as_words(self, sentences):
        """As the tokenizer parts and lowers them, with the words that it does not know."""
        normalise = self.french.normalizer.normalize_str
        part = self.french.pre_tokenizer.pre_tokenize_str
        return [" ".join(word for word, _ in part(normalise(s))) for s in sentences]


def held_out_scores(translator, held_out):
    """BLEU of the held-out sentences, and the share that is right, by each way to decode."""
    sentences = list(held_out)
    references = [translator.as_words(found) for found in held_out.values()]
    scores = {}
    for name, sampler in (("greedy", None), ("beam_4", kerastrans.BeamSampler(4, 1.0))):
        found = translator.translate(sentences, sampler)
        scores[f"held_out_bleu_{name}"] = round(corpus_bleu(found, references), 2)
        exact = np.mean([f in known for f, known in zip(found, references, strict=True)])
        scores[f"held_out_exact_{name}"] = round(float(exact), 4)
    return scores


def familiar(translator, train):
    """The sources' sentences: their translations, beside those that were trained on."""
    sides = (translator.as_words(side) for side in zip(*train, strict=True))
    known = dict(zip(*sides, strict=True))
    return {
        sentence: {
            "translation": words,
            "trained_on": known.get(sentence),
            "bleu_2": sentence in known and round(bleu(words, known[sentence]), 3),
        }
        for sentence, words in zip(FAMILIAR, translator.translate(FAMILIAR), strict=True)
    }


def decoding(model, source, lengths, num_steps):
    """Whether 500 sentences come out the same with and without cache and beam, and how fast."""
    greedy = model.generate(source, lengths, num_steps)
    plain = plain_greedy(model, source, lengths, num_steps)
    beam = model.generate(source, lengths, num_steps, kerastrans.BeamSampler(1))
    endless = kerastrans.GreedySampler(end_token=-1)  # both loops go all 64 steps
    one = source[:1], lengths[:1], 64

    cached = 1e3 * median_seconds(lambda: model.generate(*one, endless), 20)
    naive = 1e3 * median_seconds(lambda: plain_greedy(model, *one, end_token=-1), 3)
    return {
        "sentences": len(source),
        "equal_to_uncached": int((greedy == plain).all(axis=1).sum()),
        "beam_of_1_equal_to_greedy": int((greedy == beam).all(axis=1).sum()),
        "cached_64_steps_ms": round(cached, 2),
        "uncached_64_steps_ms": round(naive, 2),
        "times_faster": round(naive / cached),
    }


def plain_greedy(model, source, lengths, num_steps, end_token=text.END):
    """Greedy decoding with the whole sequence through the model at every step."""
    tokens = np.full((len(source), 1), text.START, "int32")
    ended = np.zeros(len(source), bool)
    for _ in range(num_steps):
        logits = keras.ops.convert_to_numpy(model([source, lengths, tokens]))[:, -1]
        logits[:, [text.PAD, text.START]] = -np.inf
        chosen = np.where(ended, text.PAD, logits.argmax(axis=-1)).astype("int32")
        ended |= chosen == end_token
        tokens = np.concatenate([tokens, chosen[:, None]], axis=1)
    return tokens[:, 1:]


def pairs_of(kind):
    """Training pairs, and the held-out sentences with all the translations that are right."""
    if kind == "numbers":
        pairs = number_pairs(9000, seed=SEED)
        return pairs[:8000], {english: [french] for english, french in pairs[8000:]}
    translations = {}
    for english, french in load_pairs(5000):
        translations.setdefault(english, []).append(french)
    names = list(translations)
    held_out = set(np.random.default_rng(SEED).permutation(names)[: len(names) // 10])
    held_out -= {name for name in names if name.lower().replace(".", " .") in FAMILIAR}
    if kind == "short":
        # One translation each: of several, no model could tell which is meant.
        train = [(e, found[0]) for e, found in translations.items() if e not in held_out][:600]
    else:
        train = [(e, f) for e, found in translations.items() if e not in held_out for f in found]
    return train, {e: found for e, found in translations.items() if e in held_out}


if __name__ == "__main__":
    main()
