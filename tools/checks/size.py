"""Print the size of the package, and fail if it exceeds its budget.

python -m tools.checks.size
"""

import ast
import sys
import tomllib
from pathlib import Path

from tools.site import api

ROOT = Path(__file__).parents[2]
# They only go down: whoever makes the package smaller lowers them in the same change.
LIMITS = {"lines of code": 35_000, "files": 432, "options of builders": 350, "dependencies": 11}
EVERYWHERE = {"head", "covariates", "name", "seed"}  # options that are the same in all builders
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def main():
    sizes = measure()
    for name, size in sizes.items():
        limit = f"at most {LIMITS[name]:,}" if name in LIMITS else ""
        print(f"{name:20} {size:7,}  {limit}".rstrip())
    beyond = [f"{sizes[x]:,} {x} of {most:,}" for x, most in LIMITS.items() if sizes[x] > most]
    if beyond:
        sys.exit(f"kerastrans exceeds its budget (tools/checks/size.py): {'; '.join(beyond)}")


def measure():
    """Dict of what is counted -> its number."""
    files = sorted((ROOT / "kerastrans").rglob("*.py"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return {
        "lines of code": sum(lines_of_code(path.read_text("utf-8")) for path in files),
        "files": len(files),
        "public names": sum(map(len, api.names().values())),
        "options of builders": sum(map(num_options, (ROOT / "kerastrans/models").glob("*.py"))),
        "dependencies": len(project["dependencies"]),
    }


def lines_of_code(source):
    """Return the number of lines without docstrings, comments and blank lines."""
    lines = {
        number
        for number, line in enumerate(source.splitlines(), 1)
        if line.strip() and not line.strip().startswith("#")
    }
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            lines -= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return len(lines)


def num_options(path):
    """Return the number of options of the builder in an architecture's file, 0 without one."""
    builders = [
        node
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name == f"build_{path.stem}_model"
    ]
    return sum(x.arg not in EVERYWHERE for node in builders for x in node.args.kwonlyargs)


if __name__ == "__main__":
    main()
