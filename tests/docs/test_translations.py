"""The translated lessons: their catalogues are up to date and exact, their pages are marked."""

import re

import nbformat
import pytest

import kerastrans

pytest.importorskip("jupytext", reason="the extra dev is not installed")
polib = pytest.importorskip("polib", reason="the extra docs is not installed")
from tools.site import catalogs, languages, translate, translation_faults  # noqa: E402

ENGLISH = """## Scores

**2.1** The *query* of `key_dim` 3 looks at two of 1,024 keys, -1 and $d^2$, in
[lesson 2](02_attention.ipynb).

![One head.](head.svg)

| a | b |
|---|---|
| mask | weight |"""
KOREAN = """## 점수

**2.1** `key_dim`이 3인 *쿼리*는 [강의 2](02_attention.ipynb)에서 키 1,024개 중 두 개인 -1과 $d^2$를
봅니다.

![헤드 하나.](head.svg)

| 가 | 나 |
|---|---|
| 마스크 | 가중치 |"""
TERMS = catalogs.terms("ko", "glossary") + catalogs.terms("ko", "numbers")


@pytest.mark.parametrize("language", catalogs.LANGUAGES)
@pytest.mark.parametrize("name", catalogs.CATALOGS)
def test_catalogue_is_up_to_date_and_exact(language, name):
    run = "run python -m tools.site.translate update, and correct the catalogue"
    assert translation_faults.faults(language, name) == [], run


@pytest.mark.parametrize("language", catalogs.LANGUAGES)
@pytest.mark.parametrize("name", ["glossary", "numbers"])
def test_terms_of_a_language_are_all_translated_once(language, name):
    terms = catalogs.terms(language, name)
    assert len({term for term, _ in terms}) == len(terms) > 10
    assert all(word.strip() for _, known in terms for word in known)


def without_english(language, read=catalogs.translations):
    """Terms whose English is not beside their first mention in the course, outside headings."""
    untold = dict(catalogs.terms(language, "glossary"))
    for name in catalogs.LESSONS:
        for text in catalogs.messages(name):
            words = "" if text.startswith(("#", "![")) else translation_faults.words_of(text)
            for term in [x for x in untold if re.search(rf"\b{x}s?\b", words, re.IGNORECASE)]:
                latin = [word for word in untold.pop(term) if re.search("[A-Za-z]", word)]
                beside = rf"[(（][^()（）]*\b{term}"  # noqa: RUF001
                found = read(language, name)[text]
                if not any(x in found for x in latin) and not re.search(beside, found, re.I):
                    yield term


@pytest.mark.parametrize("language", catalogs.LANGUAGES)
def test_english_is_beside_each_term_at_its_first_mention(language):
    assert list(without_english(language)) == []
    bare = lambda *name: {  # noqa: E731
        text: re.sub(r"[(（][a-z -]+[)）]", "", found)  # noqa: RUF001
        for text, found in catalogs.translations(*name).items()
    }
    assert {"residual connection", "teacher forcing"} < set(without_english(language, bare))


def test_exact_translation_has_no_faults():
    assert list(translation_faults.differences(ENGLISH, KOREAN, "ko", TERMS)) == []


@pytest.mark.parametrize(
    ("right", "wrong", "fault"),
    [
        ("`key_dim`", "`키_차원`", "code span key_dim is lost"),
        ("$d^2$", "$d^3$", "formula d^2 is lost"),
        ("02_attention", "03_masks", "link 02_attention.ipynb is lost"),
        ("1,024", "1,042", "number 1,024 is lost"),
        ("1,024", "1,042", "number 1,042 is not in the English text"),
        ("-1과", "1과", "number -1 is lost"),
        ("두 개", "세 개", "'two' is not translated as in the glossary: 두 or 둘 or 양 끝 or 2"),
        ("## ", "### ", "heading h2 is lost"),
        ("**2.1**", "**2.2**", "exercise 2.1 is lost"),
        ("*쿼리*", "쿼리", "emphasis * is lost"),
        ("![헤드 하나.]", "![One head.]", "the alt text is not translated"),
        ("![헤드 하나.]", "![]", "the alt text is not translated"),
        ("head.svg", "heads.svg", "image head.svg is lost"),
        ("| 마스크 | 가중치 |", "", "table row is lost"),
        ("점수", "스코어", "'score' is not translated as in the glossary: 점수"),
        (KOREAN, ENGLISH, "is not translated"),
    ],
)
def test_what_a_translation_loses_or_changes_is_named(right, wrong, fault):
    assert right in KOREAN
    damaged = KOREAN.replace(right, wrong)
    assert fault in list(translation_faults.differences(ENGLISH, damaged, "ko", TERMS))


def as_read(catalog):
    return polib.pofile(str(catalog), wrapwidth=100)


