"""TimesNet of thuml/Time-Series-Library."""

import numpy as np

from tests.models.ports.maps import circular, linear, norm


def arguments(settings):
    return {
        "d_model": settings["d_model"],
        "ff_dim": settings["d_ff"],
        "num_blocks": settings["e_layers"],
        "num_periods": settings["top_k"],
        "num_kernels": settings["num_kernels"],
        "batch_periods": True,
        "dropout": 0.0,
    }


def weights(official, settings):
    official.drop("enc_embedding.temporal_embedding.*", "enc_embedding.position_embedding.pe")
    yield from circular(official, "value_embedding_0", "enc_embedding.value_embedding.tokenConv")
    yield from linear(official, "einsum_dense_0", "predict_linear")
    for i in range(settings["e_layers"]):
        for j in range(2):
            ours, biases = f"periodic_convolution_{2 * i + j}", []
            for k in range(settings["num_kernels"]):
                theirs = f"model.{i}.conv.{2 * j}.kernels.{k}"
                kernel = official.take(f"{theirs}.weight")
                yield f"{ours}/kernel_{2 * k + 1}", kernel.transpose(2, 3, 1, 0)
                biases.append(official.take(f"{theirs}.bias"))
            yield f"{ours}/bias", np.stack(biases)
    yield from norm(official, "layer_normalization_0", "layer_norm")
    yield from linear(official, "head", "projection")
