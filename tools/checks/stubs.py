"""Write what type checkers cannot see: names that are imported on first use, fields as arguments.

python -m tools.checks.stubs
"""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
RECIPE = ROOT / "kerastrans/forecasting/inference/recipe.py"


def main():
    for path, text in stubs().items():
        path.write_text(text)


def stubs():
    """Dict of path -> text: what a type checker or an editor cannot see in `names_of`."""
    found = {RECIPE: _with_changes(RECIPE.read_text())}
    for path in sorted((ROOT / "kerastrans").rglob("__init__.py")):
        tree = ast.parse(path.read_text())
        is_models = path.parent.name == "models"
        homes, with_modules = (_builders(path.parent), True) if is_models else homes_of(tree)
        if homes is not None:
            package = ".".join(path.parent.relative_to(ROOT).parts)
            found[path.with_suffix(".pyi")] = _stub(package, homes, with_modules)
    return found


def _with_changes(source):
    """The module of `Training`, with its fields as the arguments of `fit`, `TrainingChanges`."""
    classes = {x.name: x for x in ast.parse(source).body if isinstance(x, ast.ClassDef)}
    typed = [x for x in classes["Training"].body if isinstance(x, ast.AnnAssign)]
    lines, old = source.splitlines(), [x.lineno for x in classes["TrainingChanges"].body[1:]]
    lines[old[0] - 1 : old[-1]] = [f"    {x.target.id}: {ast.unparse(x.annotation)}" for x in typed]
    return "\n".join(lines) + "\n"


def homes_of(tree):
    """The dict that the module gives to `names_of`, if any, and whether its modules are public."""
    literals = {
        node.targets[0].id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "names_of":
            homes = node.args[1]
            homes = ast.literal_eval(literals.get(getattr(homes, "id", None), homes))
            return homes, all(keyword.arg != "with_modules" for keyword in node.keywords)
    return None, True


def _builders(folder):
    """The dict of module -> function that builds its model, as `names_of` takes it."""
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


def _stub(package, homes, with_modules):
    lines = [
        f'"""Written by tools/checks/stubs.py from {package.replace(".", "/")}/__init__.py."""\n'
    ]
    for module, names in homes.items():
        parent, _, last = module.rpartition(".")
        if with_modules:
            lines.append(f"from {package}{'.' * bool(parent)}{parent} import {last} as {last}")
        if names:
            listed = ", ".join(f"{name} as {name}" for name in names)
            lines.append(f"from {package}.{module} import {listed}")
    if package == "kerastrans":
        lines.append("\n__version__: str")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
