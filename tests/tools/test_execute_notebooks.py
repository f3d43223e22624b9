"""Which notebooks `--since` executes, and what the hash of a notebook covers."""

import subprocess

import nbformat
import pytest

pytest.importorskip("jupytext", reason="the extra dev is not installed")
import jupytext

from tools.site import execute_notebooks


def git(folder, *command):
    identity = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(folder), *identity, *command], check=True, capture_output=True)


def test_changed_and_new_texts_are_found(tmp_path):
    folder = tmp_path / "notebooks"
    folder.mkdir()
    for name in ("01_a.py", "02_b.py", "03_c.py"):
        (folder / name).write_text("1\n")
    git(tmp_path, "init")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "first")
    (folder / "02_b.py").write_text("2\n")
    (folder / "03_c.py").unlink()
    (folder / "04_d.py").write_text("4\n")
    (tmp_path / "05_e.py").write_text("not a notebook\n")
    found = execute_notebooks.changed_since("HEAD", folder)
    assert [text.name for text in found] == ["02_b.py", "04_d.py"]


def test_names_and_since_are_refused_together(capsys):
    with pytest.raises(SystemExit):
        execute_notebooks.main(["a.py", "--since", "HEAD"])
    assert "--since cannot be combined with names of texts" in capsys.readouterr().err


def test_changed_code_and_changed_outputs_have_another_hash(tmp_path):
    text = "# %% [markdown]\n# Two\n\n# %%\n# Prints\nprint(2)\n"
    notebook = jupytext.reads(text, fmt="py:percent")
    two = {"output_type": "stream", "name": "stdout", "text": "2\n"}
    notebook.cells[1].outputs = [nbformat.from_dict(two)]
    execute_notebooks.write_with_hash(notebook, tmp_path / "two.ipynb")
    written = jupytext.read(tmp_path / "two.ipynb")
    assert written.metadata["executed"] == execute_notebooks.hash_of(written)
    written.cells[0].source = "The number two"
    assert written.metadata["executed"] == execute_notebooks.hash_of(written)
    written.cells[1].source = "# Alt text: none\nprint(2)"
    assert written.metadata["executed"] == execute_notebooks.hash_of(written)
    written.cells[1].source = "print(1 + 1)"
    assert written.metadata["executed"] != execute_notebooks.hash_of(written)
    written.cells[1].update(source="print(2)", outputs=[])
    assert written.metadata["executed"] != execute_notebooks.hash_of(written)
