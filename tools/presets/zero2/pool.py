"""Draw a pool of windows, in pieces that depend on the seed alone, and read it by memory map.

    python -m tools.presets.zero2.pool --pieces 16 --seed 0

A piece holds about 15,000 windows, in files by the length that the network reads them at. Pieces
that are there are not drawn again. The pool is not under version control.
"""

import argparse
from functools import partial
from pathlib import Path

import numpy as np

from tools.presets.synthetic import synthetic_series
from tools.presets.zero2.families import draw_series
from tools.presets.zero2.strata import draw_span
from tools.presets.zero_windows import make

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "build" / "zero2" / "pool"
LENGTHS = (256, 512, 1024)
ROUNDS = 50  # of 60 series with one span, a piece
# All families, the six of version 1, or all with larger shares of some.
SOURCES = ("families", "version1", "prices")
MORE = {"prices": 2 * ("prices", "regimes", "evolving_seasons")}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pieces", type=int, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--source", choices=SOURCES, default=SOURCES[0])
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--first", type=int, default=0, help="piece to begin with")
    options = parser.parse_args()
    for piece in range(options.first, options.first + options.pieces):
        draw_piece(options.folder, options.source, options.seed, piece)


def draw_piece(folder, source, seed, piece, rounds=ROUNDS):
    """Draw a piece, unless it is there; return the paths of its files by their lengths."""
    paths = {n: folder / f"{source}-{seed}-{piece:04}-{n}.npy" for n in LENGTHS}
    if not all(path.is_file() for path in paths.values()):
        folder.mkdir(parents=True, exist_ok=True)
        windows = draw_windows(source, (seed, piece, SOURCES.index(source)), rounds)
        for length, path in paths.items():
            part = path.with_suffix(".part")
            with part.open("wb") as file:
                np.save(file, windows[length])
            part.replace(path)
    return paths


def draw_windows(source, seed, rounds):
    """Windows by the length that holds them, arrays of records, see `record`."""
    rng = np.random.default_rng(seed)
    found = {length: [] for length in LENGTHS}
    for _ in range(rounds):
        if source == "version1":
            windows = make(rng, LENGTHS[-1], synthetic_series)
        else:
            draw = partial(draw_series, more=MORE.get(source, ()))
            windows = make(rng, LENGTHS[-1], draw, draw_span(rng))
        for values, observed, steps, targets in windows:
            size = len(observed) - int(np.argmax(observed > 0))
            length = next(n for n in LENGTHS if n >= size)
            values = np.where(observed > 0, values, np.nan)[-length:]
            found[length].append((values, steps, targets))
    return {n: np.array(rows, record(n, len(steps))) for n, rows in found.items()}


def record(length, steps):
    """Values, NaN where missing; some steps ahead; their targets and the units of their errors."""
    shapes = {"values": (length,), "steps": (steps,), "targets": (steps, 2)}
    return np.dtype([(name, "f4", shape) for name, shape in shapes.items()])


def read_batches(paths, batch, rng):
    """All windows of pieces in random order: `(length, inputs, targets)` of one length each."""
    records = [{n: np.load(path, mmap_mode="r") for n, path in piece.items()} for piece in paths]
    for pieces in records:  # within a piece, so that its pages are read together
        batches = []
        for length, rows in pieces.items():
            order = rng.permutation(len(rows))
            batches += [(length, order[i : i + batch]) for i in range(0, len(rows), batch)]
        for place in rng.permutation(len(batches)):
            length, chosen = batches[place]
            if len(chosen) == batch:
                yield (length, *as_inputs(pieces[length][np.sort(chosen)]))


def as_inputs(rows):
    """`[values, observed, steps]` and targets of records."""
    observed = np.isfinite(rows["values"])
    values = np.where(observed, rows["values"], 0)
    return [values, observed.astype("float32"), rows["steps"]], rows["targets"]


if __name__ == "__main__":
    main()
