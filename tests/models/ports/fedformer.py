"""FEDformer of MAZiqing/FEDformer.

In cases of the version Wavelets, `c` and `k` are arguments of the class of their self-attention,
whose sizes the model does not set; `c` of the cross-attention is half of it.
"""

import math

import numpy as np

from tests.models.ports.autoformer import decomposition_transformer
from tests.models.ports.maps import linear

HEADS = 8  # whatever the setting


def arguments(settings):
    settings.ignore("n_heads", "freq")
    settings.require("version", "Fourier", "Wavelets")
    settings.require("base", "legendre")
    return {
        "label_length": settings["label_len"] or settings["context"],  # of [-0:]
        "d_model": settings["d_model"],
        "num_heads": HEADS,
        "ff_dim": settings["d_ff"],
        "num_encoder_blocks": settings["e_layers"],
        "num_decoder_blocks": settings["d_layers"],
        "moving_average": averages(settings),
        "modes": settings["modes"],
        "mode_selection": "random" if settings["mode_select"] == "random" else "low",
        "cross_activation": settings["cross_activation"],
        "version": settings["version"].lower(),
        "wavelet_dim": settings.get("c", 128),
        "num_polynomials": settings.get("k", 8),
        "skipped_levels": settings["L"],
        "shared_blocks": True,
        "reference_layout": True,
        "activation": settings.get("activation", "gelu"),
        "dropout": 0.0,
    }


def averages(settings):
    sizes = settings["moving_avg"]
    return sizes if isinstance(sizes, list) else [sizes]


def prepare(model, extra, settings):
    """Set the frequencies, if they are drawn at random."""
    if not extra:
        return
    encoder, decoder, cross = (layer for layer in model.layers if hasattr(layer, "frequencies"))
    encoder.frequencies = extra["index_encoder"]
    decoder.frequencies = extra["index_decoder"]
    cross.frequencies = extra["index_query"]
    cross.value_frequencies = extra["index_memory"]


def weights(official, settings):
    encoders, decoders = settings["e_layers"], settings["d_layers"]
    blocks = [f"encoder.attn_layers.{i}.attention" for i in range(encoders)]
    selves = [f"decoder.layers.{i}.self_attention" for i in range(decoders)]
    crosses = [f"decoder.layers.{i}.cross_attention" for i in range(decoders)]
    wavelets = settings["version"] == "Wavelets"
    inner = wavelet_weights if wavelets else fourier_weights
    for i, copies in enumerate((blocks, selves, crosses)):
        first, *others = [f"{copy}.inner_correlation" for copy in copies]
        yield from inner(official, settings, i, first)
        for other in others:
            official.drop_copies(of=f"{first}.", prefix=f"{other}.")
    number = 0
    used = "value" if wavelets else "query"
    for block in (*blocks, *selves):
        unused = {"query", "key", "value"} - {used}
        official.drop(*(f"{block}.{name}_projection.*" for name in unused))
    for block in crosses:
        official.drop(f"{block}.value_projection.*")
    feed_forwards = []
    for i in range(encoders):
        for name in (used, "out"):
            yield from linear(official, f"dense_{number}", f"{blocks[i]}.{name}_projection")
            number += 1
        feed_forwards.append(number)
        number += 2
    for i in range(decoders):
        # The cross-attention is created first, because it is given to the block.
        for block, parts in ((crosses[i], ("query", "key", "out")), (selves[i], (used, "out"))):
            for name in parts:
                yield from linear(official, f"dense_{number}", f"{block}.{name}_projection")
                number += 1
        feed_forwards.append(number)
        number += 2
    yield from decomposition_transformer(official, settings, feed_forwards, number)
    places = [f"encoder.attn_layers.{i}.decomp{j}" for i in range(encoders) for j in (1, 2)]
    places += [f"decoder.layers.{i}.decomp{j}" for i in range(decoders) for j in (1, 2, 3)]
    if len(averages(settings)) == 1:
        official.drop("*.layer.*")  # the weight of a single average is 1
        return
    for i, place in enumerate(["decomp", *places]):
        yield from linear(official, f"average_weights_{i}", f"{place}.layer")


def fourier_weights(official, settings, i, theirs):
    ours = ("fourier_block_0", "fourier_block_1", "fourier_cross_attention_0")[i]
    matrices = official.take(f"{theirs}.weights1").transpose(3, 0, 1, 2)  # frequencies first
    yield f"{ours}/real", np.real(matrices)
    yield f"{ours}/imaginary", np.imag(matrices)


def wavelet_weights(official, settings, i, theirs):
    if i == 2:
        ours = "multiwavelet_cross_attention_0"
        for name, layer in (("query", "Lq"), ("key", "Lk"), ("output", "out")):
            yield from linear(official, f"{ours}/{name}", f"{theirs}.{layer}")
        official.drop(f"{theirs}.Lv.*", f"{theirs}.T0.*", f"{theirs}.?c_?")
        return
    ours, block = f"multiwavelet_block_{i}", f"{theirs}.MWT_CZ.0"
    yield from linear(official, f"{ours}/input", f"{theirs}.Lk0")
    yield from linear(official, f"{ours}/output", f"{theirs}.Lk1")
    yield from linear(official, f"{ours}/coarsest", f"{block}.T0")
    length = settings["context"] if i == 0 else settings["label_len"] + settings["horizon"]
    used = 2 ** math.ceil(math.log2(length)) // 4 + 1  # frequencies of the finest scale
    for name, kernel in (("detail", "A"), ("average", "B"), ("added", "C")):
        matrices = official.arrays[f"{block}.{kernel}.weights1"]
        unused = 2 * matrices[..., used:].size
        matrices = official.take(f"{block}.{kernel}.weights1", unused)[..., :used]
        matrices = matrices.transpose(2, 0, 1)
        yield f"{ours}/{name}_real", np.real(matrices)
        yield f"{ours}/{name}_imaginary", np.imag(matrices)
    official.drop(f"{block}.?c_?")
