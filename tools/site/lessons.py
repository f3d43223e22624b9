"""The notebooks as pages: their texts, their code and the outputs that are committed."""

import re
from pathlib import Path

import nbformat
from nbconvert import MarkdownExporter

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
IMAGE = re.compile(r"!\[[^]]*\]\(([^)/]+\.(?:png|svg))\)")


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
        text, resources = MarkdownExporter().from_filename(path)
        made[f"lessons/{path.stem}.md"] = described(text, path.stem)
        for name, content in resources["outputs"].items():
            made[f"lessons/{path.stem}/{name}"] = content
    return made


def described(text, folder):
    """The text with each picture in the notebook's folder, and told by the heading above it."""
    heading, lines = "", []
    for line in text.splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
        lines.append(IMAGE.sub(rf"![Drawn by the code above: {heading}]({folder}/\1)", line))
    return "\n".join(lines)
