"""llms.txt and llms-full.txt: where each page is, and all pages, for programs that read them."""

import re
from html import unescape
from pathlib import Path

ABOUT = """# {name}

> {description}: architectures from forecasting papers, built by functions and trained with
> model.fit on TensorFlow, JAX and PyTorch; a Forecaster that takes data frames and returns
> forecasts with prediction intervals; published weights; export as SavedModel, ONNX and LiteRT; an
> HTTP service.

The paths are relative to the address of this file.
"""


def write(config, texts):
    """Write both files, by the navigation: the first sentence of each page, and its whole text.

    Args:
        config: Configuration of MkDocs.
        texts: Dict of each page's place in docs/ -> its text in Markdown.
    """
    lines = [ABOUT.format(name=config.site_name, description=config.site_description)]
    for entry in config.nav:
        for section, entries in entry.items():
            lines += [f"## {section}", ""]
            lines += [line(config, uri) for uri in pages_of(entries)] + [""]
    Path(config.site_dir, "llms.txt").write_text("\n".join(lines), "utf-8")
    whole = [texts[uri] for uri in pages_of(config.nav) if not uri.startswith("api/")]
    Path(config.site_dir, "llms-full.txt").write_text("\n\n".join(whole), "utf-8")


def pages_of(entries):
    """The pages of an entry of the navigation, however deep."""
    if isinstance(entries, str):
        return [entries]
    if isinstance(entries, dict):
        entries = entries.values()
    return [uri for entry in entries for uri in pages_of(entry)]


def line(config, uri):
    """A page's title, address and first sentence, read from the page that was built."""
    folder = uri.removesuffix(".md").removesuffix("index").rstrip("/")
    address = f"{folder}/" if folder else "./"
    html = Path(config.site_dir, folder, "index.html").read_text("utf-8")
    article = html[html.index("<article") :]
    title, rest = re.search(r"<h1[^>]*>(.*?)</h1>(.*)", article, re.DOTALL).groups()
    sentence = re.search(r"<p>(.*?)</p>", rest, re.DOTALL)
    about = re.split(r"\. |。", plain(sentence[1]))[0].rstrip(".:") if sentence else ""
    return f"- [{plain(title)}]({address})" + (f": {about}" if about else "")


def plain(html):
    """Words without their markup."""
    html = re.sub(r'<a class="headerlink".*?</a>', "", html)
    return " ".join(unescape(re.sub(r"<[^>]+>", "", html)).split())
