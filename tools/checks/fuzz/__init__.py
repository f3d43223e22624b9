"""Draw forecasters at random and check what their forecasts must do if the data are changed.

    KERAS_BACKEND=jax python -m tools.checks.fuzz --models 100

Forecasters are those of `models`, relations those of the modules named after them. Each forecaster
is one row of benchmarks/results/fuzz.csv, with the largest difference of every relation, in units
of the amplitudes of the series; "-" where it does not apply. What is in the table is not run again;
a new relation is checked for all recipes, in rows of their own. With `--minimise`, the recipe of a
failure is given back its defaults as long as it fails.

    python -m tools.checks.fuzz --relation "last rows only" --recipe "Recipe(model='tide')"

The counts are in the table of docs/doors.md.
"""

import argparse
import csv
import traceback
from collections import Counter, defaultdict
from dataclasses import fields, replace
from pathlib import Path

import keras

from tools.checks.fuzz import copy_relations, data_relations, forecast_relations
from tools.checks.fuzz.case import RELATIONS, Case, measure
from tools.checks.fuzz.models import DEFAULTS, Recipe, draw_recipes

MODULES = data_relations, forecast_relations, copy_relations  # which fill `RELATIONS`
ROOT = Path(__file__).parents[3]
RESULTS = ROOT / "benchmarks" / "results" / "fuzz.csv"
PAGE = ROOT / "docs" / "doors.md"
COLUMNS = "seed", "number", "backend", "recipe", "refused", *RELATIONS


def check(recipe, names=None):
    """Return a dict of relations -> difference or reason, and a dict of those that fail -> text.

    Raises:
        ValueError: If the options of the recipe cannot be combined.
    """
    case, found, failed = Case(recipe), {}, {}
    for name in names or RELATIONS:
        try:
            found[name] = measure(case, name)
        except Exception:
            found[name] = float("inf")
            failed[name] = traceback.format_exc(limit=-3)
        if not isinstance(found[name], str) and not found[name] <= RELATIONS[name][1]:
            failed.setdefault(name, f"{found[name]:.1e}, at most {RELATIONS[name][1]:.0e}")
    return found, failed


def fails(recipe, name):
    """Return whether a relation fails for a recipe."""
    try:
        return name in check(recipe, [name])[1]
    except ValueError:  # the options cannot be combined
        return False


def smaller(recipe, name):
    """Return the recipe of a failure with as many defaults as possible."""
    for number in range(len(recipe.kinds)):  # one series beside the first
        one = replace(
            recipe, kinds=recipe.kinds[number:][:1], magnitudes=recipe.magnitudes[number:][:1]
        )
        if len(recipe.kinds) > 1 and fails(one, name):
            recipe = one
            break
    for field in fields(recipe):
        if field.name in ("kinds", "magnitudes") and len(recipe.kinds) > 1:
            continue
        simple = replace(recipe, **{field.name: DEFAULTS[field.name]})
        if simple != recipe and fails(simple, name):
            recipe = simple
    return recipe


def read_rows():
    """Return the rows of the table, a list of dicts."""
    if not RESULTS.is_file():
        return []
    with RESULTS.open(newline="") as file:
        return list(csv.DictReader(file))


def write_rows(rows, mode="w"):
    """Write the table, or add rows to it."""
    with RESULTS.open(mode, newline="") as file:
        writer = csv.DictWriter(
            file, COLUMNS, restval="", extrasaction="ignore", lineterminator="\n"
        )
        if mode == "w":
            writer.writeheader()
        writer.writerows(rows)


def run(recipes, number, minimise):
    """Check the recipes of a seed that are not in the table; return the number of failures."""
    backend, done, count = keras.backend.backend(), defaultdict(set), 0
    rows = read_rows()
    if not rows or tuple(rows[0]) != COLUMNS:  # there are other relations
        write_rows(rows)
    for row in rows:
        key = row["backend"], row["recipe"]
        done[key] |= {x for x in RELATIONS if row["refused"] or row.get(x)}
    for place, recipe in enumerate(recipes):
        names = [x for x in RELATIONS if x not in done[backend, str(recipe)]]
        if not names:
            continue
        row = {"seed": number, "number": place, "backend": backend, "recipe": str(recipe)}
        try:
            found, failed = check(recipe, names)
        except ValueError as error:
            write_rows([row | {"refused": str(error)}], "a")
            print(f"{number}.{place} {recipe}: refused, {error}", flush=True)
            continue
        row |= {x: "-" if isinstance(y, str) else f"{y:.0e}" for x, y in found.items()}
        write_rows([row], "a")
        print(f"{number}.{place} {recipe}: {len(failed)} of {len(found)} failed", flush=True)
        for name, text in failed.items():
            least = smaller(recipe, name) if minimise else recipe
            print(f'{text}\n    --relation "{name}" --recipe "{least}"', flush=True)
        count += len(failed)
    return count


def write_page():
    """Write how often each relation held between the marks of the page."""
    rows = [row for row in read_rows() if not row["refused"]]
    lines = ["| relation | held | does not apply | largest difference |", "|---|---|---|---|"]
    for name, (_, limit) in RELATIONS.items():
        cells = [row[name] for row in rows if row[name]]
        numbers = [float(cell) for cell in cells if cell != "-"]
        held = sum(x <= limit for x in numbers)
        counts = Counter(cells)
        most = f"{max(numbers):.0e}" if numbers else ""
        lines.append(f"| {name} | {held} of {len(numbers)} | {counts['-']} | {most} |")
    head, rest = PAGE.read_text().split("<!-- fuzz -->\n")
    tail = rest.split("<!-- /fuzz -->")[1]
    table = "\n".join(lines)
    PAGE.write_text(f"{head}<!-- fuzz -->\n{table}\n<!-- /fuzz -->{tail}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=int, default=100, help="number of forecasters")
    parser.add_argument("--seed", type=int, default=0, help="seed of the recipes")
    parser.add_argument("--minimise", action="store_true", help="make failures smaller")
    parser.add_argument("--relation", help="check this relation only, and write nothing")
    parser.add_argument("--recipe", help="of this recipe")
    parser.add_argument("--page", action="store_true", help="write the table of the page only")
    options = parser.parse_args()
    if options.recipe:
        names = [options.relation] if options.relation else None
        found, failed = check(eval(options.recipe, {"Recipe": Recipe}), names)
        print(found, *failed.values(), sep="\n")
        raise SystemExit(bool(failed))
    recipes = [] if options.page else draw_recipes(options.models, options.seed)
    count = run(recipes, options.seed, options.minimise)
    write_page()
    if count:
        raise SystemExit(f"{count} relations failed")
