"""The built site: strict, complete, and nothing on it is loaded from elsewhere."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

pytest.importorskip("material", reason="the extra docs is not installed")
pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]


class Loaded(HTMLParser):
    """What a page loads, and the texts of its pictures."""

    def __init__(self, html):
        super().__init__()
        self.loaded, self.texts = [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag == "img":
            self.texts.append(attrs.get("alt", ""))
        if tag in ("img", "script", "iframe", "source"):
            self.loaded.append(attrs.get("src") or "")
        if tag == "link" and attrs.get("rel") in ("stylesheet", "preconnect", "icon"):
            self.loaded.append(attrs["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT)}
    built = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr[-3000:]  # no dead link, no page left out
    return folder


def test_pages_load_no_external_files_and_all_images_have_alt_texts(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 80
    for path in pages:
        page = Loaded(path.read_text("utf-8"))
        assert not [source for source in page.loaded if re.match(r"(https?:)?//", source)], path
        assert all(page.texts), path
    for path in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//", path.read_text("utf-8")), path


def test_formulas_and_reference_anchors_are_rendered(site):
    assert "<math" in (site / "lessons/02_attention/index.html").read_text("utf-8")
    heads = (site / "api/heads/index.html").read_text("utf-8")
    assert 'id="kerastrans.heads.lookup.of"' in heads
    assert (site / "lessons/05_forecasting").is_dir()


@pytest.mark.parametrize(("folder", "tag"), [("ko", "ko"), ("zh", "zh-Hans")])
def test_translated_lesson_has_the_parts_of_the_english_one(site, folder, tag):
    english, translated = (
        (site / part / "lessons/02_attention/index.html").read_text("utf-8")
        for part in ("", folder)
    )
    assert f'<html lang="{tag}"' in translated
    assert f'<a href="../../{folder}/lessons/02_attention/" hreflang="{tag}"' in english
    assert '<a href="../../../lessons/02_attention/" hreflang="en" lang="en"' in translated
    assert 'class="md-tabs__link" lang="en"' in translated
    assert '<a href="../02b_inside_a_block/">' in translated  # the same language
    assert '<a href="../../../lessons/answers/">' in translated  # not translated
    for tag in ("<math", "<pre", "<img", "<h2", "<table", "<em"):
        counts = [page.partition("<article")[2].count(tag) for page in (english, translated)]
        assert counts[0] == counts[1] > 0, tag
    for picture in re.findall(r'<img [^>]*src="([^"]+)"', translated):
        assert (site / folder / "lessons/02_attention" / picture).resolve().is_file()


def test_next_page_is_in_the_same_language(site):
    def beside(page):
        html = (site / page / "index.html").read_text("utf-8")
        found = re.findall(r'<a href="([^"]+)" class="md-footer__link', html)
        return [(site / page / link).resolve().relative_to(site).as_posix() for link in found]

    assert beside("examples")[0] == "lessons/answers_forecasting"
    assert beside("ko/lessons/04_copy_task") == ["ko/lessons/03_masks"]


def test_llms_txt_names_every_page(site):
    text = (site / "llms.txt").read_text("utf-8")
    whole = (site / "llms-full.txt").read_text("utf-8")
    assert "# Models without the Forecaster" in whole
    assert "def build_patchtst_model" not in whole  # the reference is generated from the code
    assert len(whole) < 2_000_000
    found = re.findall(r"^- \[[^]]+\]\(([^)]+)\)", text, re.MULTILINE)
    pages = [path.parent.relative_to(site) for path in site.rglob("index.html")]
    assert sorted(f"{page.as_posix()}/" for page in pages) == sorted(found)
    assert "- [PatchTST](architectures/patchtst/): Transformer over patches" in text
