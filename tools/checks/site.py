"""Look at every page of the built site in a Chromium, on a desk and on a phone.

    make docs docs-accessibility

What axe-core finds by the rules of WCAG 2.1 A and AA (contrast, texts of pictures, names of
controls), what is loaded from elsewhere, and what is wider than the screen ends it with 1. Words
after it choose the pages with one of them in their addresses.
"""

import sys
from pathlib import Path

import axe_playwright_python

from tools.checks import chromium

SITE = Path(__file__).parents[2] / "site"
AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js")
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"], "resultTypes": ["violations"]}
WIDTHS = (1280, 390)
TOO_WIDE = "document.documentElement.scrollWidth > document.documentElement.clientWidth"


def main(parts):
    pages = sorted(path.parent.relative_to(SITE).as_posix() for path in SITE.rglob("index.html"))
    pages = [page for page in pages if not parts or any(part in page for part in parts)]
    faults = 0
    with chromium.serve_folder(SITE) as address, chromium.launch() as browser:
        for width, scheme in ((WIDTHS[0], "light"), (WIDTHS[1], "light"), (WIDTHS[0], "dark")):
            for page, fault in looked_at(browser, address, pages, width, scheme):
                print(f"{width} px, {scheme}, {page}: {fault}", flush=True)
                faults += 1
    print(f"{len(pages)} pages, {faults} faults")
    raise SystemExit(bool(faults))


def looked_at(browser, address, pages, width, scheme):
    """Pairs of a page and a fault, at one width of the window."""
    tab = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    elsewhere = []
    ours = (address, "data:")
    tab.on("request", lambda x: x.url.startswith(ours) or elsewhere.append(x.url))
    for page in pages:
        tab.goto(f"{address}{page}/".replace("/./", "/"))
        tab.wait_for_function("!document.querySelector('[aria-busy]')")  # models of the explorer
        tab.add_script_tag(path=AXE)
        for found in tab.evaluate("rules => axe.run(rules)", RULES)["violations"]:
            for message in dict.fromkeys(map(told, found["nodes"])):
                yield page, f"{found['id']}: {message}"
        if tab.evaluate(TOO_WIDE):
            yield page, "wider than the window"
        while elsewhere:
            yield page, f"loads {elsewhere.pop()}"
    tab.close()


def told(node):
    """An element and what is wrong with it, in one line."""
    checks = [*node["any"], *node["all"], *node["none"]]
    return " ".join(f"{checks[0]['message']} {node['html'][:80]}".split())


if __name__ == "__main__":
    main(sys.argv[1:])
