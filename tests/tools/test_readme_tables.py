"""What the pages show is what benchmarks/results hold, and no table is typed by hand."""

import re
from pathlib import Path

import pytest

from kerastrans import datasets
from tools.site import draw_front_page
from tools.tables import readme

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "docs/index.md",
        "docs/parts.md",
        "docs/how/heads.md",
        "docs/benchmarks.md",
        pytest.param("docs/comparison.md", marks=pytest.mark.slow),  # bootstraps every pair
        "docs/guide/choose-a-model.md",
        "docs/guide/models.md",
        "docs/guide/ported-scripts.md",
        "docs/how/autoregressive.md",
        "docs/speed.md",
    ],
)
def test_the_tables_are_those_of_the_results(page):
    text = (ROOT / page).read_text()
    assert set(re.findall(r"<!-- (\w+) -->", text)) == set(readme.tables()[page])
    assert readme.filled(page) == text, "run python -m tools.tables.readme"


def test_the_readme_begins_with_a_short_program():
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 80
    block = re.search(r"```python\n(.*?)```", text, re.DOTALL)[1]
    assert len(block.splitlines()) <= 12
    for word in (
        "build_transformer_model",
        "window_dataset",
        "model.fit",
        "generate",
        "model.save",
    ):
        assert word in block
    assert (ROOT / "docs/index.md").read_text().count(block) == 1


@pytest.mark.slow
def test_the_first_picture_has_no_impossible_value():
    forecast = draw_front_page.forecast_of(datasets.load("nyc_departures"))
    assert forecast.drop(columns=["unique_id", "ds"]).min().min() >= 0


def test_links_of_the_readme_lead_somewhere():
    for link in re.findall(r"\]\(([^)#]+)", (ROOT / "README.md").read_text()):
        assert (ROOT / link).exists(), link
