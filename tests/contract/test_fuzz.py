"""Forecasts of random forecasters change only if they must, see tools/checks/fuzz."""

import numpy as np
import pytest

from kerastrans import Forecaster
from tools.checks import fuzz
from tools.checks.fuzz.models import Recipe, draw_recipes, make_data

MODELS = 2


@pytest.mark.slow
@pytest.mark.parametrize("place", range(MODELS))
def test_relations_hold_for_random_forecasters(place):
    recipe = draw_recipes(MODELS, 5)[place]
    found, failed = fuzz.check(recipe)
    assert not failed, f'--recipe "{recipe}"\n' + "\n".join(failed.values())
    assert sum(not isinstance(x, str) for x in found.values()) > len(found) / 2


@pytest.mark.slow
def test_a_forecast_that_depends_on_the_order_of_rows_is_found(monkeypatch):
    predict = Forecaster.predict

    def depends(self, frame, **options):
        rows = predict(self, frame, **options)
        return rows.assign(nlinear=rows["nlinear"] + 1e-3 * frame["y"].iloc[0])

    monkeypatch.setattr(Forecaster, "predict", depends)
    names = ["rows in any order", "columns in any order"]
    assert list(fuzz.check(Recipe(), names)[1]) == names[:1]


def test_a_failure_is_made_smaller(monkeypatch):
    monkeypatch.setattr(fuzz, "fails", lambda recipe, name: "walk" in recipe.kinds)
    recipe = Recipe("tide", ("wave", "walk"), (1.0, 1e8), calendar=True, seed=3)
    assert fuzz.smaller(recipe, "alone") == Recipe(kinds=("walk",))


def test_recipes_differ_and_are_read_from_their_texts():
    recipes = draw_recipes(8, 0)
    assert recipes == draw_recipes(8, 0)
    assert len(set(recipes)) == 8
    assert [eval(str(x), {"Recipe": Recipe}) for x in recipes] == recipes
    data = make_data(Recipe(kinds=("late",), future=True))
    assert data.frame.groupby("unique_id")["y"].last().notna().all()
    assert np.isnan(data.frame["y"].iloc[-1])
