"""The public names, which are imported on first use."""

from . import cases as cases
from .cases import example_inputs as example_inputs, example_windows as example_windows
from . import forecasters as forecasters
from .forecasters import check_forecaster as check_forecaster
from . import models as models
from .models import check_model as check_model
from . import reports as reports
from .reports import CheckReport as CheckReport, CheckResult as CheckResult
