"""Execute each notebook's text from a clean kernel and write it with its outputs.

The notebook stores a hash of its code and outputs, so that a change of either without a run is
noticed by the tests. Changes of the prose and of lines of comments need no run.

python -m tools.site.execute_notebooks [notebooks/05_forecasting.py ...]
python -m tools.site.execute_notebooks --since origin/main  # those whose text has changed
"""

import argparse
import hashlib
import json
import re
import subprocess
from pathlib import Path

import jupytext
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[2] / "notebooks"
COMMENT = re.compile(r"^ *#.*\n?", re.MULTILINE)


def main(arguments=None):
    """Execute the notebooks that are named, or those that have changed, or all."""
    parser = argparse.ArgumentParser(prog="python -m tools.site.execute_notebooks")
    parser.add_argument("texts", nargs="*", type=Path, help="default: all")
    parser.add_argument("--since", metavar="COMMIT", help="only texts that differ from a commit")
    given = parser.parse_args(arguments)
    if given.texts and given.since:
        parser.error("--since cannot be combined with names of texts")
    for text in changed_since(given.since) if given.since else given.texts or texts():
        execute(text)


def texts(folder=FOLDER):
    """The texts of all notebooks of a folder."""
    return sorted(folder.glob("*.py"))


def changed_since(commit, folder=FOLDER):
    """The texts of a folder that differ from a commit, or are new."""
    commands = (
        ["diff", "--name-only", "--relative", commit, "--", "*.py"],
        ["ls-files", "--others", "--exclude-standard", "--", "*.py"],
    )
    names = set()
    for command in commands:
        git = ["git", "-C", str(folder), *command]
        names |= set(subprocess.run(git, capture_output=True, text=True, check=True).stdout.split())
    return [text for text in texts(folder) if text.name in names]


def execute(text):
    """Execute one text, write its notebook, and print the CPU seconds."""
    notebook = jupytext.read(text)
    before = _seconds()
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(FOLDER)}}).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # times, which differ from run to run
        # What libraries say of this machine on stderr is not part of the lesson.
        outputs = cell.get("outputs", [])
        outputs[:] = [o for o in outputs if not is_noise(o)]
    write_with_hash(notebook, text.with_suffix(".ipynb"))
    print(f"executed {text}: {_seconds() - before:.0f} s of CPU", flush=True)


def write_with_hash(notebook, path):
    """Write an executed notebook, and the hash of its code and outputs in its metadata."""
    jupytext.write(notebook, path)
    notebook = jupytext.read(path)  # as a file has it: a text of many lines is a list
    notebook.metadata["executed"] = hash_of(notebook)
    jupytext.write(notebook, path)


def hash_of(notebook):
    """Return the SHA-256 of all code cells and their outputs, as hexadecimal digits."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    hashed = [(COMMENT.sub("", cell.source), cell.get("outputs", [])) for cell in cells]
    return hashlib.sha256(json.dumps(hashed, sort_keys=True).encode()).hexdigest()


def _seconds():
    """CPU seconds of all kernels that have ended, over all cores."""
    import resource  # Windows has none, and the hashes are checked there too

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def is_noise(output):
    """Whether an output is a library's note on its own doings, or on this machine."""
    library = ("INFO:tensorflow", "WARNING:tensorflow")
    return output.get("name") == "stderr" or output.get("text", "").startswith(library)


if __name__ == "__main__":
    main()
