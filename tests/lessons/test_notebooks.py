"""The texts of the lessons: every exercise has its check, every claim its assert."""

import ast
import base64
import re
import sys
from pathlib import Path

import keras
import numpy as np
import pytest

import kerastrans
from kerastrans import lessons
from kerastrans.lessons.course import MODULES, find_exercise

pytest.importorskip("jupytext", reason="the extra dev is not installed")
from tools.checks import claims
from tools.site import assignments

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


def text_of(lesson):
    return (NOTEBOOKS / f"0{lesson}_{MODULES[lesson]}.py").read_text("utf-8")


@pytest.mark.parametrize("lesson", MODULES)
def test_each_exercise_is_in_its_lesson(lesson):
    text = text_of(lesson)
    checked = re.findall(r'kerastrans\.lessons\.check\("([^"]+)", (\w+)\)', text)
    assert [number for number, _ in checked] == lessons.numbers(lesson)
    defined = {getattr(node, "name", None) for node in ast.walk(ast.parse(text))}
    for number, name in checked:
        exercise = find_exercise(number)
        assert f"**{number}** {' '.join(exercise.task.split())}" in claims.flat(text)
        if not isinstance(exercise.solution, str):
            assert name == exercise.solution.__name__
            assert name in defined


@pytest.mark.parametrize("lesson", claims.LESSONS, ids=lambda path: path.stem)
def test_each_claim_has_an_assert(lesson):
    found = claims.claims(lesson)
    assert [name for name, asserts in found.items() if not asserts] == []
    assert claims.unmarked_asserts(lesson) == []
    new = set(claims.candidates(lesson)) - set(claims.reviewed())
    assert new == set(), "mark these claims, or add them to tools/checks/claims_reviewed.txt"


def test_reviewed_sentences_are_in_a_lesson():
    assert claims.outdated() == [], "delete these lines of tools/checks/claims_reviewed.txt"


def test_list_of_claims_and_exercises_is_current():
    text = claims.LIST.read_text("utf-8")
    assert text == claims.claims_and_exercises(), "run python -m tools.checks.claims --write"
    for number in lessons.numbers():
        assert f"\n| {number} | " in text
    mistakes = sum(len(find_exercise(number).mistakes) for number in lessons.numbers())
    counted = f"name {mistakes} mistakes of {len(lessons.numbers())} exercises"
    assert counted in (NOTEBOOKS / "INSTRUCTOR.md").read_text("utf-8")


@pytest.mark.parametrize("lesson", claims.LESSONS, ids=lambda path: path.stem)
def test_each_picture_has_an_alternative_text(lesson):
    pytest.importorskip("nbconvert", reason="the extra docs is not installed")
    from tools.site.lessons import alt_texts

    alts = alt_texts(claims.jupytext.read(lesson.with_suffix(".ipynb")))
    assert alts
    assert all(alts)


def test_claims_and_asserts_are_found(tmp_path):
    lesson = tmp_path / "01_made.py"
    lesson.write_text(
        "# %% [markdown]\n# It is quick. <!-- claim: fast --> It is faster\n# than that.\n#\n"
        "# Another is slower. Lesson 2 ([2b](02b.ipynb), `x[0]`, $n^2$) says it.\n#\n"
        "# It takes 5 s. <!-- claim: small --> It is smaller.\n\n"
        "# %%\nif True:\n    assert 1 < 2  # claim: fast\nassert 3  # claim: other\n"
    )
    assert claims.claims(lesson) == {"fast": ["assert 1 < 2"], "small": [], "other": ["assert 3"]}
    assert claims.unmarked_asserts(lesson) == ["other"]
    expected = ["01_made: Another is slower.", "01_made: It takes 5 s."]
    assert claims.candidates(lesson) == expected


