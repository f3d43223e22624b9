"""Tokens per second of a decoder-only model beside GPT-2 of `transformers`, of the same sizes.

Both have random weights, learnt positions and tied embeddings, read the same prompt, and choose the
most probable token at each step, with a cache, in float32. A time is the median of the processor's
time of whole calls of `generate`, prompt included, on one core; the first call, which compiles with
all optimisations, is a column of its own.

    KERAS_BACKEND=jax taskset -c 0 python -m benchmarks.speed.prompts

Adds the rows of a backend to results/prompts.csv; those of `transformers` with the backend torch,
where that package is installed: `pip install -e .[benchmarks]`.
"""

import time

import keras
import numpy as np
from keras import layers

import kerastrans
from benchmarks.common import RESULTS, append_row, keys_of, median_seconds
from kerastrans.utils.compilation import shapes_that_come_often

VOCABULARY, D_MODEL, HEADS, BLOCKS = 5000, 256, 4, 4
PROMPT, STEPS, BATCHES, SEED = 64, 128, (1, 32), 0
COLUMNS = ("model", "backend", "batch", "milliseconds", "tokens_per_second", "first_call_seconds")


def our_model():
    """GPT-2 of our blocks: pre-norm, learnt positions, one matrix for embedding and logits."""
    keras.utils.set_random_seed(SEED)
    embedding = layers.ReversibleEmbedding(VOCABULARY, D_MODEL)
    tokens = keras.Input((None,), dtype="int32")
    x = kerastrans.LearntPositionalEncoding(PROMPT + STEPS, D_MODEL)(embedding(tokens))
    sizes = {"num_heads": HEADS, "key_dim": D_MODEL // HEADS, "ff_dim": 4 * D_MODEL}
    for _ in range(BLOCKS):
        x = kerastrans.transformer_decoder(x, **sizes, dropout=0.0, activation="gelu")
    x = layers.LayerNormalization()(x)
    return keras.Model(tokens, embedding(x, reverse=True))


def our_call(prompt):
    model = our_model()
    sampler = kerastrans.GreedySampler(pad_token=-1, start_token=-1, end_token=-1)
    return lambda: kerastrans.generate(model, prompt, STEPS, sampler=sampler)


def their_call(prompt):
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(SEED)
    config = GPT2Config(
        vocab_size=VOCABULARY,
        n_positions=PROMPT + STEPS,
        n_embd=D_MODEL,
        n_layer=BLOCKS,
        n_head=HEADS,
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=0,
    )
    model, given = GPT2LMHeadModel(config).eval(), torch.from_numpy(prompt)
    options = {
        "max_new_tokens": STEPS,
        "do_sample": False,
        "attention_mask": torch.ones_like(given),
    }

    def call():
        with torch.inference_mode():
            found = model.generate(given, **options)
        assert found.shape == (len(prompt), PROMPT + STEPS)

    return call


def main():
    path, backend = RESULTS / "prompts.csv", keras.backend.backend()
    calls = {"kerastrans": our_call} | ({"transformers": their_call} if backend == "torch" else {})
    for batch in BATCHES:
        prompt = np.random.default_rng(SEED).integers(3, VOCABULARY, (batch, PROMPT))
        for name, make in calls.items():
            if (name, backend, str(batch)) in keys_of(path, COLUMNS[:3]):
                continue
            call = make(prompt)
            with shapes_that_come_often():
                start = time.process_time()
                call()
                first = time.process_time() - start
                seconds = median_seconds(call, 7, clock=time.process_time)
            row = [name, backend, batch, f"{1e3 * seconds:.1f}"]
            row += [f"{batch * STEPS / seconds:.0f}", f"{first:.1f}"]
            append_row(path, COLUMNS, dict(zip(COLUMNS, row, strict=True)))


if __name__ == "__main__":
    main()
