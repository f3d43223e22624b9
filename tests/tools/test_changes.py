"""The patches of tools/checks/changes, which `make changes` tries out."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tools.checks.changes import __main__ as changes

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", changes.CHANGES)
def test_a_change_fits_the_present_files_in_few_places(name, tmp_path):
    patch = Path(changes.__file__).with_name(f"{name}.patch").read_text("utf-8")
    places = changes.places_of(patch)
    assert len(places) <= changes.CHANGES[name].most
    for path in {changes.name_of(place).partition(":")[0] for place in places}:
        if (ROOT / path).is_file():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, tmp_path / path)
    for place in places:
        command = ["git", "apply", "--recount", "-"]
        subprocess.run(command, cwd=tmp_path, input=place, text=True, check=True)
