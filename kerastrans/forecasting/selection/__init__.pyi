"""Written by tools/checks/stubs.py from kerastrans/forecasting/selection/__init__.py."""

from kerastrans.forecasting.selection import combination as combination
from kerastrans.forecasting.selection.combination import Selected as Selected, combine as combine
from kerastrans.forecasting.selection import search as search
from kerastrans.forecasting.selection.search import select as select
from kerastrans.forecasting.selection import tuning as tuning
