"""The examples as pages: their texts, and their code between them."""

import ast
import inspect
import re
from pathlib import Path

SCRIPTS = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


def navigation():
    """Entries of the navigation, one an example."""
    return [{header_of(path)["Title"]: f"examples/{path.stem}.md"} for path in SCRIPTS]


def header_of(path):
    """Dict of what the first text of an example says of it."""
    return dict(re.findall(r"^(.+?): (.+)$", ast.get_docstring(_parsed(path)), re.MULTILINE))


def pages():
    """Dict of each page's place in the site -> its text."""
    return {f"examples/{path.stem}.md": page_of(path) for path in SCRIPTS}


def page_of(path):
    """An example as Markdown: its texts, and a block of the code between two of them."""
    header, lines = header_of(path), path.read_text("utf-8").splitlines()
    script = f"The whole script: [{path.name}]({path.name})."
    parts = [f"# {header['Title']}", header["Description"], script]
    first, *nodes = _parsed(path).body
    begin = first.end_lineno
    for node in nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            parts += [_block(lines[begin : node.lineno - 1]), inspect.cleandoc(node.value.value)]
            begin = node.end_lineno
    parts.append(_block(lines[begin:]))
    return "\n\n".join(part for part in parts if part) + "\n"


def _block(lines):
    code = "\n".join(lines).strip()
    return f"```python\n{code}\n```" if code else ""


def _parsed(path):
    return ast.parse(path.read_text("utf-8"))
