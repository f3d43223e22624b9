"""What a type checker is told of the public names; `make types` runs it on tests/typing."""

import inspect
from pathlib import Path

import pytest

import kerastrans
from kerastrans import backtesting, data, datasets, evaluation, heads, plotting, report, zoo
from kerastrans.evaluation import baselines
from tools.checks import stubs

ROOT = Path(__file__).parents[1]
NAMES = [name for name in kerastrans.__all__ if not inspect.ismodule(getattr(kerastrans, name))]
FUNCTIONS = {
    **{name: getattr(kerastrans, name) for name in NAMES},
    **{f"zoo.{name}": getattr(zoo, name) for name in zoo.__all__ if name != "Architecture"},
    **{f"datasets.{name}": getattr(datasets, name) for name in ("info", "load", "names")},
    **{
        f"{module.__name__}.{name}": getattr(module, name)
        for module, names in {
            backtesting: ("interval_levels", "observed_levels", "quantiles", "score", "score_all"),
            baselines: ("best_naive", "naive_backtests"),
            data: ("read_csv", "read_table"),
            evaluation: ("intermittent_backtests", "statistical_backtests"),
            heads: ("get", "names", "of"),
            plotting: ("plot_calibration", "plot_fan", "plot_forecast", "plot_residuals"),
            report: ("contamination_lines", "write_report"),
        }.items()
        for name in names
    },
    "backtesting.skill": backtesting.skill,
    **{
        f"Forecaster.{name}": method
        for name, method in inspect.getmembers(kerastrans.Forecaster, callable)
        if not name.startswith("_")
    },
}
SAMPLERS = ("BeamSampler", "GreedySampler", "RandomSampler")  # dataclasses: their fields are typed


def test_the_package_is_typed_and_its_stubs_are_current():
    assert (ROOT / "kerastrans" / "py.typed").is_file()
    made = stubs.stubs()
    assert set((ROOT / "kerastrans").rglob("*.pyi")) - set(made) == set(), "delete these stubs"
    old = [str(x) for x, text in made.items() if not x.is_file() or x.read_text() != text]
    assert old == [], "run python -m tools.checks.stubs"


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - set(SAMPLERS)))
def test_every_argument_of_a_public_name_has_a_type(name):
    function = FUNCTIONS[name]
    function = function.__init__ if inspect.isclass(function) else inspect.unwrap(function)
    signature = inspect.signature(function)
    untyped = [
        argument.name
        for argument in signature.parameters.values()
        if argument.annotation is argument.empty and argument.name not in ("self", "cls")
    ]
    assert untyped == []
    assert signature.return_annotation is not signature.empty
