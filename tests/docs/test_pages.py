"""What the site is made of: texts, pictures and names are complete, before it is built."""

import ast
import importlib
import re
from pathlib import Path

import pytest
import yaml

import kerastrans
from kerastrans import zoo

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

pytest.importorskip("mkdocs", reason="the extra docs is not installed")
from tools.site import api, architectures, elsewhere, scripts  # noqa: E402


@pytest.mark.parametrize("name", zoo.names())
def test_every_architecture_has_a_page_and_images(name):
    text = (DOCS / "architectures" / f"{name}.md").read_text("utf-8")
    assert text.startswith(f"# {zoo.info(name).title}\n")
    assert re.findall(r"^## .*$", text, re.MULTILINE) == [
        "## In short",
        "## When to use it",
        "## When not to use it",
    ]
    for kind in ("graph", "forecast"):
        picture = DOCS / "images" / "architectures" / f"{name}-{kind}.svg"
        assert picture.is_file(), "run make pictures"
        assert picture.stat().st_size < 100_000


def test_architecture_page_includes_its_registry_entry():
    page = architectures.completed("architectures/patchtst.md", "# PatchTST\n\nText.\n")
    assert "*Transformer over patches.* Nie et al. (2023)." in page
    code = "[code](https://github.com/yuqinie98/PatchTST/tree/204c21e)"
    assert f"\n\n[paper](https://arxiv.org/abs/2211.14730), {code}\n\nText.\n" in page
    assert "| `num_blocks` | `3` | `2`, `3` |" in page
    sizes = "`laptop` (the default); `paper`; `etth1_` with 96, 192, 336, 720; `etth2_` with 96"
    assert f"Sizes, for `size=`: {sizes}" in page
    assert "| etth1 | 336 to 96 | 0.37" in page  # of benchmarks/results/long_horizon.csv
    assert "python -m benchmarks.accuracy.long_horizon --models patchtst" in page
    paper = architectures.completed("architectures/informer.md", "# Informer\n\nText.\n")
    assert re.search(r"\| `d_model` \| `64` \|.*\| `512` \|", paper)
    untrained = architectures.completed("architectures/crossformer.md", "# Crossformer\n\nText.\n")
    assert "Not yet trained with the settings of the paper." in untrained
    uncompared = architectures.completed("architectures/deepar.md", "# DeepAR\n\nText.\n")
    assert "\n\n[paper](https://arxiv.org/abs/1704.04110)\n\nText.\n" in uncompared


def test_every_public_name_is_in_the_reference():
    written = {name for names in api.names().values() for name in names}
    for module in kerastrans._HOMES:
        part = module.rpartition(".")[2]
        offered = getattr(importlib.import_module(f"kerastrans.{module}"), "__all__", ())
        for name in {*kerastrans._HOMES[module], *offered}:
            value = getattr(importlib.import_module(f"kerastrans.{module}"), name)
            if type(value).__name__ != "module":
                known = {f"kerastrans.{name}", f"kerastrans.{part}.{name}"}
                assert known & written, f"{module}.{name} is on no page of the reference"
    builders = [path.stem for path in (DOCS / "architectures").glob("*.md")]
    assert sorted(builders) == sorted([*zoo.names(), "index"])


def test_every_page_is_in_the_navigation():
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))
    listed = set(re.findall(r"[\w/-]+\.md", str(config["nav"])))
    listed |= set(re.findall(r"[\w/-]+\.md", str(architectures.navigation())))
    assert {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")} <= listed
    assert set(elsewhere.PAGES.values()) <= listed


def test_every_image_has_an_alt_text():
    for path in [ROOT / "README.md", *DOCS.rglob("*.md")]:
        assert not re.findall(r"!\[\s*\]", path.read_text("utf-8")), path


@pytest.mark.parametrize("path", scripts.SCRIPTS, ids=lambda path: path.stem)
def test_example_page_contains_its_texts_and_all_its_code(path):
    page = scripts.page_of(path)
    assert page.startswith(f"# {scripts.header_of(path)['Title']}\n")
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    code = [ast.dump(node) for node in ast.parse("\n".join(blocks)).body]
    body = ast.parse(path.read_text("utf-8")).body
    texts = [x for x in body if isinstance(x, ast.Expr) and isinstance(x.value, ast.Constant)]
    assert code == [ast.dump(node) for node in body if node not in texts]
    assert page.count("\n## ") == len(texts) - 1
