"""Write lessons as source notebooks of nbgrader: stubs, solutions and graded checks.

python -m tools.site.assignments FOLDER [notebooks/02_attention.py ...]

`nbgrader generate_assignment` removes the solutions from them; `nbgrader autograde` runs the
checks.
"""

import ast
import base64
import inspect
import re
import sys
from pathlib import Path

import jupytext
from nbformat.v4 import new_code_cell, new_markdown_cell

from kerastrans import lessons

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "notebooks"
CHECK = re.compile(r'^kerastrans\.lessons\.check\("([^"]+)", (\w+)\)\s*$', re.MULTILINE)
PICTURE = re.compile(r"\]\(\.\./(docs/images/\S+\.svg)\)")
SOLUTIONS = re.compile(r"\s+Solutions:\s+\[(answers\w*\.ipynb)\]\(\1\)\.")


def main(folder, texts):
    """Write one source notebook per lesson into the folder."""
    for text in map(Path, texts or sorted(FOLDER.glob("[01]*.py"))):
        path = Path(folder) / f"{text.stem}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        jupytext.write(assignment(jupytext.read(text)), path)
        print(f"wrote {path}")


def assignment(notebook):
    """The notebook with the two nbgrader cells of each exercise in place of its stub and check."""
    cells = []
    for cell in notebook.cells:
        attach_pictures(cell)
        cell.source = SOLUTIONS.sub("", cell.source)
        check = CHECK.search(cell.source) if cell.cell_type == "code" else None
        cells += graded(*check.groups(), cell.source) if check else marked(cell)
    notebook.cells = cells
    return notebook


def attach_pictures(cell):
    """Put the pictures that a cell shows into the notebook, as nbgrader copies no other file."""
    for path in PICTURE.findall(cell.source):
        name = Path(path).name
        content = base64.b64encode((ROOT / path).read_bytes()).decode()
        cell.setdefault("attachments", {})[name] = {"image/svg+xml": content}
    cell.source = PICTURE.sub(lambda found: f"](attachment:{Path(found[1]).name})", cell.source)


def marked(cell):
    """The cell; with the marks of nbgrader, and a cell for the answer, if it is of the capstone.

    The cell of the score returns its points, of which nbgrader gives as many; the explanation is
    graded by hand.
    """
    if cell.source.startswith("forecast = ..."):
        answers = [line.partition(" = ...  # ") for line in cell.source.splitlines()]
        comments = "\n".join(f"# {name}: {meaning}" for name, _, meaning in answers)
        cell.source = f"{comments}\n{hidden(cell.source)}"
        cell.metadata |= nbgrader("capstone-work", solution=True)
    elif cell.source.startswith("**Explanation**"):
        mark = nbgrader("capstone-explanation", grade=True, solution=True, points=2)
        return [cell, new_markdown_cell("Your explanation.", metadata=mark)]
    elif cell.source.startswith("kerastrans.lessons.score_capstone("):
        cell.source += ".points"
        points = lessons.score_capstone().possible
        cell.metadata |= nbgrader("capstone", grade=True, locked=True, points=points)
    return [cell]


def graded(number, name, stub):
    """Cells of one exercise: its solution, which nbgrader replaces by a stub, and its check.

    Args:
        number: str, number of the exercise.
        name: str, name of the answer.
        stub: str, code of the lesson's cell, whose choices are kept if the answer is a word.
    """
    solution = lessons.solution(number)
    if isinstance(solution, str):
        choices = re.search(r"# .*", stub)[0]
        code = f"{choices}\n{hidden(f'{name} = {solution!r}')}"
    else:
        code = with_hidden_body(inspect.getsource(solution))
    key = "exercise-" + number.replace(".", "-")
    return [
        new_code_cell(code, metadata=nbgrader(f"{key}-solution", solution=True)),
        new_code_cell(
            f'verdict = kerastrans.lessons.check("{number}", {name})\nassert verdict, verdict',
            metadata=nbgrader(key, grade=True, locked=True, points=1),
        ),
    ]


def with_hidden_body(source):
    """The code of a function or class whose first lines and task a student sees."""
    (definition,) = ast.parse(source).body
    end = definition.body[0].end_lineno  # of the docstring
    lines = source.splitlines()
    return "\n".join([*lines[:end], hidden("\n".join(lines[end:]).strip("\n"))])


def hidden(code):
    """The code between the marks of nbgrader, which have its indentation."""
    space = re.match(" *", code)[0]
    return f"{space}### BEGIN SOLUTION\n{code}\n{space}### END SOLUTION"


def nbgrader(grade_id, *, grade=False, solution=False, locked=False, **points):
    """Metadata of one cell, in version 3 of nbgrader's schema."""
    kind = {"grade": grade, "solution": solution, "locked": locked, "task": False}
    return {"nbgrader": {"schema_version": 3, "grade_id": grade_id, **kind, **points}}


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
