"""The contract of the forecaster over the registry."""

import pytest

from kerastrans import Forecaster
from kerastrans.testing import check_forecaster
from tests.helpers.architectures import AUTOREGRESSIVE, NAMES, SMALL, all_in_slow_tier
from tests.helpers.contract_frames import HORIZON, TRAINING, make_data

CONTEXT = 24

# What does not depend on the architecture is checked in test_option_pairs.py.
QUICK = ("seasonal_naive",)


@pytest.mark.parametrize(
    "name",
    [*QUICK, *all_in_slow_tier(name for name in NAMES if name not in QUICK)],
)
def test_every_architecture(name):
    options = {"num_samples": 20} if name in AUTOREGRESSIVE else {}
    forecaster = Forecaster(name, CONTEXT, HORIZON, **options, **SMALL.get(name, {}))
    data = make_data("long")
    report = check_forecaster(forecaster, **data, skip=(*TRAINING, "generators", "calibration"))
    report.raise_for_failures()


# On these data "auto" takes kerastrans_zero, see test_fallback.py, and runs every check with it.
@pytest.mark.slow
@pytest.mark.parametrize("name", ["nlinear", pytest.param("auto", marks=pytest.mark.exhaustive)])
def test_what_fit_chooses_stays_chosen_by_fit(name):
    forecaster = Forecaster(name, prediction_length=HORIZON)
    check_forecaster(forecaster, **make_data("long")).raise_for_failures()
