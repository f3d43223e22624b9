"""Written by tools/checks/stubs.py from kerastrans/testing/__init__.py."""

from kerastrans.testing import cases as cases
from kerastrans.testing.cases import example_inputs as example_inputs, example_windows as example_windows
from kerastrans.testing import forecasters as forecasters
from kerastrans.testing.forecasters import check_forecaster as check_forecaster
from kerastrans.testing import models as models
from kerastrans.testing.models import check_model as check_model
from kerastrans.testing import reports as reports
from kerastrans.testing.reports import CheckReport as CheckReport, CheckResult as CheckResult
