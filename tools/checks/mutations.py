"""Change one line at a time, and check that the quick tests of its room fail.

    KERAS_BACKEND=jax python -m tools.checks.mutations [--only TEXT]

The mutants are in mutants.toml, and the results are written to benchmarks/results/mutants.csv.
"""

import argparse
import csv
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
MUTANTS = Path(__file__).with_name("mutants.toml")
RESULTS = ROOT / "benchmarks" / "results" / "mutants.csv"
MIN_KILLED = 28
PYTEST = ("-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="run the mutants of files with this text")
    only = parser.parse_args().only
    mutants = [mutant for mutant in read_mutants() if only in mutant["file"]]
    with tempfile.TemporaryDirectory() as parent:
        copy = Path(parent, "copy")
        copy_checkout(copy)
        for tests in dict.fromkeys(tuple(mutant["tests"]) for mutant in mutants):
            failed = run_tests(copy, tests)
            if failed is not None:
                raise SystemExit(f"{', '.join(tests)} fails without a mutant: {failed}")
        rows = [run_mutant(copy, mutant) for mutant in mutants]
    killed = sum(row["killed_by"] != "" for row in rows)
    print(f"{killed} of {len(rows)} mutants are killed")
    if not only:
        with RESULTS.open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        if killed < MIN_KILLED:
            raise SystemExit(f"at least {MIN_KILLED} must be killed")


def read_mutants():
    """Return the mutants as dicts of "file", "line", "mutant" and "tests".

    Raises:
        ValueError: If a line is not exactly once in its file.
    """
    mutants = tomllib.loads(MUTANTS.read_text())["mutants"]
    for mutant in mutants:
        count = (ROOT / mutant["file"]).read_text().count(mutant["line"])
        if count != 1:
            raise ValueError(f"{mutant['file']} has {mutant['line']!r} {count} times, not once.")
    return mutants


def copy_checkout(target):
    """Copy the files of the checkout that git knows."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in names.splitlines():
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name)


def run_mutant(copy, mutant):
    """Run the tests of a mutant, and return its row of results."""
    path = copy / mutant["file"]
    text = path.read_text()
    path.write_text(text.replace(mutant["line"], mutant["mutant"]))
    try:
        failed = run_tests(copy, mutant["tests"])
    finally:
        path.write_text(text)
    print(f"{mutant['file']}: {mutant['mutant'].strip()}: {failed or 'SURVIVED'}", flush=True)
    row = {name: mutant[name].strip() for name in ("file", "line", "mutant")}
    return row | {"killed_by": failed or ""}


def run_tests(copy, tests):
    """Return the name of the first test that fails in a copy of the checkout, or None.

    Slow tests of a file run only if they are named, as "file::test".
    """
    quick = () if any("::" in test for test in tests) else ("-m", "not slow")
    command = [sys.executable, *PYTEST, *quick, *tests]
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        command, cwd=copy, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode == 0:
        return None
    found = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return found[1] if found else done.stdout.strip().splitlines()[-1]


if __name__ == "__main__":
    main()
