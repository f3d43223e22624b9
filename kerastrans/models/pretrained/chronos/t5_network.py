"""The network of Chronos-T5, from tokens to the logits of the next token."""

from numbers import Real

import keras
from keras import layers

from kerastrans.models.pretrained.checkpoint import read_section, read_sizes, refuse_others
from kerastrans.models.pretrained.chronos.t5_layers import read_t5_stacks, t5_stack
from kerastrans.models.pretrained.keyed import KeyedLayers
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_at_most, check_positive

SIZES = (
    "context_length",
    "prediction_length",
    "n_tokens",
    "n_special_tokens",
    "num_samples",
    "top_k",
)
DEFAULTS = {"top_k": 50, "temperature": 1.0, "pad_token_id": 0, "eos_token_id": 1}


def read_configuration(config):
    """Check a configuration and return its forecasting part and its T5 part."""
    own = {**DEFAULTS, **read_section(config, "chronos_config")}
    sizes = read_sizes(own, *SIZES)
    check_positive(temperature=own["temperature"])
    refuse_others(own, model_type=("seq2seq",), tokenizer_class=("MeanScaleUniformBins",))
    refuse_others(own, use_eos_token=(True, False), top_p=(1.0,))
    special = tuple(range(sizes["n_special_tokens"]))
    refuse_others(own, pad_token_id=special, eos_token_id=special)
    refuse_others(config, decoder_start_token_id=special, tie_word_embeddings=(True,))
    limits = read_section(own, "tokenizer_kwargs")
    low, high = limits.get("low_limit"), limits.get("high_limit")
    if not all(isinstance(limit, Real) for limit in (low, high)) or not low < high:
        raise ValueError(f"the configuration's low_limit must be below its high_limit: {limits}.")
    t5 = {"decoder_start_token_id": 0, **read_t5_stacks(config)}
    t5 |= read_sizes(config, "vocab_size")
    check_at_most(n_tokens=sizes["n_tokens"], vocab_size=t5["vocab_size"])
    check_at_most(n_special_tokens=len(special), bins_left=sizes["n_tokens"] - 3)
    return own, t5


def build_networks(t5):
    """Build the parts of the network, functional Keras models by name, and their layout.

    Returns:
        A dict of models and their layout, see `checkpoint.assign`. "encoder" maps tokens
        `(batch, time)` and their mask to the memory `(batch, time, d_model)`; "decoder" maps
        tokens, memory and mask to states `(batch, time, d_model)`; "head" maps states to logits
        `(batch, time, vocab_size)`.
    """
    layer = KeyedLayers()
    tokens = keras.Input((None,), dtype="int32", name="tokens")
    visible = keras.Input((None,), dtype="bool", name="visible")
    table = layer("shared", layers.ReversibleEmbedding, t5["vocab_size"], t5["d_model"])
    memory = t5_stack(layer, "encoder", table(tokens), t5, t5["num_layers"], mask=visible)
    encoder = keras.Model({"tokens": tokens, "visible": visible}, memory)
    memory = keras.Input((None, t5["d_model"]), name="memory")
    depth, attended = t5["num_decoder_layers"], {"memory": memory, "memory_mask": visible}
    states = t5_stack(layer, "decoder", table(tokens), t5, depth, **attended)
    inputs = {"tokens": tokens, "memory": memory, "visible": visible}
    decoder = keras.Model(inputs, states, name="chronos_t5")
    states = keras.Input((None, t5["d_model"]), name="states", dtype=full_precision())
    head = keras.Model(states, table(states * t5["d_model"] ** -0.5, reverse=True))
    return {"encoder": encoder, "decoder": decoder, "head": head}, layer.layout()