@pytest.mark.parametrize("lesson", MODULES)
def test_assignments_have_one_point_per_exercise_and_their_solutions_pass(lesson):
    notebook = assignments.assignment(claims.jupytext.reads(text_of(lesson), fmt="py:percent"))
    cells = [cell for cell in notebook.cells if "nbgrader" in cell.metadata]
    marks = [cell.metadata["nbgrader"] for cell in cells]
    expected = [f"exercise-{number.replace('.', '-')}" for number in lessons.numbers(lesson)]
    assert [mark["grade_id"] for mark in marks if mark["grade"]] == expected
    assert sum(mark.get("points", 0) for mark in marks) == len(expected)
    assert [mark["solution"] for mark in marks] == [True, False] * len(expected)
    assert "Solutions:" not in "".join(cell.source for cell in notebook.cells)
    names = {"np": np, "keras": keras, "ops": keras.ops, "kerastrans": kerastrans}
    exec("\n".join(cell.source for cell in cells), names)
    assert names["verdict"]


@pytest.mark.parametrize(
    ("number", "seen"),
    [
        ("2.1", "def attention(queries, keys, values, mask):\n"),
        ("2b.2", "class MultiHeadAttention(keras.layers.Layer):\n"),
        ("3.1", '# "larger", "much smaller", "the same"\n'),
    ],
)
def test_students_see_the_name_of_an_answer_and_not_its_code(number, seen):
    stub = 'prediction = ...  # "larger", "much smaller", "the same"'
    answer = assignments.graded(number, "prediction", stub)[0].source
    before, _, hidden = answer.partition("### BEGIN SOLUTION")
    assert before.startswith(seen)
    assert seen.startswith("#") or claims.flat(find_exercise(number).task) in claims.flat(before)
    assert hidden.rstrip().endswith("### END SOLUTION")
    assert before.rpartition("\n")[2] == hidden.rpartition("\n")[2].partition("#")[0]  # indented


def test_assignments_contain_their_pictures():
    notebook = assignments.assignment(claims.jupytext.reads(text_of("2"), fmt="py:percent"))
    cells = [cell for cell in notebook.cells if "attachments" in cell]
    assert [list(cell.attachments) for cell in cells] == [["head.svg"], ["heads.svg"]]
    for cell, name in zip(cells, ("head.svg", "heads.svg"), strict=True):
        assert f"](attachment:{name})" in cell.source
        content = cell.attachments[name]["image/svg+xml"]
        assert base64.b64decode(content).startswith(b"<svg")


def test_assignment_of_the_capstone_has_twenty_points():
    notebook = assignments.assignment(claims.jupytext.read(NOTEBOOKS / "10_capstone.py"))
    cells = [cell for cell in notebook.cells if "nbgrader" in cell.metadata]
    marks = [cell.metadata["nbgrader"] for cell in cells]
    assert [mark["grade_id"] for mark in marks] == [
        "capstone-work",
        "capstone-explanation",
        "capstone",
    ]
    assert [mark.get("points", 0) for mark in marks] == [0, 2, 18]
    assert "# promotion_effect: 0.1 if a promotion adds 10 %" in cells[0].source
    assert "Which inputs" in notebook.cells[notebook.cells.index(cells[1]) - 1].source
    names = {"kerastrans": kerastrans}
    exec(cells[0].source, names)
    assert eval(cells[2].source, names) == 0


def test_lesson_without_its_extra_names_it(monkeypatch):
    cells = claims.jupytext.reads(text_of("7"), fmt="py:percent").cells
    imports = next(c.source for c in cells if "import tensorflow" in c.source)
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    with pytest.raises(ImportError, match=r'pip install "\.\[tensorflow\]" in a clone'):
        exec(imports.replace("%matplotlib inline", ""), {})


@pytest.mark.parametrize("lesson", MODULES)
def test_first_cell_installs_a_wheel_and_knows_its_release(lesson, monkeypatch, capsys):
    code = text_of(lesson).partition("\n# %%\n")[2].partition("\n# %%")[0]
    exec(code, {})
    assert capsys.readouterr().out == ""  # this release is not older than the lesson
    assert code == text_of("1").partition("\n# %%\n")[2].partition("\n# %%")[0]

    commands = []
    monkeypatch.setattr("subprocess.run", lambda command, check: commands.append(command))
    monkeypatch.setattr(kerastrans, "__version__", "0.1.9")
    exec(code.replace('WHEEL = ""', 'WHEEL = "a.whl"'), {})
    assert commands[0][1:] == ["-m", "pip", "install", "-q", "a.whl"]
    printed = capsys.readouterr().out
    assert printed == "This lesson is for kerastrans 0.2 or later; 0.1.9 is installed.\n"
