"""Written by tools/checks/stubs.py from kerastrans/forecasting/selection/__init__.py."""

from kerastrans.forecasting.selection import combination as combination
from kerastrans.forecasting.selection.combination import combine as combine
from kerastrans.forecasting.selection import ensemble as ensemble
from kerastrans.forecasting.selection.ensemble import Selected as Selected
from kerastrans.forecasting.selection import search as search
from kerastrans.forecasting.selection.search import select as select
from kerastrans.forecasting.selection import tuning as tuning
