"""What a wheel holds."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

import kerastrans

ROOT = Path(__file__).parents[1]


def test_tested_versions_are_those_of_the_required_dependencies():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    required = {re.match(r"[\w-]+", line)[0] for line in project["dependencies"]}
    tested = re.findall(r"^([\w-]+)==", (ROOT / "requirements.txt").read_text(), re.M)
    assert set(tested) == required


def test_a_release_has_one_version_everywhere():
    changelog = (ROOT / "CHANGELOG.md").read_text()
    released = [x for x in re.findall(r"^## \[(.+?)\]", changelog, re.M) if x != "Unreleased"]
    citation = (ROOT / "CITATION.cff").read_text()
    assert released[0] == kerastrans.__version__
    assert f"\nversion: {kerastrans.__version__}\n" in citation
    assert (
        f"## [{kerastrans.__version__}] - {re.search('date-released: (.+)', citation)[1]}"
        in changelog
    )


@pytest.mark.parametrize("path", sorted(ROOT.glob(".github/**/*.yml")), ids=lambda path: path.stem)
def test_workflows_and_forms_are_yaml_that_names_known_targets(path):
    text = path.read_text()
    content = yaml.safe_load(text)
    assert content
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M))
    for line in re.findall(r"make (.+)", text):
        assert set(line.split()) <= targets | {"docs"}
    assert not re.findall(r"uses: (?!actions/|pypa/)", text)
