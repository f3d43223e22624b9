"""Missing, stale and wrong paragraphs of a catalogue of translations."""

import re
from collections import Counter

from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

from tools.site import catalogs

MARKDOWN = MarkdownIt("commonmark").enable("table").use(dollarmath_plugin)
# Tokens of Markdown that are the same in all languages, and the value that has to be the same.
KINDS = {
    "code_inline": ("code span", lambda token: token.content),
    "math_inline": ("formula", lambda token: token.content),
    "link_open": ("link", lambda token: token.attrs["href"]),
    "image": ("image", lambda token: token.attrs["src"]),
    "heading_open": ("heading", lambda token: token.tag),
    "em_open": ("emphasis", lambda token: token.markup),
    "strong_open": ("emphasis", lambda token: token.markup),
    "td_open": ("table", lambda token: "cell"),
    "tr_open": ("table", lambda token: "row"),
}
EXERCISE = re.compile(r"\*\*(\w+\.\d+)\*\* ")
FIELD = re.compile(r"\{(\w+)\}")
NUMBER = re.compile(r"(?:(?<![^\s(])-)?\d+(?:[.,]\d+)*")
IN_WORDS = {"0": r"\bzeros?\b", "1": r"\bones?\b"}  # other numbers in words are in the glossary


def faults(language, name):
    """Lines that name the catalogue, the paragraph and its fault."""
    catalog, texts = catalogs.read(language, name), catalogs.messages(name)
    terms = catalogs.terms(language, "glossary") + catalogs.terms(language, "numbers")
    found = catalog_faults(catalog, texts, language, terms)
    return [f"{language}/{name}, {fault}" for fault in found]


def catalog_faults(catalog, texts, language, terms):
    """Faults of a catalogue that should have these texts."""
    entries = {entry.msgid: entry for entry in catalog if not entry.obsolete}
    for text in texts:
        entry = entries.pop(text, None)
        if entry is None or not entry.msgstr:
            yield f"{short(text)}: missing"
        elif entry.fuzzy:
            yield f"{short(text)}: fuzzy, the English text has changed"
        else:
            for fault in differences(text, entry.msgstr, language, terms):
                yield f"{short(text)}: {fault}"
    for entry in [*entries.values(), *catalog.obsolete_entries()]:
        yield f"{short(entry.msgid)}: obsolete, the lesson does not have it"


def short(text):
    """The beginning of a paragraph, as its name in a message."""
    return repr(text if len(text) <= 50 else f"{text[:49]}…")


def differences(english, translation, language, terms):
    """Parts of a paragraph that its translation has lost or changed."""
    parts, translated = structure(english), structure(translation)
    yield from (f"{kind} {value} is lost" for kind, value in parts - translated)
    yield from (f"{kind} {value} is not in the English text" for kind, value in translated - parts)
    words, found = words_of(english), words_of(translation)
    if re.search(r"[A-Za-z]", words) and not catalogs.SCRIPTS[language].search(found):
        yield "is not translated"
    if any(not catalogs.SCRIPTS[language].search(text) for text in alt_texts(translation)):
        yield "the alt text is not translated"
    numbers, given = Counter(NUMBER.findall(words)), Counter(NUMBER.findall(found))
    yield from (f"number {number} is lost" for number in numbers - given)
    added = given - numbers  # digits for numbers that are words in the English text
    written = {number for number, word in IN_WORDS.items() if re.search(word, words, re.I)}
    for term, known in terms:
        if re.search(rf"\b{term}s?\b", words, re.IGNORECASE):
            if not any(word in (added if word.isdigit() else found) for word in known):
                yield f"{term!r} is not translated as in the glossary: {' or '.join(known)}"
            written.update(number for word in known for number in NUMBER.findall(word))
    for number in sorted(set(added) - set(numbers) - written):
        yield f"number {number} is not in the English text"


def structure(text):
    """Counter of pairs (kind, value): what has to be the same in all languages."""
    tokens = [token for token in flat(MARKDOWN.parse(text)) if token.type in KINDS]
    found = Counter((KINDS[t.type][0], KINDS[t.type][1](t)) for t in tokens)
    found.update(("exercise", number) for number in EXERCISE.findall(text))
    found.update(("field", name) for name in FIELD.findall(words_of(text)))
    return found


def flat(tokens):
    """Tokens of Markdown with those inside of them."""
    for token in tokens:
        yield token
        yield from flat(token.children or [])


def words_of(text):
    """The words of a text without code, formulas and targets of links."""
    return " ".join(t.content for t in flat(MARKDOWN.parse(text)) if t.type == "text")


def alt_texts(text):
    """The alternative texts of the images."""
    return [t.content for t in flat(MARKDOWN.parse(text)) if t.type == "image"]
