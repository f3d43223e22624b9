"""Fill the tables of README.md and of pages in docs/, between their comments.

python tools/readme_tables.py
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

import accuracy_tables as accuracy  # noqa: E402 (they import from the benchmarks)
import measured_table  # noqa: E402
import report  # noqa: E402
import speed_tables as speed  # noqa: E402


def main():
    for page in tables():
        path = ROOT / page
        path.write_text(filled(page))


def tables():
    """The functions that make each page's tables, by the names in its comments."""
    return {
        "README.md": {"measured": measured_table.measured},
        "docs/guide/choose-a-model.md": {"tasks": accuracy.tasks},
        "docs/benchmarks.md": {
            "demo": accuracy.demo,
            "long_horizon": accuracy.long_horizon,
            "architectures": accuracy.architectures,
            "intervals": accuracy.intervals,
            "forecaster": accuracy.forecaster,
            "presets": accuracy.trained,
            "translation": accuracy.translation,
            "latency": speed.latency,
            "training": speed.training,
            "default_sizes": speed.default_sizes,
            "decoding": speed.decoding,
            "runtimes": speed.runtimes,
            "imports": speed.imports,
            "sizes": speed.sizes,
            "serving": speed.served,
        },
    }


def filled(page):
    """The text of a page with its tables made anew."""
    text = (ROOT / page).read_text()
    for tag, table in tables()[page].items():
        marked = f"<!-- {tag} -->\n{report.markdown(table())}\n<!-- /{tag} -->"
        text, count = re.subn(
            rf"<!-- {tag} -->.*?<!-- /{tag} -->", lambda _, m=marked: m, text, flags=re.S
        )
        if count != 1:
            raise SystemExit(f"{page} has {count} places for the table {tag}, wanted 1.")
    return text


if __name__ == "__main__":
    main()