def test_update_keeps_translations_and_marks_what_has_changed():
    first = "The layer adds the position to each step of the sequence."
    changed = "The layer adds the position to every step of the sequence."
    catalog = catalogs.updated(polib.POFile(), ["## Title", first, "It is gone."], "ko")
    for entry, text in zip(
        catalog, ["## 제목", "층은 위치를 더합니다.", "없어집니다."], strict=True
    ):
        entry.msgstr = text

    texts = ["## Title", changed, "A new question: why?"]
    catalog = as_read(catalogs.updated(as_read(catalog), texts, "ko"))
    assert catalog.find("## Title").msgstr == "## 제목"
    entry = catalog.find(changed)
    assert (entry.msgstr, entry.fuzzy) == ("층은 위치를 더합니다.", True)
    assert entry.previous_msgid == first
    assert [entry.msgid for entry in catalog.untranslated_entries()] == ["A new question: why?"]
    assert [entry.msgid for entry in catalog.obsolete_entries()] == ["It is gone."]
    faults = list(translation_faults.catalog_faults(catalog, texts, "ko", []))
    assert faults == [
        "'The layer adds the position to every step of the …': fuzzy, the English text has changed",
        "'A new question: why?': missing",
        "'It is gone.': obsolete, the lesson does not have it",
    ]

    assert str(catalogs.updated(catalog, texts, "ko")) == str(catalog)  # nothing is lost
    back = catalogs.updated(catalog, ["## Title", first, "It is gone."], "ko")
    assert [(x.msgstr, x.fuzzy) for x in back][1:] == [
        ("층은 위치를 더합니다.", False),
        ("없어집니다.", False),
    ]
    entry.flags = []  # as if translated: the comment with the former text may remain
    assert not catalogs.updated(catalog, texts, "ko").find(changed).fuzzy


def test_paragraphs_are_in_one_line_without_the_marks_of_claims():
    source = (
        "## Title\n\n<!-- claim: a --> It is\nlong. <!-- claim:\nb --> More\nof it.\n\n"
        "- one\n  item\n- two\n\n| a |\n|---|\n\n    x --> y\n\n$$a\nb$$"
    )
    assert catalogs.paragraphs(source) == [
        "## Title",
        "It is long. More of it.",
        "- one item\n- two",
        "| a |\n|---|",
        "    x --> y",
        "$$a b$$",
    ]
    assert [catalogs.is_text(x) for x in catalogs.paragraphs(source)] == [True] * 4 + [False] * 2


def test_notebook_in_a_language_has_the_same_code(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert translate.main(["notebook", "ko", "02_attention", "out.ipynb"]) == 0
    made = nbformat.read("out.ipynb", 4)
    english = nbformat.read(catalogs.ROOT / "notebooks/02_attention.ipynb", 4)
    for kind in ("source", "outputs"):
        code = [[c[kind] for c in x.cells if c.cell_type == "code"] for x in (made, english)]
        assert code[0] == code[1]
    text = "\n".join(cell.source for cell in made.cells if cell.cell_type == "markdown")
    assert f"kerastrans {kerastrans.__version__}" in made.cells[1].source
    (picture,) = translate.LINK.findall(text[text.index("![") :].partition("\n")[0])
    assert (tmp_path / picture).is_file()
    with pytest.raises(SystemExit):
        translate.main(["notebook", "ko", "02_attention", "out.ipynb"])
    assert "out.ipynb exists: give the path of a new file" in capsys.readouterr().err


def test_damaged_catalogue_is_named(tmp_path, monkeypatch, capsys):
    (tmp_path / "ko").mkdir()
    (tmp_path / "ko/01_positional_encoding.po").write_text('msgid "a"\nmsg "b"\n')
    monkeypatch.setattr(catalogs, "FOLDER", tmp_path)
    with pytest.raises(SystemExit):
        translate.main(["update"])
    assert "01_positional_encoding.po (line 2)" in capsys.readouterr().err


def test_titles_in_another_language_are_marked():
    title = '<a href="x/" class="md-tabs__link">\n  {}\n</a><span class="md-ellipsis">{}</span>'
    html = '<html lang="zh">' + title.format("Lessons", "注意力")
    marked = '<html lang="zh-Hans">' + title.format("Lessons", "注意力")
    assert languages.marked(html, "zh") == marked.replace("tabs__link", 'tabs__link" lang="en', 1)
    page = languages.with_switch("ko/lessons/03_masks.md", "# 3\n\nText.\n")
    assert page.splitlines()[2] == (
        "[English](../../lessons/03_masks.md){ lang=en hreflang=en } · 한국어 · "
        "[简体中文](../../zh/lessons/03_masks.md){ lang=zh-Hans hreflang=zh-Hans }"
    )
    assert languages.with_switch("lessons/05_forecasting.md", "# 5") == "# 5"
