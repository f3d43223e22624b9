"""Fill the tables of README.md and of pages in docs/, between their comments, and their counts.

python -m tools.tables.readme [pages]
"""

import re
import sys
from functools import partial
from pathlib import Path

from benchmarks.accuracy import changed, coverage_report, fair_report
from benchmarks.common import markdown
from tools.tables import accuracy, measured, names, speed

ROOT = Path(__file__).parents[2]


def main():
    for page in sys.argv[1:] or tables():
        path = ROOT / page
        path.write_text(filled(page))


def tables():
    """The functions that make each page's tables, by the names in its comments."""
    return {
        "README.md": {"measured": measured.measured},
        "docs/index.md": {},
        "docs/parts.md": {},
        "docs/how/heads.md": {"heads": names.heads},
        "docs/guide/models.md": {"kinds": names.kinds},
        "docs/guide/choose-a-model.md": {
            "tasks": accuracy.tasks,
            "transformer_summary": accuracy.transformer_summary,
        },
        "docs/guide/ported-scripts.md": {
            "ported_scripts": accuracy.ported_scripts,
            "early_stopping": accuracy.early_stopping,
        },
        "docs/guide/leaderboards.md": {"fev_tasks": accuracy.fev_tasks},
        "docs/comparison.md": {
            "fair": fair_report.comparison,
            "fair_established": fair_report.established,
            "fair_etth1": partial(fair_report.horizons, "etth1"),
            "fair_etth2": partial(fair_report.horizons, "etth2"),
            "fair_ettm1": partial(fair_report.horizons, "ettm1"),
            "fair_weather": partial(fair_report.horizons, "weather"),
            "fair_exchange_rate": partial(fair_report.horizons, "exchange_rate"),
            "fair_left_out": fair_report.left_out,
        },
        "docs/deviations.md": {"changed": changed.comparison},
        "docs/how/autoregressive.md": {
            "training_methods": accuracy.training_methods,
            "token_values": accuracy.token_values,
        },
        "docs/how/intervals.md": {
            "coverage": coverage_report.summary,
            "coverage_missed": coverage_report.missed,
            "fallback": coverage_report.few_rows,
        },
        "docs/benchmarks.md": {
            "demo": accuracy.demo,
            "long_horizon": accuracy.long_horizon,
            "illness": accuracy.illness,
            "reached": accuracy.reached,
            "architectures": accuracy.architectures,
            "transformers": accuracy.transformers,
            "transformer_summary": accuracy.transformer_summary,
            "intervals": accuracy.intervals,
            "forecaster": accuracy.forecaster,
            "presets": accuracy.trained,
            "translation": accuracy.translation,
            "latency": speed.latency,
        },
        "docs/speed.md": {
            "training": speed.training,
            "default_sizes": speed.default_sizes,
            "paper_sizes": speed.paper_sizes,
            "decoding": speed.decoding,
            "prompts": speed.prompts,
            "sampling": speed.sampling,
            "generation_parts": speed.generation_parts,
            "runtimes": speed.runtimes,
            "imports": speed.imports,
            "step_parts": speed.step_parts,
            "cold_start": speed.cold_start,
            "pretrained_speed": speed.pretrained_speed,
            "reading": speed.reading,
            "sizes": speed.sizes,
            "serving": speed.served,
        },
    }


def filled(page):
    """The text of a page with its tables and the number of architectures made again."""
    text = (ROOT / page).read_text()
    text = re.sub(r"\d+ architectures and \d+ baselines", names.count(), text)
    for tag, table in tables()[page].items():
        marked = f"<!-- {tag} -->\n{markdown(table())}\n<!-- /{tag} -->"
        text, count = re.subn(
            rf"<!-- {tag} -->.*?<!-- /{tag} -->", lambda _, m=marked: m, text, flags=re.S
        )
        if count != 1:
            raise SystemExit(f"{page} has {count} places for the table {tag}, expected 1.")
    return text


if __name__ == "__main__":
    main()
