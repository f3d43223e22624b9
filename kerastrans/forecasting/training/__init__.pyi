"""Written by tools/checks/stubs.py from kerastrans/forecasting/training/__init__.py."""

from kerastrans.forecasting.training import comparison as comparison
from kerastrans.forecasting.training import data as data
from kerastrans.forecasting.training.data import TrainingData as TrainingData
from kerastrans.forecasting.training import fallback as fallback
from kerastrans.forecasting.training import fine_tuning as fine_tuning
from kerastrans.forecasting.training import fit as fit
from kerastrans.forecasting.training import loop as loop
from kerastrans.forecasting.training import time_limit as time_limit
from kerastrans.forecasting.training.time_limit import TimeLimit as TimeLimit
