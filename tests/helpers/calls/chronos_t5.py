import keras
import numpy as np

from kerastrans.models.pretrained.arrays import left_padded
from tests.helpers.cases import numbered

SHOWN = 16  # positions of the encoder's output that a case has at most


def call(model, inputs):
    """Outputs of a case of Chronos-T5 by name, step by step: its forecasts are drawn."""
    if "decoder_tokens" not in inputs:
        raise LookupError(f"no call for {sorted(inputs)}")
    history = inputs.get("context")
    if history is None:
        rows = numbered(inputs, "context")
        history = np.stack([left_padded(row, max(map(len, rows))) for row in rows])
    tokens, visible, scale = model.encode(history.astype(keras.config.floatx()))
    memory = model.memory(tokens, visible)
    given = inputs["decoder_tokens"].astype("int32")
    greedy = model.generate(
        tokens, visible, given.shape[1], lambda logits, i: logits.argmax(axis=-1), copies=1
    )
    return {
        "token_ids": tokens,
        "attention_mask": visible.astype(int),
        "scale": scale,
        "encoder_out": memory[:, -SHOWN:],
        "logits": model.logits(model.states(given, memory, visible)),
        "greedy_tokens": greedy,
        "greedy_values": model.values.decode(greedy, scale),
    }
