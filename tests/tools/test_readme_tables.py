"""What the pages show is what benchmarks/results hold, and no table is typed by hand."""

import re
from pathlib import Path

import pytest

from tools.tables import readme

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "docs/benchmarks.md",
        pytest.param("docs/comparison.md", marks=pytest.mark.slow),  # bootstraps every pair
        "docs/guide/choose-a-model.md",
        "docs/guide/ported-scripts.md",
        "docs/how/autoregressive.md",
    ],
)
def test_the_tables_are_those_of_the_results(page):
    text = (ROOT / page).read_text()
    assert set(re.findall(r"<!-- (\w+) -->", text)) == set(readme.tables()[page])
    assert readme.filled(page) == text, "run python -m tools.tables.readme"


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


def test_links_of_the_readme_lead_somewhere():
    for link in re.findall(r"\]\(([^)#]+)", (ROOT / "README.md").read_text()):
        assert (ROOT / link).exists(), link
