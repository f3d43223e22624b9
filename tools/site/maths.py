"""Formulas as MathML: browsers draw it themselves, so that no script is loaded for it."""

import re
from html import unescape

from latex2mathml.converter import convert

FORMULA = re.compile(r'<(span|div) class="arithmatex">(\\\(|\\\[)(.*?)(\\\)|\\\])</\1>', re.DOTALL)


def drawn(html):
    """A page's HTML with what pymdownx.arithmatex has marked as MathML."""

    def mathml(formula):
        display = "block" if formula[1] == "div" else "inline"
        return convert(unescape(formula[3]), display=display)

    return FORMULA.sub(mathml, html)
