"""Written by tools/checks/stubs.py from kerastrans/data/__init__.py."""

from kerastrans.data import array_windows as array_windows
from kerastrans.data.array_windows import random_sequences as random_sequences, sliding_windows as sliding_windows, teacher_forcing_pairs as teacher_forcing_pairs, window_dataset as window_dataset
from kerastrans.data import covariates as covariates
from kerastrans.data.covariates import Covariates as Covariates
from kerastrans.data import frames as frames
from kerastrans.data.frames import check_frame as check_frame
from kerastrans.data import missing as missing
from kerastrans.data.missing import fill_gaps as fill_gaps
from kerastrans.data import panel as panel
from kerastrans.data.panel import Panel as Panel, read_panel as read_panel
from kerastrans.data import panel_windows as panel_windows
from kerastrans.data.panel_windows import Windows as Windows
from kerastrans.data import parquet as parquet
from kerastrans.data import scaling as scaling
from kerastrans.data.scaling import StandardScaler as StandardScaler, WindowScaler as WindowScaler
from kerastrans.data import splits as splits
from kerastrans.data.splits import chronological_split as chronological_split
from kerastrans.data.tables import reader as reader
from kerastrans.data.tables.reader import read_csv as read_csv, read_table as read_table
from kerastrans.data.time import clock as clock
from kerastrans.data.time.clock import Clock as Clock
from kerastrans.data.time import seasons as seasons
from kerastrans.data.time.seasons import season_of as season_of, seasons_of as seasons_of
from kerastrans.data import window_index as window_index
from kerastrans.data.window_index import training_cuts as training_cuts
