"""Figures of the pages are those of the committed results."""

import re

import pandas as pd

from benchmarks.accuracy.long_horizon_report import compare, summarise
from benchmarks.common import HERE, RESULTS


def test_effects_of_deviations_are_the_ratios_of_the_results():
    ours = pd.read_csv(RESULTS / "long_horizon.csv")
    table = summarise(compare(ours, pd.read_csv(HERE / "published.csv")), ours)
    table = table[(table["dataset"] == "etth1") & table["ratio"].notna()]
    table = table.sort_values("horizons", kind="stable")  # the most of several contexts
    measured = {
        name: f"ratio {ratio:.3f}"
        for name, ratio in zip(table["model"], table["ratio"], strict=True)
    }
    page = (HERE.parent / "docs/deviations.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \|.*\| ([^|]*) \|$", page, re.M)
    stated = {
        name: match[0] for name, text in rows if (match := re.search(r"ratio [\d.]+\d", text))
    }
    assert stated == measured
