"""What MkDocs calls while it builds the site, see mkdocs.yml: pages that are made, not written.

The pages of the reference, the lessons, the examples, what is outside docs/, and the greater part
of each architecture's page are made at every build from what they describe; llms.txt from all.
"""

from mkdocs.plugins import event_priority
from mkdocs.structure.files import File

from tools.site import (
    api,
    architectures,
    elsewhere,
    languages,
    lessons,
    llms,
    maths,
    runtime,
    scripts,
)

_TEXTS = {}


def on_config(config):
    """Name the pages that are made in the navigation."""
    sections = dict(_sections(config.nav))
    sections["Architectures"] += architectures.navigation()
    sections["Lessons"] += lessons.navigation() + languages.navigation()
    sections["Examples"] += scripts.navigation()
    sections["Functions and classes"] += api.navigation()
    return config


def _sections(entries):
    """Yield the title and the list of entries of each section of the navigation, however deep."""
    for entry in entries:
        for title, pages in entry.items() if isinstance(entry, dict) else ():
            if isinstance(pages, list):
                yield title, pages
                yield from _sections(pages)


def on_nav(nav, **_):
    """Have each page lead to the next one in its own language."""
    languages.link_neighbours(nav.pages)


@event_priority(100)  # before the plugins, which read these pages too
def on_files(files, config):
    """Add the pages that have no file in docs/."""
    for source in (elsewhere, lessons, languages, scripts, api, runtime):
        for uri, content in source.pages().items():
            files.append(File.generated(config, uri, content=content))
    return files


def on_page_markdown(markdown, page, config, files):
    """Complete an architecture's page, and have every link lead to a page or file of the site."""
    markdown = architectures.completed(page.file.src_uri, markdown)
    markdown = languages.with_switch(page.file.src_uri, markdown)
    _TEXTS[page.file.src_uri] = markdown
    return elsewhere.relinked(page.file.src_uri, markdown, files, config)


def on_page_content(html, **_):
    """Formulas as MathML, which a browser draws without a script."""
    return maths.drawn(html)


def on_page_context(context, page, config, **_):
    """Words of the theme in the language of the page."""
    config.theme["language"] = languages.of(page.file.src_uri) or "en"
    return context


def on_post_page(output, page, **_):
    """Mark the language of the page, and of what is in another one."""
    return languages.marked(output, languages.of(page.file.src_uri))


def on_post_build(config):
    """Write llms.txt beside the site, and put the runtime of the explorer into it."""
    llms.write(config, _TEXTS)
    runtime.copy(config)
