"""Message catalogues of the translated lessons: one message per paragraph of their Markdown."""

import csv
import difflib
import functools
import re
from pathlib import Path

import nbformat
import polib

from kerastrans.version import __version__
from tools.site import lessons

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "notebooks" / "locale"
LANGUAGES = {"ko": "한국어", "zh": "简体中文"}
SCRIPTS = {"ko": re.compile(r"[가-힣]"), "zh": re.compile(r"[\u4e00-\u9fff]")}
LESSONS = (
    "00_ninety_minutes",
    "01_positional_encoding",
    "02_attention",
    "02b_inside_a_block",
    "03_masks",
    "04_copy_task",
)
# What a page says around its lesson, in the catalogue "page".
ABOUT = (
    "This lesson is a translation of the [English lesson]({english}) of kerastrans {release}. Its "
    "translator checked it by translating it back into English; no native speaker has read it yet. "
    "Comments in the code, outputs, hints and the messages of `kerastrans.lessons.check` are in "
    "English."
)
TITLE = "Lessons"
CONTENT = (
    "Lesson 0 builds a Transformer in ninety minutes, lessons 1 to 4 take it apart. Code and "
    "outputs are shared with the [English lessons]({english}), which continue with forecasting. "
    "The answers to the exercises are there, too."
)
GLOSSARY = "Glossary"
PAGE = (ABOUT, TITLE, CONTENT, GLOSSARY)
CATALOGS = (*LESSONS, "page")
MARK = re.compile(r" ?<!--.*?-->", re.DOTALL)
ITEM = re.compile(r"^(?=[-*] |\d+\. )", re.MULTILINE)
SIMILAR = 0.5  # a paragraph that has more of another in common is a changed one


def paragraphs(source):
    """Blocks between the empty lines of a Markdown cell, without the marks of claims.

    Text is in one line, each item of a list in its own; tables and code keep their lines.
    """
    blocks = re.split(r"\n(?:[ \t]*\n)+", MARK.sub("", source).strip("\n"))
    return [block if block.startswith(("|", "    ")) else joined(block) for block in blocks]


def joined(block):
    """The text of a block, without the breaks of its lines."""
    items = filter(None, ITEM.split(block)) if ITEM.match(block) else [block]
    return "\n".join(" ".join(item.split()) for item in items)


def is_text(paragraph):
    """Return False for formulas and code without text around them, which are not translated."""
    return bool(paragraph) and not paragraph.startswith(("$$", "    "))


def messages(name):
    """Texts of a lesson with the alt texts of its pictures, or of "page": each once, in order."""
    if name == "page":
        return list(PAGE)
    import jupytext  # of the extra dev: the site needs only the notebooks

    texts = []
    for cell in jupytext.read(ROOT / "notebooks" / f"{name}.py").cells:
        if cell.cell_type == "markdown":
            texts += filter(is_text, paragraphs(cell.source))
        elif alt := lessons.ALT_TEXT.search(cell.source):
            texts.append(alt[1].replace("\n# ", " "))
    return list(dict.fromkeys(texts))


def path_of(language, name):
    """The file of a catalogue."""
    return FOLDER / language / f"{name}.po"


def read(language, name):
    """A catalogue; an empty one if its file does not exist."""
    path = path_of(language, name)
    return polib.pofile(str(path), wrapwidth=100) if path.exists() else polib.POFile(wrapwidth=100)


@functools.cache
def translations(language, name):
    """Dict of each text -> its translation, of those that are up to date."""
    return {entry.msgid: entry.msgstr for entry in read(language, name) if entry.translated()}


def terms(language, name):
    """Pairs of an English term and the list of its translations, in "glossary" or "numbers"."""
    with (FOLDER / language / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return [(row["english"], row["translation"].split("|")) for row in csv.DictReader(file)]


def page_text(language, text, **values):
    """A text of `PAGE` in a language, with the values of its fields."""
    return translations(language, "page").get(text, text).format(release=__version__, **values)


def translated(language, name):
    """The executed notebook of a lesson with its text in a language."""
    notebook = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", 4)
    known = translations(language, name)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = "\n\n".join(known.get(text, text) for text in paragraphs(cell.source))
    return notebook


def updated(old, texts, language):
    """A catalogue with these texts. Unchanged texts keep their translations.

    A changed text keeps its translation too, with the flag "fuzzy" and the English text that was
    translated. A text that is no longer in the lesson becomes obsolete.
    """
    new = polib.POFile(wrapwidth=100)
    new.metadata = {
        "Project-Id-Version": "kerastrans",
        "Language": language,
        "MIME-Version": "1.0",
        "Content-Type": "text/plain; charset=UTF-8",
        "Content-Transfer-Encoding": "8bit",
    }
    left = {
        entry.previous_msgid if entry.fuzzy else entry.msgid: entry for entry in old if entry.msgstr
    }
    same = {text: left.pop(text) for text in texts if text in left}
    for text in texts:
        entry = polib.POEntry(msgid=text)
        if text in same:
            entry.msgstr, entry.tcomment = same[text].msgstr, same[text].tcomment
        elif close := difflib.get_close_matches(text, left, n=1, cutoff=SIMILAR):
            former = left.pop(close[0])
            entry.msgstr, entry.tcomment = former.msgstr, former.tcomment
            entry.previous_msgid, entry.flags = close[0], ["fuzzy"]
        new.append(entry)
    for text, entry in left.items():
        new.append(polib.POEntry(msgid=text, msgstr=entry.msgstr, obsolete=True))
    return new
