"""OLinear of jackyue1994/OLinear."""

from tests.models.ports.maps import after_attention, feature_major, linear, norm


def arguments(settings):
    settings.ignore("q_mat_file", "q_out_mat_file")  # the matrices are among the weights
    settings.require("activation", "gelu")
    settings.require("Q_chan_indep", 0)
    return {
        "embedding_dim": settings["embed_size"],
        "d_model": settings["d_model"],
        "ff_dim": settings["d_ff"],
        "num_blocks": settings["e_layers"],
        "dropout": 0.0,
        "output_dropout": 0.0,
    }


def weights(official, settings):
    yield "window/gamma", official.take("revin_layer.affine_weight")
    yield "window/beta", official.take("revin_layer.affine_bias")
    yield "context_basis/basis", official.take("Q_mat")
    yield "horizon_basis/basis", official.take("Q_out_mat")
    yield "context_offsets/embeddings", official.take("delta1")[0, :, 0]
    yield "horizon_offsets/embeddings", official.take("delta2")[0, :, 0]
    yield "expansion/kernel", official.take("embeddings")
    # The context has the features of a step side by side here, there the steps of a feature. After
    # the second basis it is the other way round.
    for ours, theirs, tokens in (
        ("embedding", "ortho_trans.0", settings["context"]),
        ("hidden", "fc.0", settings["embed_size"]),
    ):
        kernel = official.take(f"{theirs}.weight")
        yield f"{ours}/kernel", feature_major(kernel, tokens).T
        yield f"{ours}/bias", official.take(f"{theirs}.bias")
    for i in range(settings["e_layers"]):
        theirs = f"encoder.attn_layers.{i}"
        yield from linear(official, f"dense_{2 * i}", f"{theirs}.v_proj")
        yield f"normalized_mixing_{i}/matrix", official.take(f"{theirs}.weight_mat")[0]
        yield from linear(official, f"dense_{2 * i + 1}", f"{theirs}.out_proj")
        yield from after_attention(official, f"encoder_{i}", theirs)
    yield from norm(official, "norm", "encoder.norm")
    yield from linear(official, "coefficients", "ortho_trans.2")
    yield from linear(official, "head", "fc.2")
    official.drop_copies("encoder.", "ortho_trans.1.")
