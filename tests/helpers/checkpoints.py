"""Small checkpoints with random weights, for what needs no reference."""

import json

import numpy as np
from safetensors.numpy import save_file

from kerastrans.models.pretrained.flowstate import port as flowstate
from kerastrans.models.pretrained.flowstate.network import KINDS, FlowStateStack
from kerastrans.models.pretrained.fracast import port as fracast
from kerastrans.models.pretrained.fracast.network import FracastLayers, build_network
from kerastrans.models.pretrained.keyed import KeyedLayers
from kerastrans.models.pretrained.patchtst_fm import port as patchtst_fm
from kerastrans.models.pretrained.timesfm import config as timesfm_config
from kerastrans.models.pretrained.timesfm import network as timesfm_network
from kerastrans.models.pretrained.toto import port as toto
from kerastrans.models.pretrained.toto.network import TotoStack, toto_layers
from tests.helpers.weights import FRACAST_0

T5 = {
    "architectures": ["ChronosBoltModelForForecasting"],
    "d_model": 12,
    "d_kv": 3,
    "d_ff": 10,
    "num_heads": 2,
    "num_layers": 2,
    "num_decoder_layers": 1,
    "relative_attention_num_buckets": 8,
    "relative_attention_max_distance": 16,
}
CHRONOS_BOLT = {
    **T5,
    "chronos_config": {
        "context_length": 40,
        "prediction_length": 6,
        "input_patch_size": 4,
        "input_patch_stride": 4,
        "quantiles": [0.1, 0.5, 0.9],
        "use_reg_token": True,
    },
}


CHRONOS_T5 = {
    **T5,
    "architectures": ["T5ForConditionalGeneration"],
    "vocab_size": 24,
    "chronos_config": {
        "context_length": 20,
        "prediction_length": 4,
        "model_type": "seq2seq",
        "tokenizer_class": "MeanScaleUniformBins",
        "tokenizer_kwargs": {"low_limit": -4.0, "high_limit": 4.0},
        "n_tokens": 24,
        "n_special_tokens": 2,
        "pad_token_id": 0,
        "eos_token_id": 1,
        "use_eos_token": True,
        "num_samples": 6,
        "temperature": 1.0,
        "top_k": 5,
        "top_p": 1.0,
    },
}
TIMESFM = {
    "architectures": ["TimesFm2_5ModelForPrediction"],
    "model_type": "timesfm2_5",
    "patch_length": 4,
    "context_length": 32,
    "horizon_length": 8,
    "output_quantile_len": 20,
    "hidden_size": 12,
    "intermediate_size": 10,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "head_dim": 6,
    "quantiles": [0.1, 0.5, 0.9],
    "decode_index": 2,
}
PATCHTST_FM = {
    "architectures": ["PatchTSTFMForPrediction"],
    "context_length": 40,
    "prediction_length": 6,
    "d_patch": 4,
    "d_model": 12,
    "n_head": 2,
    "n_layer": 2,
    "num_quantile": 9,
    "pretrain_mask_cont": 2,
}
DECILES = [k / 10 for k in range(1, 10)]
CHRONOS_2 = {
    "architectures": ["Chronos2Model"],
    **{name: T5[name] for name in ("d_model", "d_ff", "num_heads", "num_layers")},
    "d_kv": 4,
    "chronos_config": {
        "context_length": 24,
        "input_patch_size": 4,
        "input_patch_stride": 4,
        "output_patch_size": 4,
        "max_output_patches": 2,
        "quantiles": [0.01, *DECILES, 0.99],
        "time_encoding_scale": 20,
        "use_arcsinh": True,
        "use_reg_token": True,
    },
}


FRACAST = {
    **fracast.read(json.loads((FRACAST_0 / "config.json").read_text())["model"]),
    **{"W": 40, "d_model": 8, "n_stages": 3, "horizon": 6, "head_d_ff": 4, "periodic_topk": 2},
}
FLOWSTATE = {
    "architectures": ["FlowStateForPrediction"],
    "context_length": 40,
    "embedding_feature_dim": 6,
    "encoder_num_layers": 2,
    "encoder_state_dim": 4,
    "decoder_patch_len": 4,
    "decoder_dim": 5,
    "quantiles": [0.1, 0.5, 0.9],
}
TOTO = {
    "attn_bias": True,
    "d_ff": 12,
    "d_model": 8,
    "layer_group_size": 2,
    "num_groups": 1,
    "num_heads": 2,
    "num_layers": 2,
    "num_variate_layers_per_group": 1,
    "patch_size": 4,
    "per_dim_scale": True,
    "qk_norm": False,
    "use_xpos": True,
    "variate_layer_first": False,
}


def random_fracast():
    return _drawn(fracast.Fracast(build_network(FracastLayers(), FRACAST), FRACAST))


def random_flowstate():
    stack = FlowStateStack(KeyedLayers(KINDS), FLOWSTATE)
    return _drawn(flowstate.FlowState(stack, FLOWSTATE, 1.0))


def random_toto():
    config = toto.read(TOTO)
    return _drawn(toto.Toto(TotoStack(toto_layers(config), config), config))


def _drawn(model, scale=0.3):
    """The same model, with all weights moved at random."""
    rng = np.random.default_rng(0)
    for weight in model.network.weights:
        weight.assign(weight + rng.normal(0, scale, weight.shape).astype("float32"))
    return model


def write(folder, config, tensors):
    """A folder as it is published."""
    (folder / "config.json").write_text(json.dumps(config))
    save_file(tensors, folder / "model.safetensors")
    return folder


def random_tensors(layout, scale=0.2):
    """Tensors for all keys of a layout whose weights are at most transposed."""
    rng = np.random.default_rng(0)
    tensors = {}
    for key, target in layout.items():
        variable, convert = target if isinstance(target, tuple) else (target, np.asarray)
        values = rng.normal(0, scale, variable.shape).astype("float32")
        tensors[key] = np.ascontiguousarray(convert(values))
    return tensors


def changed(config, **values):
    """A configuration with other values, also in its section `chronos_config`."""
    section = {name: value for name, value in values.items() if name in config["chronos_config"]}
    own = {name: value for name, value in values.items() if name not in section}
    return {**config, **own, "chronos_config": {**config["chronos_config"], **section}}


def random_timesfm():
    """Weights under the keys of transformers."""
    sizes, _ = timesfm_config.read_transformers(TIMESFM)
    network = timesfm_network.build_network(sizes)
    layout = timesfm_network.layout(network, sizes.num_layers, timesfm_network.TRANSFORMERS)
    return random_tensors(layout)


def random_patchtst_fm(config):
    """Random weights under the published keys, projections of attention in one matrix."""
    config = patchtst_fm.read(config)
    layout = patchtst_fm.layout(patchtst_fm.build_network(config), config)
    rng = np.random.default_rng(2)
    parts = {key: target for key, target in layout.items() if isinstance(target, list)}
    tensors = random_tensors({key: layout[key] for key in layout.keys() - parts.keys()}, 0.2)
    for key in parts:
        size = config["d_model"]
        shape = (3 * size, size) if key.endswith("weight") else (3 * size,)
        tensors[key] = rng.normal(0, 0.2, shape).astype("float32")
    return tensors
