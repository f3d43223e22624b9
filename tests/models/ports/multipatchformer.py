"""MultiPatchFormer of the Time-Series-Library."""

from tests.models.ports.maps import linear, norm, projections

PATCH_LENGTHS, STRIDES = (8, 16, 24, 32), (8, 8, 7, 6)  # constants of the class
PIECES = 8


def arguments(settings):
    return {
        "patch_lengths": PATCH_LENGTHS,
        "strides": STRIDES,
        "d_model": settings["d_model"],
        "num_heads": settings["n_heads"],
        "ff_dim": settings["d_ff"],
        "num_blocks": settings["e_layers"],
        "num_pieces": PIECES,
        "causal": True,
        "dropout": 0.0,
        "attention_dropout": 0.0,
    }


def encoder(official, ours, theirs, attention):
    yield from projections(official, f"{ours}_self_attention", attention)
    official.drop_copies(f"{attention}.", f"{theirs}.MHA.")
    yield from norm(official, f"{ours}_self_attention_norm", f"{theirs}.layerNormal_1")
    yield from linear(official, f"{ours}_ffn_expand", f"{theirs}.feedforward.linear_1")
    yield from linear(official, f"{ours}_ffn_contract", f"{theirs}.feedforward.linear_2")
    yield from norm(official, f"{ours}_ffn_norm", f"{theirs}.layerNormal_2")


def weights(official, settings):
    for i, length in enumerate(PATCH_LENGTHS):
        kernel = official.take(f"embedding_patch_{i + 1}.weight")[:, 0]
        yield f"embedding_{length}/kernel", kernel.T
        yield f"embedding_{length}/bias", official.take(f"embedding_patch_{i + 1}.bias")
    for i in range(settings["e_layers"]):
        yield from encoder(official, f"encoder_{i}", f"encoder_list.{i}", f"shared_MHA.{i}")
    yield from linear(official, "channel_embedding", "embedding_channel")
    yield from linear(official, "keys", "encoder_list_ch.0.conv")
    yield from encoder(official, "channels", "encoder_list_ch.0", "shared_MHA_ch.0")
    first = 0 if settings["horizon"] >= PIECES else PIECES - 1  # others are empty
    for i in range(first, PIECES):
        ours = "head" if i == first else f"head_{i}"
        yield from linear(official, ours, f"out_linear_{i + 1}")
    for i in range(1, settings["e_layers"]):  # only the first one of the channels is used
        official.drop_copies("shared_MHA_ch.0.", f"encoder_list_ch.{i}.MHA.")
    official.drop("pe", "remap.*", "shared_MHA_ch.*", "encoder_list_ch.*", "out_linear_*")
