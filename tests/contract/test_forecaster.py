"""The contract of the forecaster over the registry."""

import pytest

from kerastrans import Forecaster
from kerastrans.testing import check_forecaster
from tests.helpers.architectures import AUTOREGRESSIVE, NAMES, SMALL
from tests.helpers.contract_frames import HORIZON, TRAINING, make_data

CONTEXT = 24

# What does not depend on the architecture is checked in test_option_pairs.py.
QUICK = ("seasonal_naive",)
# One of each way through a Forecaster; `make contract` has the others.
SLOW = ("rlinear", "decoder_transformer")


def tier(name):
    slow = [] if name in QUICK else [pytest.mark.slow]
    return slow if name in (*QUICK, *SLOW) else [*slow, pytest.mark.exhaustive]


@pytest.mark.parametrize("name", [pytest.param(name, marks=tier(name)) for name in NAMES])
def test_every_architecture(name):
    options = {"num_samples": 20} if name in AUTOREGRESSIVE else {}
    forecaster = Forecaster(name, CONTEXT, HORIZON, **options, **SMALL.get(name, {}))
    data = make_data("long")
    check_forecaster(forecaster, **data, skip=(*TRAINING, "generators", "calibration"))


# On these data "auto" takes kerastrans_zero_2, see test_fallback.py, and runs every check with it.
@pytest.mark.slow
@pytest.mark.parametrize("name", ["nlinear", pytest.param("auto", marks=pytest.mark.exhaustive)])
def test_what_fit_chooses_stays_chosen_by_fit(name):
    forecaster = Forecaster(name, prediction_length=HORIZON)
    check_forecaster(forecaster, **make_data("long"))
