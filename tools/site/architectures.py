"""Each architecture's page: its text in docs/architectures/, completed by its registry entry."""

from pathlib import Path

import pandas as pd

from benchmarks.common import markdown
from kerastrans import models
from kerastrans.models import registry
from kerastrans.models.architecture import OPTIONS
from tools.site import figures

FOLDER = "architectures/"
FAMILIES = {
    "baseline": "Baselines",
    "linear": "Linear",
    "mlp": "Dense networks",
    "attention": "Attention",
    "convolution": "Convolution",
    "recurrent": "Recurrence",
}
TAGS = {
    "channel independent": "The forecast of a channel depends only on that channel.",
    "mixes channels": "The forecast of a channel also depends on the other channels.",
    "shift": "A constant added to the history is added to the forecast.",
    "scale": "If the history is multiplied by a constant, so is the forecast.",
    "affine": "If the history is scaled and shifted, so is the forecast.",
    "takes heads": "Forecasts points, quantiles or a distribution, see `head=`.",
    "past covariates": "Has inputs for past covariates.",
    "future covariates": "Has inputs for future covariates.",
    "static covariates": "Has inputs for static covariates.",
    "autoregressive": "With a distribution as its head, it samples the forecast step by step.",
}


def navigation():
    """Entries of the navigation: families, and in each its architectures by year."""
    sections = {title: [] for title in FAMILIES.values()}
    for name in registry.names():
        entry = registry.info(name)
        sections[FAMILIES[entry.tags[0]]].append({entry.title: f"{FOLDER}{name}.md"})
    return [{title: pages} for title, pages in sections.items()]


def completed(uri, text):
    """A page's text; that of an architecture with what follows from its registry entry."""
    if uri == f"{FOLDER}index.md":
        return f"{text}\n\n{overview()}\n"
    name = Path(uri).stem
    if not uri.startswith(FOLDER) or name not in registry.names():
        return text
    entry = registry.info(name)
    title, _, body = text.partition("\n")
    return "\n\n".join(
        [
            title,
            f"*{entry.summary[0].upper()}{entry.summary[1:]}.* {entry.source} ({entry.year}). "
            f'`kerastrans.Forecaster("{name}", ...)` or `kerastrans.zoo.build("{name}", ...)`.',
            links(entry),  # below the sentence that llms.txt reads
            body.strip(),
            tags(entry),
            figures.graph(entry),
            figures.forecast(entry),
            hyperparameters(entry),
            figures.measured(entry),
            "## Reference",
            f"::: kerastrans.models.{name}.build_{name}_model\n    options:\n"
            "      heading_level: 3\n      show_root_toc_entry: false",
            *(
                f"::: kerastrans.models.{name}.{layer}\n    options:\n      heading_level: 3\n"
                f"      heading: kerastrans.models.{name}.{layer}\n      toc_label: {layer}"
                for layer in models.HOMES.get(name, ())
            ),
        ]
    )


def links(entry):
    """The paper and the published code in one line."""
    urls = {"paper": entry.paper_url, "code": entry.code_url}
    return ", ".join(f"[{name}]({url})" for name, url in urls.items() if url)


def tags(entry):
    """What the registry says of it."""
    lines = [f"- {TAGS[tag]}" for tag in entry.tags if tag in TAGS]
    if not {"past covariates", "future covariates"} & set(entry.tags):
        lines.append(
            "- Covariates are handled by a regression around the model, "
            "[`kerastrans.regress`](../api/models.md#kerastrans.models.parts.regression.regress)."
        )
    if "position" in entry.inputs:
        lines.append(
            '- The input is a dict with "history" and "position", the number of the first step.'
        )
    return "\n".join(["## Properties", "", *lines])


def hyperparameters(entry):
    """Names, defaults, what a search tries, and the paper's size where it differs."""
    rows = [
        f"| `{name}` | {code(default)} | {', '.join(map(code, entry.search_space.get(name, ())))} "
        f"| {code(entry.paper[name]) if name in entry.paper else ''} |"
        for name, default in entry.parameters.items()
        if name not in (*OPTIONS, "name")
    ]
    if not rows:
        return "## Hyperparameters\n\nNone."
    head = ["| name | default | worth trying | in the paper |", "|---|---|---|---|"]
    return "\n".join(["## Hyperparameters", "", *head, *rows, "", sizes(entry)])


def sizes(entry):
    """Names of the sizes, those of one data set together."""
    scripts = {}
    for size in list(entry.sizes)[2:]:  # after "laptop" and "paper"
        dataset, _, horizon = size.rpartition("_")
        scripts.setdefault(dataset, []).append(horizon)
    names = ["`laptop` (the default)", "`paper`"]
    names += [f"`{name}_` with {', '.join(steps)}" for name, steps in scripts.items()]
    text = f"Sizes, for `size=`: {'; '.join(names)}."
    if scripts:
        text += f" `zoo.info({entry.name!r}).settings` has the other settings of the scripts."
    return text


def code(value):
    """A value as it is written in Python."""
    return f"`{value!r}`"


def overview():
    """All architectures in one table."""
    rows = [figures.overview_row(registry.info(name)) for name in registry.names()]
    return markdown(pd.DataFrame(rows))
