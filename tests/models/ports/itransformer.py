"""iTransformer of thuml/iTransformer."""

from tests.models.ports.maps import encoder_layer, linear, norm


def arguments(settings):
    settings.ignore("class_strategy")
    arguments = {
        "d_model": settings["d_model"],
        "num_heads": settings["n_heads"],
        "ff_dim": settings["d_ff"],
        "num_blocks": settings["e_layers"],
        "standardize": bool(settings["use_norm"]),
        "activation": settings.get("activation", "gelu"),
        "dropout": 0.0,
    }
    columns = (0,) * settings.num_calendar_columns
    if settings["marks"]:
        arguments |= {"covariate_tokens": True, "covariates": {"past": columns}}
    return arguments


def inputs(extra, settings):
    return {"past_covariates": extra["marks"]} if settings["marks"] else {}


def weights(official, settings):
    yield from linear(official, "embedding", "enc_embedding.value_embedding")
    for i in range(settings["e_layers"]):
        yield from encoder_layer(official, f"encoder_{i}", f"encoder.attn_layers.{i}")
    yield from norm(official, "layer_normalization_0", "encoder.norm")
    yield from linear(official, "head", "projector")
