"""Scores of the examples that compare models: the ported scripts, and early stopping.

An example in `examples/` that ends with a frame `scores` (variant, seed, metric, value, weights) is
run, and its rows are added to results/example_scripts.csv. Examples that the table has are not run
again.

    KERASTRANS_DATA_DIR=../shared/data python -m benchmarks.accuracy.example_scripts

An hour on one core of a shared machine, on TensorFlow. `--names ported_weather` runs one of them.
"""

import argparse
import os
import re
import runpy
import tempfile
import time

from benchmarks.common import RESULTS, append_row, keys_of, names
from kerastrans.utils.environment import environment
from tools.checks.size import lines_of_code
from tools.site.scripts import SCRIPTS, page_of

EXAMPLES = SCRIPTS[0].parent
RESULT = RESULTS / "example_scripts.csv"
COLUMNS = ("script", "variant", "seed", "metric", "value", "weights")
SECTIONS = {"by hand": "By hand", "kerastrans": "With kerastrans"}  # of the scripts
COMPARED = [path for path in SCRIPTS if "\nscores = " in path.read_text("utf-8")]


def lines_of_variant(script, variant):
    """Lines of code of a variant's section in an example, None if it has no section."""
    if variant not in SECTIONS:
        return None
    page = page_of(EXAMPLES / f"{script}.py")
    section = re.search(rf"^## {SECTIONS[variant]}\n(.*?)^## ", page, re.DOTALL | re.MULTILINE)[1]
    return sum(map(lines_of_code, re.findall(r"^```python\n(.*?)^```", section, re.S | re.M)))


def run(path):
    """Run an example in an empty folder, and add its rows to the table."""
    with tempfile.TemporaryDirectory() as folder:
        before = os.getcwd()
        os.chdir(folder)
        try:
            scores = runpy.run_path(str(path), run_name="__main__")["scores"]
        finally:
            os.chdir(before)
    for row in scores.to_dict("records"):
        row |= {"script": path.stem, "value": f"{row['value']:.4g}"}
        append_row(RESULT, COLUMNS, row)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--names", type=names, default=None, help="comma-separated")
    options = parser.parse_args()
    for path in COMPARED:
        asked = options.names is None or path.stem in options.names
        if asked and (path.stem,) not in keys_of(RESULT, ["script"]):
            started = time.perf_counter()
            run(path)
            print(f"{path.stem}: {time.perf_counter() - started:.0f} s", flush=True)
    print(environment())


if __name__ == "__main__":
    main()
