"""Write lessons as source notebooks of nbgrader: stubs, solutions and graded checks.

python -m tools.site.assignments FOLDER [notebooks/02_attention.py ...]

`nbgrader generate_assignment` removes the solutions from them; `nbgrader autograde` runs the
checks.
"""

import inspect
import re
import sys
from pathlib import Path

import jupytext
from nbformat.v4 import new_code_cell

from kerastrans import lessons

FOLDER = Path(__file__).parents[2] / "notebooks"
CHECK = re.compile(r'^kerastrans\.lessons\.check\("([^"]+)", (\w+)\)\s*$', re.MULTILINE)


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
        check = CHECK.search(cell.source) if cell.cell_type == "code" else None
        cells += graded(*check.groups()) if check else [marked(cell)]
    notebook.cells = cells
    return notebook


def marked(cell):
    """The cell, with the marks of nbgrader if it is a part of the capstone.

    The cell of the score returns its points, of which nbgrader gives as many; the explanation is
    graded by hand.
    """
    if cell.source.startswith("forecast = ..."):
        cell.metadata |= nbgrader("capstone-work", solution=True)
    elif cell.source.startswith("**Explanation**"):
        cell.metadata |= nbgrader("capstone-explanation", grade=True, solution=True, points=2)
    elif cell.source.startswith("kerastrans.lessons.score_capstone("):
        cell.source += ".points"
        points = lessons.score_capstone().possible
        cell.metadata |= nbgrader("capstone", grade=True, locked=True, points=points)
    return cell


def graded(number, name):
    """Cells of one exercise: its solution, which nbgrader replaces by a stub, and its check."""
    solution = lessons.solution(number)
    if isinstance(solution, str):
        code = f"{name} = {solution!r}"
    else:
        code = inspect.getsource(solution).rstrip()
    key = "exercise-" + number.replace(".", "-")
    marked = f"### BEGIN SOLUTION\n{code}\n### END SOLUTION"
    return [
        new_code_cell(marked, metadata=nbgrader(f"{key}-solution", solution=True)),
        new_code_cell(
            f'verdict = kerastrans.lessons.check("{number}", {name})\nassert verdict, verdict',
            metadata=nbgrader(key, grade=True, locked=True, points=1),
        ),
    ]


def nbgrader(grade_id, *, grade=False, solution=False, locked=False, **points):
    """Metadata of one cell, in version 3 of nbgrader's schema."""
    kind = {"grade": grade, "solution": solution, "locked": locked, "task": False}
    return {"nbgrader": {"schema_version": 3, "grade_id": grade_id, **kind, **points}}


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
