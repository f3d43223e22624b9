"""What an import costs, and what an installation weighs.

python -m benchmarks.speed.imports                # results/imports.json
python -m benchmarks.speed.imports --sizes        # and the size of each extra, as installed
"""

import argparse
import json
import re
import resource
import statistics
import subprocess
import sys
import time
import tomllib
from importlib import metadata
from pathlib import Path

from benchmarks.common import RESULTS
from kerastrans.utils.environment import environment

ROOT = Path(__file__).parents[2]
OUTPUT = RESULTS / "imports.json"
# Seconds of the processor: on a busy machine the clock measures the others.
IMPORT = """
import time
start = time.process_time()
import keras
between = time.process_time()
import kerastrans
print(between - start, time.process_time() - between)
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--sizes", action="store_true")
    options = parser.parse_args()
    pairs = [_imports() for _ in range(options.repeats)]
    keras, ours = (statistics.median(column) for column in zip(*pairs, strict=True))
    command = [sys.executable, "-m", "kerastrans.cli.main", "--help"]
    times = [_seconds(command) for _ in range(options.repeats)]
    result = {
        "import keras": round(keras, 3),
        "import kerastrans after it": round(ours, 3),
        "kerastrans --help": round(statistics.median(cpu for cpu, _ in times), 3),
        "kerastrans --help, fastest by the clock": round(min(wall for _, wall in times), 3),
        "repeats": options.repeats,
    }
    if options.sizes:
        result["megabytes"] = sizes()
    elif OUTPUT.is_file():
        result["megabytes"] = json.loads(OUTPUT.read_text())["megabytes"]
    OUTPUT.write_text(json.dumps({**result, "environment": environment()}, indent=2) + "\n")
    print(OUTPUT.read_text())


def _imports():
    done = subprocess.run(
        [sys.executable, "-c", IMPORT], check=True, capture_output=True, text=True
    )
    return tuple(map(float, done.stdout.split()))


def _seconds(command):
    """Seconds of the processor and of the clock."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, time.perf_counter() - started


def sizes():
    """Megabytes of the package with all it needs, and what each extra adds to that."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    base = _closure(project["dependencies"])
    own = sum(
        path.stat().st_size
        for folder in ("kerastrans", "saved_models")
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and "demo-" not in str(path)
    )
    weights = {"kerastrans itself": own, "with all it needs": own + sum(map(_weight, base))}
    for extra in ("jax", "torch", "hub", "text", "tune", "onnx", "serve", "scale"):
        added = _closure(project["optional-dependencies"][extra]) - base
        weights[f"extra {extra}"] = sum(map(_weight, added))
    return {name: round(size / 1e6, 1) for name, size in weights.items()}


def _closure(requirements):
    """Names of the installed distributions that these requirements bring, markers obeyed."""
    from packaging.requirements import Requirement

    found, waiting = set(), [(Requirement(text), [""]) for text in requirements]
    while waiting:
        requirement, extras = waiting.pop()
        marker = requirement.marker
        if marker and not any(marker.evaluate({"extra": extra}) for extra in extras):
            continue
        name = re.sub(r"[-_.]+", "-", requirement.name).lower()
        if name not in found:
            found.add(name)
            own = ["", *requirement.extras]
            waiting += [(Requirement(text), own) for text in metadata.requires(name) or ()]
    return found


def _weight(name):
    """Bytes of the files that a distribution has installed."""
    files = metadata.files(name) or ()
    paths = (Path(file.locate()) for file in files if file.suffix != ".pyc")
    return sum(path.stat().st_size for path in paths if path.is_file())


if __name__ == "__main__":
    main()
