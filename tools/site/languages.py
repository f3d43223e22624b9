"""Pages of the lessons in other languages, and the marks of languages in pages.

lessons/02_attention.md is ko/lessons/02_attention.md in Korean, with the same code and outputs.
"""

import posixpath
import re

from tools.site import catalogs, lessons

TAGS = {"": "en", "ko": "ko", "zh": "zh-Hans"}  # of the attributes lang and hreflang
NAMES = {"": "English", **catalogs.LANGUAGES}
PAGES = [f"lessons/{name}.md" for name in ("index", *catalogs.LESSONS)]
UNSEARCHED = "---\nsearch:\n  exclude: true\n---\n"  # the search is that of the English pages
# A title in the navigation or at the foot of a page.
TITLE = re.compile(
    r'(<\w+ (?:href="[^"]*" )?class="md-(?:ellipsis|tabs__link|nav__title)"[^>]*)'
    r'(>\s*(?:<span class="md-nav__icon md-icon"></span>)?)([^<]*)'
)


def of(uri):
    """The language of a page, "" for English."""
    folder = uri.partition("/")[0]
    return folder if folder in catalogs.LANGUAGES else ""


def navigation():
    """Entries of the navigation, one section per language."""
    return [
        {name: [{title(language, uri): f"{language}/{uri}"} for uri in PAGES]}
        for language, name in catalogs.LANGUAGES.items()
    ]


def link_neighbours(pages):
    """Link each page with the one before and after it that is in the same language."""
    for language in NAMES:
        same = [page for page in pages if of(page.file.src_uri) == language]
        for before, page, after in zip([None, *same], same, [*same[1:], None], strict=False):
            page.previous_page, page.next_page = before, after


def title(language, uri):
    """The title of a page in a language."""
    name = posixpath.basename(uri).removesuffix(".md")
    if name == "index":
        return catalogs.LANGUAGES[language]
    return catalogs.translated(language, name).cells[0].source.partition("\n")[0].lstrip("# ")


def pages():
    """Dict of each page's place in the site -> its text."""
    made = {}
    for language in catalogs.LANGUAGES:
        made[f"{language}/{PAGES[0]}"] = UNSEARCHED + index(language)
        for name in catalogs.LESSONS:
            made[f"{language}/lessons/{name}.md"] = UNSEARCHED + lesson(language, name)
    return made


def lesson(language, name):
    """A lesson in a language, with a note on its translation."""
    notebook = catalogs.translated(language, name)
    text, _ = lessons.converted(notebook)
    known = catalogs.translations(language, name)
    alts = [known.get(alt, alt) for alt in lessons.alt_texts(notebook)]
    heading, _, body = (
        lessons.described(text, f"../../lessons/{name}", alts).strip().partition("\n")
    )
    about = catalogs.page_text(language, catalogs.ABOUT, english=f"../../lessons/{name}.md")
    return f"{heading}\n\n{about}\n{{: .about }}\n{body}\n"


def index(language):
    """The lessons in a language, and its glossary."""

    def text_of(text, **values):
        return catalogs.page_text(language, text, **values)

    listed = [f"- [{title(language, uri)}]({posixpath.basename(uri)})" for uri in PAGES[1:]]
    table = [f"| English | {catalogs.LANGUAGES[language]} |", "|---|---|"]
    for term, known in catalogs.terms(language, "glossary"):
        table.append(f'| <span lang="en">{term}</span> | {known[0]} |')
    return "\n\n".join(
        [
            f"# {text_of(catalogs.TITLE)}",
            text_of(catalogs.CONTENT, english="../../lessons/index.md"),
            "\n".join(listed),
            f"## {text_of(catalogs.GLOSSARY)}",
            "\n".join(table),
        ]
    )


def with_switch(uri, markdown):
    """A page's text with links to its other languages below the title, if there are any."""
    if (english := uri.removeprefix(f"{of(uri)}/")) not in PAGES:
        return markdown
    links = []
    for language, name in NAMES.items():
        target = posixpath.relpath(posixpath.join(language, english), posixpath.dirname(uri))
        tag = TAGS[language]
        link = f"[{name}]({target}){{ lang={tag} hreflang={tag} }}"
        links.append(name if language == of(uri) else link)
    heading, _, body = markdown.strip().partition("\n")
    return f"{heading}\n\n{' · '.join(links)}\n{{: .languages }}\n{body}\n"


def marked(html, language):
    """A page's HTML with the language of the page, and of titles that are in another one."""

    def title_marked(match):
        found = [name for name, script in catalogs.SCRIPTS.items() if script.search(match[3])]
        other = found[0] if found else ""
        if other == language or not match[3].strip():
            return match[0]
        return f'{match[1]} lang="{TAGS[other]}"{match[2]}{match[3]}'

    html = re.sub(r'<html lang="\w+"', f'<html lang="{TAGS[language]}"', html, count=1)
    return TITLE.sub(title_marked, html)
