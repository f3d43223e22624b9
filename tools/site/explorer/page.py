"""The explorer's page without the theme of the site."""

import shutil

import markdown

from tools.site import runtime
from tools.site.explorer import make


def write_page(folder):
    """Write the page and all of its files into a folder that does not exist yet."""
    shutil.copytree(make.FOLDER, folder)
    (folder / "runtime").mkdir()
    for name in runtime.FILES:
        shutil.copy(runtime.PACKAGE / name, folder / "runtime")
    shutil.copy(runtime.EXAMPLE, folder)
    body = markdown.markdown((folder / "index.md").read_text("utf-8"), extensions=["md_in_html"])
    body = f'<main class="md-typeset">{body}</main>'
    head = '<meta charset="utf-8"><title>Explorer</title>'
    (folder / "index.html").write_text(f'<!doctype html><html lang="en">{head}{body}</html>')
