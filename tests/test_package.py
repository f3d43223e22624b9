"""What a wheel holds."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_every_package_is_named_in_pyproject():
    named = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    found = [
        ".".join(path.parent.relative_to(ROOT).parts)
        for path in (ROOT / "kerastrans").rglob("__init__.py")
    ]
    assert sorted([*found, "kerastrans.saved_models"]) == named
