"""Make changes in worktrees of their own, and count the places that each touches by hand.

python -m tools.checks.changes [field head architecture]

A place is a new file, or lines of a file that stand together. With all places of a patch, and what
`make generate` writes, the tests of the change pass; without any one of them, a test fails.
"""

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
STUBS = ("tools.checks.stubs",)
TABLES = ("tools.tables.readme", "README.md", "docs/index.md", "docs/parts.md")
TABLES += ("docs/guide/choose-a-model.md", "docs/how/heads.md")
ALWAYS = ("tests/test_annotations.py", "tests/tools/test_readme_tables.py")
PICTURES = [(f"tools.site.draw_{x}", "--missing") for x in ("graphs", "forecasts")]


@dataclass(frozen=True)
class Change:
    """What is made.

    Attributes:
        most: Number of places that may be touched by hand.
        tools: Modules, with arguments, that write the rest.
        selected: Expression of pytest: the tests that see what is left out.
        tests: Their files, besides those of stubs and tables.
    """

    most: int
    tools: tuple
    selected: str
    tests: tuple


CHANGES = {
    "field": Change(
        3,
        (STUBS,),
        "half_life or documented or stubs",
        ("tests/forecasting/training/test_recipe.py",),
    ),
    "head": Change(
        4,
        (STUBS, TABLES),
        "laplace or Laplace or stubs or every_public_head or (tables and heads)",
        ("tests/heads",),
    ),
    "architecture": Change(
        6,
        (STUBS, TABLES, *PICTURES),
        "rmlp or stubs or order_of or in_the_reference or (tables and (choose or parts))",
        (
            "tests/docs/test_pages.py",
            "tests/models/test_registry.py",
            "tests/models/test_deviations.py",
            "tests/contract/test_parameters.py",
        ),
    ),
}


def places_of(patch):
    """The places of a patch, each a patch by itself."""
    places = []
    for file in re.split(r"(?m)^(?=diff --git )", patch)[1:]:
        header, *hunks = re.split(r"(?m)^(?=@@ )", file)
        places += [header + hunk for hunk in hunks]
    return places


def name_of(place):
    """File and line of a place."""
    return "{}:{}".format(*re.search(r"\+\+\+ b/(.+)\n@@ .+ \+(\d+)", place).groups())


def run(folder, *command):
    """Run a program of this Python on the packages of a worktree."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", *command]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def git(folder, *arguments, given=None):
    """Run git in a folder, which has to succeed."""
    subprocess.run(["git", *arguments], cwd=folder, check=True, text=True, input=given)


def outcome(folder, change, places):
    """What fails with these places alone, in one line; "" for nothing."""
    git(folder, "reset", "-q", "--hard")
    git(folder, "clean", "-fdq")
    for place in places:
        git(folder, "apply", "--recount", "-", given=place)
    for tool in change.tools:
        if run(folder, *tool).returncode:
            return f"python -m {tool[0]}"
    selected = ("-m", "not exhaustive", "-k", change.selected)
    done = run(folder, "pytest", "-x", "-p", "no:cacheprovider", *selected, *ALWAYS, *change.tests)
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return failed[0] if failed else done.stdout[-500:] if done.returncode else ""


def check(name, folder):
    """Print the places of a change, and what fails without each; whether all is as promised."""
    change = CHANGES[name]
    places = places_of(Path(__file__).with_name(f"{name}.patch").read_text("utf-8"))
    print(f"{name}: {len(places)} places by hand, at most {change.most}", flush=True)
    failed = outcome(folder, change, places)
    print(f"  with all: {failed or 'passes'}", flush=True)
    good = not failed and len(places) <= change.most
    for place in places:
        failed = outcome(folder, change, [x for x in places if x is not place])
        print(f"  without {name_of(place)}: {failed or 'NOTHING FAILS'}", flush=True)
        good = good and bool(failed)
    return good


def main(names):
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent, "worktree")
        git(ROOT, "worktree", "add", "-q", "--detach", str(folder))
        try:
            good = [check(name, folder) for name in names or CHANGES]
        finally:
            git(ROOT, "worktree", "remove", "--force", str(folder))
    sys.exit(not all(good))


if __name__ == "__main__":
    main(sys.argv[1:])
