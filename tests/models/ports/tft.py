"""Temporal Fusion Transformer of thuml/Time-Series-Library, which differs from the paper's.

The authors' own code is in TensorFlow. The calendar features are the known variables.
"""

import itertools

import numpy as np

from tests.models.ports.maps import circular, linear, norm


def arguments(settings):
    settings.require("embed", "timeF")
    settings.ignore("data")  # a name
    static, observed = settings["static"], settings["observed"]
    others = [i for i in range(settings["channels"]) if i not in static]
    assert list(observed) == others, f"observed={observed}: all that are not static here"
    return {
        "d_model": settings["d_model"],
        "num_heads": settings["n_heads"],
        "variant": "time_series_library",
        "static_channels": tuple(static),
        "covariates": {"future": (0,) * settings.num_calendar_columns},
        "dropout": 0.0,
    }


def inputs(extra, settings):
    marks = [extra["marks"], extra["future_marks"]]
    return {"future_covariates": np.concatenate(marks, axis=1)}


class Networks:
    """Maps of gated networks, whose layers are numbered in the order of their creation."""

    def __init__(self, official):
        self.official = official
        self.dense, self.norm, self.each = (itertools.count() for _ in range(3))

    def linear(self, theirs, bias=True):
        yield from linear(self.official, f"dense_{next(self.dense)}", theirs, bias)

    def gate(self, theirs):
        for module in ("glu.fc1", "glu.fc2", "projection"):
            if f"{theirs}.{module}.weight" in self.official:
                yield from self.linear(f"{theirs}.{module}")
        name = f"layer_normalization_{next(self.norm)}"
        yield from norm(self.official, name, f"{theirs}.layer_norm")

    def residual(self, theirs, context=False):
        if f"{theirs}.project_a.weight" in self.official:
            yield from self.linear(f"{theirs}.project_a")
        for module in ("lin_a", "lin_c", "lin_i"):
            if module != "lin_c" or context:
                yield from self.linear(f"{theirs}.{module}")
        yield from self.gate(f"{theirs}.gate")

    def residual_of_each(self, theirs, count):
        for module in ("lin_a", "lin_i", "gate.glu.fc1", "gate.glu.fc2", "gate.layer_norm"):
            ours = f"einsum_dense_{next(self.each)}"
            names = [f"{theirs}.{i}.{module}" for i in range(count)]
            kernels = [self.official.take(f"{name}.weight").T for name in names]
            biases = [self.official.take(f"{name}.bias") for name in names]
            yield f"{ours}/kernel", np.stack(kernels)
            yield f"{ours}/bias", np.stack(biases)[:, None]

    def select(self, theirs, count, context):
        if count == 1:
            self.official.drop(f"{theirs}.joint_grn.*")
            yield from self.residual(f"{theirs}.variable_grns.0")
            return
        if not context:
            self.official.drop(f"{theirs}.joint_grn.lin_c.*")
        yield from self.residual(f"{theirs}.joint_grn", context)
        yield from self.residual_of_each(f"{theirs}.variable_grns", count)


def weights(official, settings):
    static, observed = settings["static"], settings["observed"]
    has_static, networks = bool(static), Networks(official)
    official.drop("*.temporal_embedding.*", "*.position_embedding.pe", "*.attention.mask")
    embedded = [f"static_embedding.{i}" for i in range(len(static))]
    embedded += [f"observed_embedding.{i}" for i in range(len(observed))]
    for i, name in enumerate(embedded):
        theirs = f"embedding.{name}.value_embedding.tokenConv"
        yield from circular(official, f"value_embedding_{i}", theirs)
    columns = settings.num_calendar_columns
    for i in range(columns):
        yield from networks.linear(f"embedding.known_embedding.embed.{i}", bias=False)
    if has_static:
        yield from networks.select("static_encoder.static_vsn", len(static), False)
        for i in (0, 3, 1, 2):  # for the selection, the enrichment and the state
            yield from networks.residual(f"static_encoder.grns.{i}")
    else:
        official.drop("static_encoder.*", "*.lin_c.*")
    yield from networks.select("history_vsn", len(observed) + columns, has_static)
    yield from networks.select("future_vsn", columns, has_static)
    decoder = "temporal_fusion_decoder"
    for ours, theirs in (("encoder", "history_encoder"), ("decoder", "future_encoder")):
        kernel, recurrent, bias, constant = (
            official.take(f"{decoder}.{theirs}.{name}_l0")
            for name in ("weight_ih", "weight_hh", "bias_hh", "bias_ih")
        )
        yield f"{ours}/lstm_cell/kernel", np.concatenate([kernel.T, constant[None]])
        yield f"{ours}/lstm_cell/recurrent_kernel", recurrent.T
        yield f"{ours}/lstm_cell/bias", bias
    yield from networks.gate(f"{decoder}.gate_after_lstm")
    yield from networks.residual(f"{decoder}.enrichment_grn", has_static)
    heads, width = settings["n_heads"], settings["d_model"]
    rows = official.take(f"{decoder}.attention.qkv_linears.weight")
    queries, keys, values = np.split(rows, [width, 2 * width])
    for name, part in (("query", queries), ("key", keys)):
        yield f"attention/{name}/kernel", part.T.reshape(width, heads, -1)
    yield "attention/value/kernel", values.T
    yield "attention/output/kernel", official.take(f"{decoder}.attention.out_projection.weight").T
    yield from networks.gate(f"{decoder}.gate_after_attention")
    yield from networks.residual(f"{decoder}.position_wise_grn")
    yield from networks.gate(f"{decoder}.gate_final")
    yield from linear(official, "head", f"{decoder}.out_projection")
