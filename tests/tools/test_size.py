from tools.checks.size import lines_of_code

SOURCE = '''"""A module,

over several lines."""

# A comment
import os  # counts


def size(path):
    """Its docstring."""

    # Another comment
    text = """no docstring,

which has two lines of code"""
    return text
'''


def test_docstrings_comments_and_blank_lines_are_no_code():
    assert lines_of_code(SOURCE) == 5
