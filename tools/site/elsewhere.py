"""What is outside docs/: texts that become pages, and files that pages link to."""

import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

from tools.site import catalogs

ROOT = Path(__file__).parents[2]
PAGES = {
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "benchmarks/README.md": "benchmarks/protocol.md",
    "benchmarks/results/long_horizon.md": "benchmarks/long-horizon.md",
    "benchmarks/results/tasks.md": "benchmarks/tasks.md",
    "examples/README.md": "examples/index.md",
    "notebooks/CLAIMS.md": "lessons/claims.md",
    "notebooks/INSTRUCTOR.md": "lessons/instructor.md",
    "notebooks/README.md": "lessons/index.md",
}
SOURCES = {uri: path for path, uri in PAGES.items()}
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?\)")


def pages():
    """Dict of each page's place in the site -> its text, of those that docs/ does not hold."""
    return {uri: (ROOT / path).read_text("utf-8") for path, uri in PAGES.items()}


def relinked(uri, markdown, files, config):
    """A page's text with its links into the repository leading to the site's pages and files.

    A file that is no page is put into the site, below files/. A page in another language leads to
    pages in the same one, if they exist.
    """
    language = uri.partition("/")[0]
    language = f"{language}/" if language in catalogs.LANGUAGES else ""
    folder = posixpath.dirname(SOURCES.get(uri, f"docs/{uri.removeprefix(language)}"))
    folder = {"docs/lessons": "notebooks", "docs/examples": "examples"}.get(folder, folder)

    def lead(link):
        path = posixpath.normpath(posixpath.join(folder, link[1]))
        target = place(path)
        if target == uri:  # a page's own source
            target = f"files/{path}"
        if target is None:
            return link[0]
        if files.get_file_from_path(language + target):
            target = language + target
        if target.startswith("files/") and files.get_file_from_path(target) is None:
            files.append(File.generated(config, target, abs_src_path=str(ROOT / path)))
        return f"]({posixpath.relpath(target, posixpath.dirname(uri) or '.')}{link[2] or ''})"

    return LINK.sub(lead, markdown)


def place(path):
    """Where in the site a file of the repository is; None where there is no such file."""
    if path in PAGES or path == "README.md":
        return PAGES.get(path, "index.md")
    if path.startswith("notebooks/") and path.endswith(".ipynb"):
        return f"lessons/{Path(path).stem}.md"
    if path.startswith("examples/") and path.endswith(".py"):
        return f"examples/{Path(path).stem}.md"
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"files/{path}" if (ROOT / path).is_file() else None
