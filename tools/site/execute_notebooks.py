"""Execute each notebook's text from a clean kernel and write it with its outputs.

python -m tools.site.execute_notebooks [notebooks/05_forecasting.py ...]
"""

import resource
import sys
from pathlib import Path

import jupytext
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[2] / "notebooks"


def main(texts):
    for text in texts or sorted(FOLDER.glob("*.py")):
        notebook = jupytext.read(text)
        before = _seconds()
        NotebookClient(
            notebook, timeout=600, resources={"metadata": {"path": str(FOLDER)}}
        ).execute()
        for cell in notebook.cells:
            cell.metadata.pop("execution", None)  # times, which differ from run to run
            # What libraries say of this machine on stderr is not part of the lesson.
            outputs = cell.get("outputs", [])
            outputs[:] = [o for o in outputs if not is_noise(o)]
        jupytext.write(notebook, Path(text).with_suffix(".ipynb"))
        print(f"executed {text}: {_seconds() - before:.0f} s of CPU", flush=True)


def _seconds():
    """CPU seconds of all kernels that have ended, over all cores."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def is_noise(output):
    """Whether an output is a library's note on its own doings, or on this machine."""
    library = ("INFO:tensorflow", "WARNING:tensorflow")
    return output.get("name") == "stderr" or output.get("text", "").startswith(library)


if __name__ == "__main__":
    main(sys.argv[1:])
