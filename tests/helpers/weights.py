"""Published weights that left the package, and that tests and benchmarks read from a folder."""

from pathlib import Path

FOLDER = Path(__file__).parents[1] / "fixtures" / "weights"
ZERO_1, FRACAST_0 = FOLDER / "kerastrans_zero", FOLDER / "fracast_0"
