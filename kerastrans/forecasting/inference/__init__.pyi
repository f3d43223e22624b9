"""Written by tools/checks/stubs.py from kerastrans/forecasting/inference/__init__.py."""

from kerastrans.forecasting.inference import adaptation as adaptation
from kerastrans.forecasting.inference import artefact as artefact
from kerastrans.forecasting.inference import calibration as calibration
from kerastrans.forecasting.inference import importances as importances
from kerastrans.forecasting.inference import preset_files as preset_files
from kerastrans.forecasting.inference import rolling_origins as rolling_origins
from kerastrans.forecasting.inference import serialization as serialization
