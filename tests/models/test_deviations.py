"""The page of deviations has a row for every architecture."""

import re
from pathlib import Path

import pytest

from kerastrans import zoo

PAGE = Path(__file__).parents[2] / "docs" / "deviations.md"


@pytest.mark.parametrize("name", zoo.names())
def test_every_architecture_has_a_row_with_all_its_cells(name):
    rows = re.findall(rf"^\| `{name}` \|.*$", PAGE.read_text("utf-8"), flags=re.MULTILINE)
    assert len(rows) == 1, f"docs/deviations.md needs a row for {name}"
    cells = [cell.strip() for cell in rows[0].strip("|").split("|")]
    assert len(cells) == 5
    assert all(cells)
