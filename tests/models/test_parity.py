"""Architectures return the numbers of published implementations, see `tests.helpers.parity`."""

import re
from pathlib import Path

import keras
import pytest

from kerastrans import zoo
from tests.helpers import parity

QUICK = ("dlinear", "patchtst")


def all_cases():
    """Return all cases of the fixtures; PyTorch runs all when a change lands, others a few."""
    found = []
    for folder, case in parity.cases():
        marks = [] if folder.name in QUICK else [pytest.mark.slow, pytest.mark.exhaustive]
        found.append(pytest.param(folder, case, id=f"{folder.name}-{case}", marks=marks))
    return found


@pytest.fixture
def found(folder, case):
    assert keras.config.dtype_policy().name == "float32"
    return parity.compare(folder, case)


@pytest.mark.parametrize("mode", parity.MODES)
@pytest.mark.parametrize(("folder", "case"), all_cases())
@pytest.mark.filterwarnings("ignore:Gradients do not exist for variables")
def test_forecasts_are_those_of_the_published_model(found, folder, case, mode):
    assert found.differences[mode] <= parity.read(folder, case).limit


@pytest.mark.parametrize(
    ("folder", "case"),
    [
        pytest.param(folder, case, id=f"{folder.name}-{case}")
        for folder, case in parity.cases()
        if parity.SPREAD in parity.facts(folder, case)
    ],
)
@pytest.mark.slow
@pytest.mark.exhaustive
def test_dropout_spreads_forecasts_as_that_of_the_published_model(folder, case):
    expected = parity.facts(folder, case)[parity.SPREAD]
    found = parity.spread(parity.read(folder, case), parity.RATE)
    assert found == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize(("folder", "case"), all_cases())
def test_number_of_trainable_parameters_is_that_of_the_published_model(found):
    assert found.ours == found.official


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("features", "S", "features='S' cannot be expressed"),
        ("activation", "relu", "activation='relu' cannot be expressed"),
        ("unheard_of", 1, r"settings without an argument of ours: \['unheard_of'\]"),
    ],
)
def test_a_configuration_that_cannot_be_expressed_fails_with_its_name(key, value, message):
    case = parity.read(parity.ROOT / "timexer", "not_standardized")
    case.facts["configuration"] |= {key: value}
    with pytest.raises((AssertionError, ValueError), match=message):
        parity.compare_case(case)


@pytest.mark.parametrize(
    ("name", "case", "key", "value"),
    [
        ("wpmixer", "haar", "wavelet", "coif5"),
        ("duet", "one_channel", "noisy_gating", False),
        ("timemixer", "not_standardized", "down_sampling_method", "conv"),
        ("timemixer", "not_standardized", "decomp_method", "dft_decomp"),
    ],
)
@pytest.mark.slow
def test_an_option_that_cannot_be_expressed_fails_with_its_name(name, case, key, value):
    case = parity.read(parity.ROOT / name, case)
    case.facts["configuration"] |= {key: value}
    with pytest.raises(AssertionError, match=f"{key}={value!r} cannot be expressed"):
        parity.compare_case(case)


def test_weights_are_used_once_and_dropped_for_a_reason_only():
    case = parity.read(parity.ROOT / "timexer", "not_standardized")
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
        licence = parity.read(folder, case).source["licence"]
        known = "" if licence.startswith("none") else licence.split()[0]
        assert zoo.info(folder.name).license == known


def test_the_table_of_the_docs_has_all_cases():
    page = (Path(__file__).parents[2] / "docs" / "parity.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (.+?) \|", page, re.MULTILINE)
    cases = [parity.read(*case) for case in parity.cases()]
    found = [(case.name, case.case, parity.link(case.source)) for case in cases]
    assert rows == found, "run make parity-table"
