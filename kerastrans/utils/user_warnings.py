"""Warnings that point to the line of the user's program."""

import sys
import warnings
from pathlib import Path

_PACKAGE = str(Path(__file__).parents[1])


def warn_user(message, category=UserWarning):
    """Warn at the innermost line that is not in this package.

    From Python 3.12 on `warnings.warn(..., skip_file_prefixes=...)` does the same.

    Args:
        message: Text of the warning.
        category: Class of the warning.
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
