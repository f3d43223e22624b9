"""Execute each notebook's text from a clean kernel and write it with its outputs.

python -m tools.site.execute_notebooks [notebooks/05_forecasting.py ...]
"""

import sys
from pathlib import Path

import jupytext
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[2] / "notebooks"


def main(texts):
    for text in texts or sorted(FOLDER.glob("*.py")):
        notebook = jupytext.read(text)
        NotebookClient(
            notebook, timeout=180, resources={"metadata": {"path": str(FOLDER)}}
        ).execute()
        for cell in notebook.cells:
            cell.metadata.pop("execution", None)  # times, which differ from run to run
            # What libraries say of this machine on stderr is not part of the lesson.
            outputs = cell.get("outputs", [])
            outputs[:] = [o for o in outputs if not is_noise(o)]
        jupytext.write(notebook, Path(text).with_suffix(".ipynb"))
        print(f"executed {text}")


def is_noise(output):
    """Whether an output is a library's note on its own doings, or on this machine."""
    return output.get("name") == "stderr" or output.get("text", "").startswith("INFO:tensorflow")


if __name__ == "__main__":
    main(sys.argv[1:])
