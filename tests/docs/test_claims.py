"""Statements of the documentation that the package itself can confirm."""

import re
import subprocess
import tomllib
from pathlib import Path

import keras
import numpy as np
import pandas as pd
import pytest

from kerastrans import zoo
from kerastrans.data.time import clock

ROOT = Path(__file__).parents[2]
README_FILES = [
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "README.md",
    "benchmarks/README.md",
    "examples/README.md",
    "notebooks/INSTRUCTOR.md",
    "notebooks/README.md",
    "saved_models/README.md",
]
PAGES = [ROOT / page for page in README_FILES] + sorted((ROOT / "docs").rglob("*.md"))
BASELINES = zoo.names("baseline")


def page_id(path):
    return path.relative_to(ROOT).as_posix()


def text_of(path):
    """The text of a page without the tables that tools/tables/readme.py writes."""
    return re.sub(r"<!-- (\w+) -->.*?<!-- /\1 -->", "", path.read_text("utf-8"), flags=re.DOTALL)


@pytest.mark.parametrize("path", PAGES, ids=page_id)
def test_numbers_of_architectures_and_baselines_are_correct(path):
    text = text_of(path)
    architectures = re.findall(r"(\d+) (?:more )?architectures", text)
    assert set(architectures) <= {str(len(zoo.names()) - len(BASELINES))}
    assert set(re.findall(r"(\d+) baselines", text)) <= {str(len(BASELINES))}


@pytest.mark.parametrize("page", ["docs/guide/covariates.md", "docs/guide/intervals.md"])
def test_architectures_with_inputs_for_covariates_are_listed(page):
    text = " ".join(re.sub(r"\]\([^)]*\)", "]", (ROOT / page).read_text("utf-8")).split())
    sentence = re.search(r"[^.;|]*\bhave inputs for", text)[0]
    entries = [zoo.info(name) for name in zoo.names()]
    expected = {x.title for x in entries if any(tag.endswith("covariates") for tag in x.tags)}
    titles = sorted((x.title for x in entries), key=len, reverse=True)  # "Transformer" last
    assert set(re.findall(rf"\b({'|'.join(titles)})\b", sentence)) == expected


def test_only_deepar_refuses_past_covariates():
    tags = {name: zoo.info(name).tags for name in zoo.names("future covariates")}
    assert [name for name in tags if "past covariates" not in tags[name]] == ["deepar"]
    with pytest.raises(ValueError, match="not past ones"):
        zoo.build("deepar", 8, 2, 1, head="normal", covariates={"past": (1, 0)})
    text = (ROOT / "docs/guide/covariates.md").read_text("utf-8")
    assert "DeepAR requires a distribution as its head then, and refuses past covariates." in text


def test_known_names_on_the_hub_are_listed_with_size_and_licence():
    cards = (ROOT / "kerastrans/models/pretrained/cards.toml").read_text("utf-8")
    text = (ROOT / "docs/pretrained.md").read_text("utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    for family in tomllib.loads(cards)["known"]:
        for name, size in family["sizes"].items():
            if "/" in name and not name.startswith("autogluon/chronos-bolt"):  # "the same names"
                (row,) = [row for row in rows if f"`{name}`" in row]
                assert size in row
                assert family["licence"] in row


def test_calendar_features_are_encoded_as_documented():
    text = (ROOT / "docs/how/export.md").read_text("utf-8")
    (block,) = re.findall(r"```python\n(.*?def calendar.*?)```", text, re.DOTALL)
    documented = {}
    exec(block, documented)
    times = pd.date_range("2024-02-28 21:30", periods=60, freq="7h30min")
    names = list(clock._CALENDAR)
    found = documented["calendar"](times, names)
    np.testing.assert_allclose(found, clock.waves(times, names), atol=1e-6)


def test_the_message_for_files_that_are_loaded_without_an_import_is_in_the_faq(monkeypatch):
    name = "kerastrans>AutoregressiveModel"
    config = {"module": "kerastrans.decoding.generation", "class_name": "AutoregressiveModel"}
    monkeypatch.delitem(keras.saving.get_custom_objects(), name)
    with pytest.raises(TypeError) as raised:  # if Keras imports the module, the entry is needless
        keras.saving.deserialize_keras_object({**config, "config": {}, "registered_name": name})
    text = (ROOT / "docs/faq.md").read_text("utf-8")
    (block,) = re.findall(r"```text\nTypeError: (Could not locate .*?)```", text, re.DOTALL)
    for part in " ".join(block.split()).split(" [...]"):
        assert part.strip(" ]}") in str(raised.value)


def test_number_of_lessons_is_correct():
    assert len(list((ROOT / "notebooks").glob("0*.ipynb"))) == 15
    for page in ("README.md", "docs/index.md"):
        assert re.search(
            r"fifteen\s+\[lessons\]|\[fifteen lessons\]", (ROOT / page).read_text("utf-8")
        )


@pytest.mark.parametrize("path", PAGES, ids=page_id)
def test_files_of_the_repository_that_a_page_names_exist(path):
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split()
    if not listed:
        pytest.skip("not a git checkout")
    folders = {name.partition("/")[0] for name in listed if "/" in name}
    text = re.sub(r"\]\([^)]*\)", "]", path.read_text("utf-8"))  # the links are checked elsewhere
    named = re.findall(r"(?<![\w./-])(?:[\w.-]+/)+[\w.-]+\.(?:py|csv|json|toml|md)\b", text)
    roots = [ROOT, ROOT / "kerastrans", ROOT / "kerastrans/forecasting", ROOT / "benchmarks"]
    rooms = {child.name for root in roots[1:3] for child in root.iterdir() if child.is_dir()}
    for name in named:
        first = name.partition("/")[0]
        if first in folders | rooms | {"results"} and "NAME" not in name:
            assert any((root / name).is_file() for root in roots), f"{path.name} names {name}"


def test_modules_named_in_the_architecture_exist():
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    section = text.partition("## How a model is exported")[0]  # whose files are those of one folder
    names = re.findall(r"`([\w/]+\.py)`", section)
    assert len(names) > 30
    roots = [ROOT, ROOT / "kerastrans", ROOT / "kerastrans/forecasting"]
    for name in names:
        assert any((root / name).is_file() for root in roots), name


def test_architecture_lists_the_sub_packages_in_the_order_of_their_imports():
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = [x.replace("kerastrans.", "") for x in contract["contracts"][0]["layers"]]
    expected = [name.strip() for layer in layers for name in layer.split("|")]
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    section = text.partition("## Rooms")[2].partition("\n## ")[0]
    listed = re.findall(r"^    ([a-z]+(?:, [a-z]+)?)  ", section, re.MULTILINE)
    assert [name for entry in listed for name in entry.split(", ")] == expected
