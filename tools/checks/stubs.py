"""Write what type checkers cannot see: builders, imported on first use, and fields as arguments.

python -m tools.checks.stubs
"""

import ast
from pathlib import Path

from kerastrans.utils import lazy

ROOT = Path(__file__).parents[2]
RECIPE = ROOT / "kerastrans/forecasting/inference/recipe.py"


def main():
    for path, text in stubs().items():
        path.write_text(text)


def stubs():
    """Dict of path -> text: builders of architectures, and fields as arguments."""
    models = ROOT / "kerastrans/models"
    return {
        RECIPE: _with_changes(RECIPE.read_text()),
        models / "__init__.pyi": _stub("kerastrans.models", _builders(models)),
    }


def _with_changes(source):
    """The module of `Training`, with its fields as the arguments of `fit`, `TrainingChanges`."""
    classes = {x.name: x for x in ast.parse(source).body if isinstance(x, ast.ClassDef)}
    typed = [x for x in classes["Training"].body if isinstance(x, ast.AnnAssign)]
    lines, old = source.splitlines(), [x.lineno for x in classes["TrainingChanges"].body[1:]]
    lines[old[0] - 1 : old[-1]] = [f"    {x.target.id}: {ast.unparse(x.annotation)}" for x in typed]
    return "\n".join(lines) + "\n"


def homes_of(path):
    """Dict of a module below kerastrans -> the names that a stub imports from it, maybe none."""
    package, homes = ".".join(path.parent.relative_to(ROOT).parts), {}
    for name, home in lazy.homes_of(package).items():
        module = f"{home}.{name}"
        place = ROOT.joinpath(*module.split("."))
        if place.is_dir() or place.with_suffix(".py").is_file():
            homes.setdefault(module.removeprefix("kerastrans."), ())
        else:
            home = home.removeprefix("kerastrans.")
            homes[home] = (*homes.get(home, ()), name)
    return homes


def _builders(folder):
    """The dict of module -> function that builds its model, in the order of their files."""
    functions = {
        path.stem: [
            x.name for x in ast.parse(path.read_text()).body if isinstance(x, ast.FunctionDef)
        ]
        for path in sorted(folder.glob("*.py"))
    }
    names = {module: {f"build_{module}_model", f"build_{module}"} for module in functions}
    return {
        module: tuple(x for x in found if x in names[module])
        for module, found in functions.items()
        if names[module] & set(found)
    }


def _stub(package, homes):
    lines = [f'"""Written by tools/checks/stubs.py from {package.replace(".", "/")}."""\n']
    for module, names in homes.items():
        lines.append(f"from {package} import {module} as {module}")
        listed = ", ".join(f"{name} as {name}" for name in names)
        lines.append(f"from {package}.{module} import {listed}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
