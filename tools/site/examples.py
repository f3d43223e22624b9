"""Our docstrings' `Example:` as the section that the reference draws as code."""

import re

import griffe


class Examples(griffe.Extension):
    """Griffe knows "Examples:" alone; under another name doctests would be read as Markdown."""

    def on_object(self, *, obj, **_):
        """Called for each object that is read."""
        if obj.docstring:
            obj.docstring.value = re.sub(
                r"^Example:$", "Examples:", obj.docstring.value, flags=re.MULTILINE
            )
