"""Architectures return the numbers of published implementations, see `tests.helpers.parity`."""

import os
import re
from pathlib import Path

import keras
import pytest

from kerastrans import zoo
from tests.helpers import parity

QUICK = ("dlinear", "patchtst")

if not parity.cases():
    if parity.GIVEN in os.environ:
        raise FileNotFoundError(f"{parity.GIVEN}={str(parity.ROOT)!r} has no case of a model")
    pytest.skip(f"no cases of architectures in {parity.ROOT}", allow_module_level=True)


def all_cases():
    """Return all cases of the fixtures; all but the quick ones are slow."""
    found = []
    for folder, case in parity.cases():
        marks = [] if folder.name in QUICK else [pytest.mark.slow]
        found.append(pytest.param(folder, case, id=f"{folder.name}-{case}", marks=marks))
    return found


@pytest.fixture
def found(folder, case):
    if parity.architecture_of(folder) not in zoo.names():
        pytest.skip(f"kerastrans has no architecture {folder.name!r}")
    assert keras.config.dtype_policy().name == "float32"
    return parity.compare(folder, case)


@pytest.mark.parametrize("mode", parity.MODES)
@pytest.mark.parametrize(("folder", "case"), all_cases())
@pytest.mark.filterwarnings("ignore:Gradients do not exist for variables")
def test_forecasts_are_those_of_the_published_model(found, folder, case, mode):
    assert found.differences[mode] <= parity.read(folder, case).limit


@pytest.mark.parametrize(("folder", "case"), all_cases())
def test_number_of_trainable_parameters_is_that_of_the_published_model(found):
    assert found.ours == found.official


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("features", "MS", "features='MS' cannot be expressed"),
        ("activation", "relu", "activation='relu' cannot be expressed"),
        ("unheard_of", 1, r"settings without an argument of ours: \['unheard_of'\]"),
    ],
)
def test_a_configuration_that_cannot_be_expressed_fails_with_its_name(key, value, message):
    case = parity.read(parity.OWN / "timexer", "not_standardized")
    case.facts["configuration"] |= {key: value}
    with pytest.raises((AssertionError, ValueError), match=message):
        parity.compare_case(case)


def test_weights_are_used_once_and_dropped_for_a_reason_only():
    case = parity.read(parity.OWN / "timexer", "not_standardized")
    official = parity.Official(case.weights, case.facts)
    with pytest.raises(AssertionError, match="official weights without one of ours"):
        official.check_all_used()
    official.take("encoder.norm.weight")
    with pytest.raises(AssertionError, match=r"encoder\.norm\.weight is used twice"):
        official.take("encoder.norm.weight")
    with pytest.raises(AssertionError, match=r"encoder\.norm\.bias has an effect and is dropped"):
        official.drop("encoder.norm.bias")


def test_the_registry_has_the_license_of_the_published_code():
    for folder, case in parity.cases():
        name = parity.architecture_of(folder)
        if name in zoo.names():
            assert parity.read(folder, case).source["licence"].split()[0] == zoo.info(name).license


@pytest.mark.skipif(parity.GIVEN in os.environ, reason="the table has the cases of ../shared")
def test_the_table_of_the_docs_has_all_cases():
    page = (Path(__file__).parents[2] / "docs" / "parity.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \|", page, re.MULTILINE)
    found = [*parity.cases(), *parity.cases(parity.OWN)]
    assert sorted(rows) == sorted((parity.architecture_of(folder), case) for folder, case in found)
