"""Architectures and settings that the fixtures beside the checkout do not have.

The cases in tests/fixtures/architectures have the same format, see `tests.helpers.parity`. They are
outputs of the official code at random weights.
"""

import pytest

from tests.helpers import parity

pytestmark = [pytest.mark.slow, pytest.mark.exhaustive]  # on PyTorch when a change lands


@pytest.mark.parametrize(
    ("folder", "case"),
    [pytest.param(*found, id=f"{found[0].name}-{found[1]}") for found in parity.cases(parity.OWN)],
)
@pytest.mark.filterwarnings("ignore:Gradients do not exist for variables")
def test_forecasts_and_parameters_are_those_of_the_published_model(folder, case):
    found = parity.compare(folder, case)
    limit = parity.read(folder, case).limit
    assert {mode: x for mode, x in found.differences.items() if not x <= limit} == {}
    assert found.ours == found.official


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("wpmixer", "wavelet", "coif5"),
        ("duet", "noisy_gating", False),
        ("timemixer", "down_sampling_method", "conv"),
        ("timemixer", "decomp_method", "dft_decomp"),
    ],
)
def test_what_cannot_be_expressed_fails_with_its_name(name, key, value):
    folder, case = next(found for found in parity.cases(parity.OWN) if found[0].name == name)
    case = parity.read(folder, case)
    case.facts["configuration"] |= {key: value}
    with pytest.raises(AssertionError, match=f"{key}={value!r} cannot be expressed"):
        parity.compare_case(case)
