"""Translations of the lessons: update and check their catalogues, write a notebook.

python -m tools.site.translate update
python -m tools.site.translate check
python -m tools.site.translate notebook ko 02_attention OUT.ipynb

The catalogues are notebooks/locale/LANGUAGE/LESSON.po.
"""

import argparse
import os
import re
from pathlib import Path

import nbformat
from nbformat.v4 import new_markdown_cell

from tools.site import catalogs, translation_faults

LINK = re.compile(r"\]\((?![a-z]+:|#)([^)\s]+)\)")


def main(arguments=None):
    """Run one of the three commands; return 1 if `check` finds faults."""
    parser = argparse.ArgumentParser(prog="python -m tools.site.translate")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("update", help="refresh the catalogues from the English texts")
    commands.add_parser("check", help="list what is missing, stale or wrong in the catalogues")
    notebook = commands.add_parser("notebook", help="write a lesson in a language")
    notebook.add_argument("language", choices=catalogs.LANGUAGES)
    notebook.add_argument("lesson", choices=catalogs.LESSONS)
    notebook.add_argument("path", type=Path, help="file that is written; it must not exist")
    given = parser.parse_args(arguments)
    if given.command != "notebook":
        try:
            return update() if given.command == "update" else check()
        except OSError as error:  # of polib: it names the file and the line
            parser.error(str(error))
    if given.path.exists():
        parser.error(f"{given.path} exists: give the path of a new file")
    if not given.path.parent.is_dir():
        parser.error(f"{given.path.parent} is not a folder")
    nbformat.write(notebook_of(given.language, given.lesson, given.path.parent), given.path)
    return 0


def update():
    """Refresh all catalogues, and print how many paragraphs of each have to be translated."""
    for language in catalogs.LANGUAGES:
        for name in catalogs.CATALOGS:
            old = catalogs.read(language, name)
            new = catalogs.updated(old, catalogs.messages(name), language)
            path = catalogs.path_of(language, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            new.save(str(path))
            missing, fuzzy = len(new.untranslated_entries()), len(new.fuzzy_entries())
            print(f"{language}/{name}: {missing} missing, {fuzzy} fuzzy")
    return 0


def check():
    """Print all faults of all catalogues."""
    faults = [
        fault
        for language in catalogs.LANGUAGES
        for name in catalogs.CATALOGS
        for fault in translation_faults.faults(language, name)
    ]
    print(*faults, f"{len(faults)} faults", sep="\n")
    return int(bool(faults))


def notebook_of(language, name, folder):
    """A translated notebook whose links lead from a folder to the files of this checkout."""
    notebook = catalogs.translated(language, name)
    source = catalogs.ROOT / "notebooks"
    about = catalogs.page_text(language, catalogs.ABOUT, english=f"{name}.ipynb")
    notebook.cells.insert(1, new_markdown_cell(about))
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = LINK.sub(
                lambda link: f"]({Path(os.path.relpath(source / link[1], folder)).as_posix()})",
                cell.source,
            )
    return notebook


if __name__ == "__main__":
    raise SystemExit(main())
