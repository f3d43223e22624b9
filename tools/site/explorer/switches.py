"""Models whose attention can be seen and changed, as functions of tensors."""

from keras import ops

from kerastrans.decoding.graph import read_calls, run_calls
from kerastrans.decoding.inspection import ATTENTION_KINDS, attention_kind
from kerastrans.layers import CachedMultiHeadAttention
from kerastrans.layers.masks import combine_masks, create_look_ahead_mask, for_each_query


def run_switched(model, tensors, look_ahead, scaled):
    """Run a model on one example with two parts of its attention on or off, and show the attention.

    Args:
        model: Functional Keras model made of the blocks of kerastrans, whose attention layers have
            no masks other than padding masks and the look-ahead mask.
        tensors: List of tensors, one per input of the model, with a batch of 1.
        look_ahead: Boolean tensor `()`, whether the decoder's look-ahead mask is used.
        scaled: Boolean tensor `()`, whether the products of queries and keys are divided by the
            root of the width of a head.

    Returns:
        Dict of tensors: "outputs" `(time, ...)`; `(blocks, heads, queries, keys)` for each of
        `ATTENTION_KINDS`; "cache_keys" and "cache_values" `(blocks, heads, time, key_dim)` of the
        decoder's self-attention.
    """
    found = {kind: [] for kind in (*ATTENTION_KINDS, "cache_keys", "cache_values")}

    def run(layer, args, kwargs):
        if not isinstance(layer, CachedMultiHeadAttention):
            return layer(*args, **kwargs)
        kind = attention_kind(layer, args, kwargs)
        query, value = args[0], args[1] if len(args) > 1 else kwargs.get("value")
        keys, values = layer.project(query if value is None else value)
        if kind == "decoder_self":
            found["cache_keys"].append(keys[0])
            found["cache_values"].append(values[0])
        # `weigh` divides by the root: multiplying the keys by it undoes that.
        keys = keys * ops.where(scaled, 1.0, layer.key_dim**0.5)
        padding = kwargs.get("padding_mask")
        masks = [None if padding is None else for_each_query(padding)]
        if layer.causal:
            visible = create_look_ahead_mask(ops.shape(query)[1])
            masks.append(ops.logical_or(visible, ops.logical_not(look_ahead)))
        mask = combine_masks(*masks)
        found[kind].append(layer.weigh(query, keys, mask)[0])
        return layer.attend(query, keys, values, mask)

    tensors = {id(x): tensor for x, tensor in zip(model.inputs, tensors, strict=True)}
    symbols = {id(x): x for x in model.inputs}
    run_calls(read_calls(model, symbols), tensors, run)
    found = {name: ops.stack(parts) for name, parts in found.items() if parts}
    return {"outputs": tensors[id(symbols[id(model.outputs[0])])][0], **found}


def page_function(model):
    """Return `run_switched` as a function of the inputs of a file of the page.

    These are the encoder's and the decoder's inputs and the two switches. The lengths of a source
    of tokens, if the model has them, are those of the input: a page has no padding.
    """

    def function(encoder_inputs, decoder_inputs, look_ahead, scaled):
        lengths = [ops.shape(encoder_inputs)[1:2]] * (len(model.inputs) - 2)
        lengths = [ops.cast(x, "int32") for x in lengths]
        return run_switched(model, [encoder_inputs, *lengths, decoder_inputs], look_ahead, scaled)

    return function
