"""The reference: a page a room, with every public name and its docstring.

Names are read from the source, so that building the site imports no Keras.
"""

import ast
import functools
from pathlib import Path

import kerastrans
from tools.checks.stubs import homes_of

ROOT = Path(__file__).parents[2]
# Written as `kerastrans.data.Clock`; the names of other rooms as `kerastrans.masks.combine_masks`.
ABOUT = {
    "forecasting": "Forecaster, selection, presets",
    "models": "Blocks, builders, covariates",
    "decoding": "Generation, samplers, inspection",
    "layers": "Layers and masks",
    "heads": "Heads and losses",
    "data": "Frames, windows, scaling",
    "datasets": "Named series",
    "evaluation": "Metrics, backtests, pictures",
    "export": "SavedModel, ONNX, LiteRT",
    "serving": "The service",
    "text": "Tokens and BLEU",
    "testing": "Checks of a contract",
    "lessons": "Checks of exercises",
    "utils": "Precision, devices",
    "zoo": "Architectures and presets by name",
}


def navigation():
    """Entries of the navigation, one a room."""
    return [{about: f"api/{room}.md"} for room, about in ABOUT.items()]


def pages():
    """Dict of each page's place in the site -> its text."""
    made = {f"api/{room}.md": page(room) for room in ABOUT}
    return {"api/index.md": index(), **made}


def page(room):
    """The reference of one room."""
    parts = [f"# {ABOUT[room]}\n\n{docstring(module_path(room))}"]
    for public, identifier in names()[room].items():
        node = defined(identifier)
        short = public.rpartition(".")[2]
        if isinstance(node, ast.Assign):
            heading = f"## `{public}` {{ #kerastrans.{identifier} data-toc-label='{short}' }}"
            parts.append(f"{heading}\n\n```python\n{ast.unparse(node)}\n```")
        else:
            parts.append(
                f"::: kerastrans.{identifier}\n    options:\n      heading: {public}\n"
                f"      toc_label: {short}"
            )
    if room == "models":
        parts.append(
            "The functions `build_<name>_model` are on the pages of the "
            "[architectures](../architectures/index.md)."
        )
    return "\n\n".join(parts) + "\n"


def index():
    """All names with the first line of their docstrings."""
    lines = [
        "# Reference",
        "Every public name, as it is imported. Modules load on first use: `import kerastrans` "
        "alone loads no Keras.",
    ]
    for room, found in names().items():
        rows = [
            f"| [`{public}`]({room}.md#kerastrans.{identifier}) | {summary(identifier)} |"
            for public, identifier in found.items()
        ]
        head = [f"## {ABOUT[room]}\n", "| name | what |", "|---|---|"]
        lines.append("\n".join([*head, *rows]))
    return "\n\n".join(lines) + "\n"


@functools.cache
def names():
    """Dict of each room -> dict of a name as it is imported -> where it is, below kerastrans."""
    found = {room: {} for room in ABOUT}
    for module, listed in kerastrans._HOMES.items():
        room, _, file = module.partition(".")
        for name in listed:
            found[room][f"kerastrans.{name}"] = f"{home(module, name)}.{name}"
        for name in public(module):
            if name not in listed:
                found[room][f"kerastrans.{file or room}.{name}"] = f"{home(module, name)}.{name}"
    return found


def public(module):
    """Names that a module or room offers: its `__all__`, or what it defines without underscore."""
    tree = parsed(module_path(module))
    assigned = {ast.unparse(x.targets[0]): x.value for x in tree.body if isinstance(x, ast.Assign)}
    if "__all__" in assigned:
        return ast.literal_eval(assigned["__all__"])
    if (lazy := homes_of(tree)[0]) is not None:
        return [name for names in lazy.values() for name in names]
    if kerastrans._HOMES[module]:
        return []
    kinds = (ast.FunctionDef, ast.ClassDef)
    return [x.name for x in tree.body if isinstance(x, kinds) and not x.name.startswith("_")]


def home(module, name):
    """The module, below kerastrans, in which a name of `module` is defined."""
    if module == "models" and name.startswith("build_"):
        return f"models.{name.removeprefix('build_').removesuffix('_model')}"
    tree = parsed(module_path(module))
    for file, listed in (homes_of(tree)[0] or {}).items():
        if name in listed:
            return home(f"{module}.{file}", name)  # which may import it in turn
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    for node in imports:
        if node.module.startswith("kerastrans.") and name in [x.name for x in node.names]:
            return home(node.module.removeprefix("kerastrans."), name)
    return module


def defined(identifier):
    """The function, class or assignment of what is at `identifier`, below kerastrans."""
    module, _, name = identifier.rpartition(".")
    for node in parsed(module_path(module)).body:
        if getattr(node, "name", None) == name:
            return node
        if isinstance(node, ast.Assign) and name in ast.unparse(node.targets[0]).strip("()").split(
            ", "
        ):
            return node
    raise SystemExit(f"tools/site/api.py finds no {identifier}")


def summary(identifier):
    """The first line of the docstring of what is at `identifier`, as the cell of a table."""
    node = defined(identifier)
    text = "a constant" if isinstance(node, ast.Assign) else ast.get_docstring(node) or ""
    return text.partition("\n")[0].replace("|", "\\|")


def docstring(path):
    """The docstring of a file."""
    return ast.get_docstring(parsed(path)) or ""


def module_path(module):
    """The file of a module below kerastrans."""
    path = ROOT.joinpath("kerastrans", *module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@functools.cache
def parsed(path):
    """The syntax tree of a file."""
    return ast.parse(path.read_text("utf-8"))
