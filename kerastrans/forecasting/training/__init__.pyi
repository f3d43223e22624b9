"""The public names, which are imported on first use."""

from . import comparison as comparison
from . import data as data
from .data import TrainingData as TrainingData
from . import fallback as fallback
from . import fine_tuning as fine_tuning
from . import fit as fit
from . import loop as loop
from . import time_limit as time_limit
from .time_limit import TimeLimit as TimeLimit
