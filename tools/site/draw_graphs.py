"""Draw each architecture from its own Keras graph, from top to bottom, as SVG.

    KERAS_BACKEND=jax python -m tools.site.draw_graphs [names, or --missing]

What only moves values about (reshape, transpose, slices) and dropout are left out, and of blocks
that repeat one is drawn: everything that counts blocks, layers or stacks is 1.
"""

import re
import sys

from kerastrans import zoo
from kerastrans.decoding.graph import inputs_of
from kerastrans.heads import Head
from kerastrans.utils.keras_internals import calls, op_name
from tools.site.draw_forecasts import CONTEXT, FOLDER, HORIZON, SIZES, drawn
from tools.site.graph_svg import draw

CHANNELS = 3
FEW = {"segrnn": {"segment_length": 84}, "timemixer": {"num_scales": 2}}  # they unroll their loops
# What makes no picture clearer.
HIDDEN = {
    "Activation", "BroadcastTo", "Cast", "Copy", "Dropout", "ExpandDims", "Flatten", "Flip",
    "GetItem", "Identity", "Moveaxis", "Repeat", "Reshape", "Split", "Squeeze", "Swapaxes",
    "Tile", "Transpose", "ZerosLike",
}  # fmt: skip


def main(names):
    for name in drawn(names, "graph"):
        boxes, arrows = graph(build(name))
        title = zoo.info(name).title
        (FOLDER / f"{name}-graph.svg").write_text(draw(boxes, arrows, f"Graph of {title}"))
        print(f"drew {name}: {len(boxes)} boxes", flush=True)


def build(name):
    """The model that is drawn: small, one block of each kind."""
    sizes = dict(FEW.get(name, {}))
    if name in zoo.names("autoregressive"):  # the decoder is hidden in the rollout of points
        sizes["head"] = zoo.info(name).head
    for parameter, default in zoo.info(name).defaults.items():
        if parameter.startswith("num_") and parameter.endswith(("blocks", "layers", "stacks")):
            sizes[parameter] = 1
        elif parameter in SIZES and default is not None:
            sizes[parameter] = SIZES[parameter]
    return zoo.build(name, CONTEXT, HORIZON, CHANNELS, **sizes)


def graph(model):
    """Boxes, `(kind, title, shape)`, and arrows between their numbers, of a functional model."""
    boxes, arrows, made_by = [], set(), {}  # id of a tensor -> numbers of the boxes it comes from
    for tensor in inputs_of(model):
        made_by[id(tensor)] = (len(boxes),)
        boxes.append(("input", tensor.name, shape_of(tensor)))
    for node in calls(model):
        origins = tuple(dict.fromkeys(b for x in node.input_tensors for b in made_by[id(x)]))
        if op_name(node.operation) in HIDDEN and origins:
            made_by.update((id(x), origins) for x in node.outputs)
            continue
        made_by.update((id(x), (len(boxes),)) for x in node.outputs)
        arrows.update((origin, len(boxes)) for origin in origins)
        boxes.append((kind_of(node.operation), title_of(node.operation), shape_of(node.outputs[0])))
    return boxes, sorted(arrows)


def kind_of(operation):
    """Its colour: "output" of a head, "weights" where it learns something, else "sum"."""
    if isinstance(operation, Head):
        return "output"
    return "weights" if getattr(operation, "weights", ()) else "sum"


def title_of(operation):
    """Its class in words, and the activation at its end."""
    parts = re.split("(?<=[a-z])(?=[A-Z])", op_name(operation))
    words = " ".join(part if part.isupper() else part.lower() for part in parts)
    activation = getattr(getattr(operation, "activation", None), "__name__", "linear")
    return words if activation == "linear" else f"{words}, {activation}"


def shape_of(tensor):
    """The shape without the batch."""
    return " x ".join("?" if size is None else str(size) for size in tensor.shape[1:]) or "number"


if __name__ == "__main__":
    main(sys.argv[1:])
