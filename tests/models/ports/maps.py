"""Maps from PyTorch's weights to ours, each a generator of `(path, array)`.

`ours` is the path of a layer, `theirs` the name of a module.
"""

import numpy as np


def linear(official, ours, theirs, bias=True):
    """A linear map, or a convolution of kernel 1: (out, in) there, (in, out) here."""
    kernel = official.take(f"{theirs}.weight")
    yield f"{ours}/kernel", kernel.reshape(kernel.shape[:2]).T
    if bias:
        yield f"{ours}/bias", official.take(f"{theirs}.bias")


def linears(official, ours, theirs, count):
    """One linear map per channel, `theirs.<i>`: one `EinsumDense` of all channels here."""
    names = [f"{theirs}.{i}" for i in range(count)]
    kernels = [official.take(f"{name}.weight").T for name in names]  # (in, out) each
    yield f"{ours}/kernel", np.stack(kernels)
    yield f"{ours}/bias", np.stack([official.take(f"{name}.bias") for name in names])


def conv(official, ours, theirs, bias=True):
    """A convolution: (out, in / groups, *kernel) there, (*kernel, in / groups, out) here."""
    kernel = official.take(f"{theirs}.weight")
    yield f"{ours}/kernel", np.moveaxis(kernel, (0, 1), (-1, -2))
    if bias:
        yield f"{ours}/bias", official.take(f"{theirs}.bias")


def norm(official, ours, theirs):
    """The scale and offset of a normalisation."""
    yield f"{ours}/gamma", official.take(f"{theirs}.weight")
    yield f"{ours}/beta", official.take(f"{theirs}.bias")


def batch_norm(official, ours, theirs):
    """A batch normalisation with its running statistics."""
    yield from norm(official, ours, theirs)
    yield f"{ours}/moving_mean", official.take(f"{theirs}.running_mean")
    yield f"{ours}/moving_variance", official.take(f"{theirs}.running_var")


def attention(official, ours, query, key, value, output):
    """The four projections of a multi-head attention."""
    names = {"query": query, "key": key, "value": value, "output": output}
    for name, theirs in names.items():
        yield from linear(official, f"{ours}/{name}", theirs)


def feature_major(kernel, num_tokens):
    """Reorder the columns of a map of flattened (feature, token) to (token, feature)."""
    out = len(kernel)
    return kernel.reshape(out, -1, num_tokens).transpose(0, 2, 1).reshape(out, -1)


def circular(official, ours, theirs):
    """A `ValueEmbedding`: a circular convolution over three steps, without bias."""
    kernel = official.take(f"{theirs}.weight")  # (out, in, 3)
    yield f"{ours}/kernel", kernel.transpose(2, 1, 0).reshape(-1, len(kernel))


def value_embedding(official, ours, theirs):
    """An embedding of values; those of positions and of the calendar have no counterpart."""
    yield from circular(official, ours, f"{theirs}.value_embedding.tokenConv")
    official.drop(f"{theirs}.position_embedding.*", f"{theirs}.temporal_embedding.*")


def projections(official, ours, theirs):
    """The four projections of an `AttentionLayer` of the repositories of Tsinghua's group."""
    names = ("query", "key", "value", "out")
    yield from attention(official, ours, *(f"{theirs}.{name}_projection" for name in names))


def encoder_layer(official, ours, theirs):
    """An encoder block of the same repositories: attention, two convolutions of width 1, norms."""
    yield from projections(official, f"{ours}_self_attention", f"{theirs}.attention")
    yield from after_attention(official, ours, theirs)


def after_attention(official, ours, theirs):
    """The norms and the feed-forward network of such a block."""
    yield from norm(official, f"{ours}_self_attention_norm", f"{theirs}.norm1")
    yield from linear(official, f"{ours}_ffn_expand", f"{theirs}.conv1")
    yield from linear(official, f"{ours}_ffn_contract", f"{theirs}.conv2")
    yield from norm(official, f"{ours}_ffn_norm", f"{theirs}.norm2")


def decoder_layer(official, ours, theirs):
    """A decoder block of the same repositories: two attentions, two convolutions of width 1."""
    for j, kind in enumerate(("self_attention", "cross_attention")):
        yield from projections(official, f"{ours}_{kind}", f"{theirs}.{kind}")
        yield from norm(official, f"{ours}_{kind}_norm", f"{theirs}.norm{j + 1}")
    yield from linear(official, f"{ours}_ffn_expand", f"{theirs}.conv1")
    yield from linear(official, f"{ours}_ffn_contract", f"{theirs}.conv2")
    yield from norm(official, f"{ours}_ffn_norm", f"{theirs}.norm3")
