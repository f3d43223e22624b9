"""The notebooks as pages: their texts, their code and the outputs that are committed."""

import re
from pathlib import Path

import nbformat
from nbconvert import MarkdownExporter
from nbconvert.preprocessors import CoalesceStreamsPreprocessor

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
IMAGE = re.compile(r"!\[[^]]*\]\(([^)/]+\.(?:png|svg))\)")
ALT_TEXT = re.compile(r"^# Alt text: (.+(?:\n# .+)*)", re.MULTILINE)


def navigation():
    """Entries of the navigation, one a lesson."""
    return [{title_of(path): f"lessons/{path.stem}.md"} for path in NOTEBOOKS]


def title_of(path):
    """What a notebook calls itself: the first heading."""
    return re.search(r"^# (.+)$", nbformat.read(path, 4).cells[0].source, re.MULTILINE)[1]


def pages():
    """Dict of each page's and each picture's place in the site -> its content."""
    made = {}
    for path in NOTEBOOKS:
        notebook = nbformat.read(path, 4)
        text, resources = converted(notebook)
        made[f"lessons/{path.stem}.md"] = described(text, path.stem, alt_texts(notebook))
        for name, content in resources["outputs"].items():
            made[f"lessons/{path.stem}/{name}"] = content
    return made


def converted(notebook):
    """The text of a notebook in Markdown, and its pictures; what a cell prints is one block."""
    return MarkdownExporter(
        preprocessors=[CoalesceStreamsPreprocessor(enabled=True)]
    ).from_notebook_node(notebook)


def alt_texts(notebook):
    """Alt texts of all pictures of a notebook: a comment in the cell that draws them."""
    found = []
    for cell in notebook.cells:
        pictures = ["image/png" in output.get("data", {}) for output in cell.get("outputs", [])]
        alt = ALT_TEXT.search(cell.source)
        found += [alt and alt[1].replace("\n# ", " ")] * sum(pictures)
    return found


def described(text, folder, alts):
    """The text with each picture in the notebook's folder, and its alt text."""
    remaining = iter(alts)
    return IMAGE.sub(lambda image: f"![{next(remaining)}]({folder}/{image[1]})", text)
