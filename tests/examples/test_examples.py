"""The examples run alone, small, without downloads and data, and have the form of keras.io's."""

import ast
import re
import runpy
from pathlib import Path

import pytest

from benchmarks.accuracy import example_scripts

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
HEADER = ("Title", "Author", "Date created", "Last modified", "Description", "Accelerator")
EXTRAS = {"many_series": "pyarrow", "browser": "onnxruntime", "ported_translation": "num2words"}
LONG = {"ported_lesson", "ported_translation"}  # by `make contract`
PORTED = [path.stem for path in EXAMPLES if path.stem.startswith("ported_")]


def marked(path):
    marks = [pytest.mark.exhaustive] if path.stem in LONG else []
    return pytest.param(path, marks=marks, id=path.stem)


@pytest.mark.slow
@pytest.mark.tensorflow
@pytest.mark.parametrize("path", list(map(marked, EXAMPLES)))
def test_it_runs_alone(path, tmp_path, monkeypatch, capsys):
    pytest.importorskip(EXTRAS.get(path.stem, "keras"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KERASTRANS_EXAMPLES", "small")
    monkeypatch.delenv("KERASTRANS_DATA_DIR", raising=False)
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_text_and_code_follow_in_turn(path):
    body = ast.parse(path.read_text()).body
    header = ast.get_docstring(ast.parse(path.read_text()))
    assert tuple(re.findall(r"^(.+?): ", header, re.M)) == HEADER
    texts = [x.value.value for x in body[1:] if _is_text(x)]
    headings = [re.match(r"\n## (.+)\n", text)[1] for text in texts]
    assert headings[0] == "Introduction"
    assert headings[-1] == "Conclusions"
    assert path.name in (path.parent / "README.md").read_text()


@pytest.mark.parametrize("script", PORTED)
def test_a_ported_script_is_shorter_than_what_it_replaces(script):
    by_hand, ported = (
        example_scripts.lines_of_variant(script, variant) for variant in ("by hand", "kerastrans")
    )
    assert 0 < ported < by_hand


def _is_text(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
