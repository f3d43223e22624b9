"""What the pages show is what benchmarks/results hold, and no table is typed by hand."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def readme_tables(monkeypatch):
    for folder in ("tools", "benchmarks"):
        monkeypatch.syspath_prepend(ROOT / folder)
    import readme_tables

    return readme_tables


@pytest.mark.parametrize(
    "page", ["README.md", "docs/benchmarks.md", "docs/guide/choose-a-model.md"]
)
def test_the_tables_are_those_of_the_results(page, readme_tables):
    text = (ROOT / page).read_text()
    assert set(re.findall(r"<!-- (\w+) -->", text)) == set(readme_tables.tables()[page])
    assert readme_tables.filled(page) == text


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


def test_links_of_the_readme_lead_somewhere():
    for link in re.findall(r"\]\(([^)#]+)", (ROOT / "README.md").read_text()):
        assert (ROOT / link).exists(), link
