"""Tables of all architectures and of all heads, from the package itself."""

import inspect

import pandas as pd

from kerastrans import heads as package
from kerastrans import zoo

KINDS = {
    "baselines": ("baseline",),
    "linear, MLP": ("linear", "mlp"),
    "attention": ("attention",),
    "convolution, recurrence": ("convolution", "recurrent"),
}


def count():
    """How many architectures and baselines there are, in words."""
    baselines = len(zoo.names("baseline"))
    return f"{len(zoo.names()) - baselines} architectures and {baselines} baselines"


def kinds():
    """Each kind of architecture and their names."""
    rows = {
        kind: [name for name in zoo.names() if zoo.info(name).tags[0] in tags]
        for kind, tags in KINDS.items()
    }
    listed = {kind: ", ".join(f"`{name}`" for name in found) for kind, found in rows.items()}
    return pd.DataFrame(listed.items(), columns=["kind", "names"])


def heads():
    """Each head, the number of its parameters by default, and the first line of its docstring."""
    made = {name: package.get(name) for name in package.names()}
    rows = [
        (f'`"{name}"`', head.size, inspect.getdoc(type(head)).splitlines()[0].rstrip("."))
        for name, head in made.items()
    ]
    return pd.DataFrame(rows, columns=["`head=`", "size", "forecast"])
